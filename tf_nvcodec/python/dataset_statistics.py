"""What a VideoDataset did so far."""

from __future__ import annotations

from typing import NamedTuple

from tf_nvcodec.python import loader
from tf_nvcodec.python.arguments import shown


class VideoDatasetStatistics(NamedTuple):
    """Counters of all iterators of one VideoDataset in this process.

    Attributes:
      files_opened: Times a file was opened: for each clip, and to count clips.
      files_indexed: Of these, indexed by reading them, not from a cache.
      clips: Elements returned.
      frames: Frames decoded for them: neither padding nor repeated.
      bytes_read: From the files.
      index_seconds: Spent on reading frame indexes, all threads together.
      decode_seconds: Spent on clips from open to tensor, all threads together.
      wait_seconds: The consumer waited for a clip.
      active_seconds: From the first request for a clip to the last answer.
      skipped: Clips left out, by reason: "stage: STATUS_CODE".
      messages: The latest of the reasons in full, at most 100.
    """

    files_opened: int
    files_indexed: int
    clips: int
    frames: int
    bytes_read: int
    index_seconds: float
    decode_seconds: float
    wait_seconds: float
    active_seconds: float
    skipped: dict[str, int]
    messages: list[str]

    @property
    def frames_per_second(self) -> float:
        """Frames returned for each second since the first request; 0 before it."""
        return self.frames / self.active_seconds if self.active_seconds else 0.0

    @property
    def wait_fraction(self) -> float:
        """The share of the time that the consumer waited: near 1, video is the bottleneck; near 0,
        whatever consumes the clips is."""
        return self.wait_seconds / self.active_seconds if self.active_seconds else 0.0

    def __str__(self) -> str:
        skipped = f", {sum(self.skipped.values())} clips skipped" if self.skipped else ""
        return (
            f"{self.clips} clips, {self.frames} frames, {self.frames_per_second:.1f} frames/s, "
            f"{self.wait_fraction:.0%} of the time waiting for video{skipped}"
        )


def read_statistics(name: str) -> VideoDatasetStatistics:
    """Of the datasets with this statistics_name."""
    counters, reasons, counts, messages = loader.ops.video_dataset_statistics(statistics_name=name)
    numbers = [int(n) for n in counters.numpy()]
    seconds = [n / 1e9 for n in numbers[5:]]
    skipped = {
        reason.decode(): int(count) for reason, count in zip(reasons.numpy(), counts.numpy())
    }
    texts = [shown(text) for text in messages.numpy()]
    return VideoDatasetStatistics(*numbers[:5], *seconds, skipped, texts)  # type: ignore[call-arg,arg-type]
