"""The counters of a VideoDataset."""

from __future__ import annotations

from typing import NamedTuple

from tf_nvcodec.python import loader
from tf_nvcodec.python.arguments import shown


class VideoDatasetStatistics(NamedTuple):
    """Counters of all iterators of one VideoDataset in this process.

    Attributes:
      files_opened: How often a file was opened, for a clip or to count clips.
      files_indexed: How many of these files were indexed by reading them, not from a cache.
      clips: The elements returned.
      frames: The frames decoded for them, without padding and repeated frames.
      bytes_read: The bytes read from the files.
      index_seconds: The time spent on frame indexes, summed over all threads.
      decode_seconds: The time spent on clips from opening to tensor, summed over all threads.
      wait_seconds: The time that the consumer waited for clips.
      active_seconds: The time from the first request for a clip to the last answer.
      skipped: The number of clips left out, by reason: "stage: STATUS_CODE".
      messages: The latest reasons in full, at most 100.
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
        """Frames returned per second since the first request; 0 before it."""
        return self.frames / self.active_seconds if self.active_seconds else 0.0

    @property
    def wait_fraction(self) -> float:
        """The share of the time in which the consumer waited, 0 to 1.

        Near 1, video is the bottleneck; near 0, the consumer is.
        """
        return self.wait_seconds / self.active_seconds if self.active_seconds else 0.0

    def __str__(self) -> str:
        skipped = f", {sum(self.skipped.values())} clips skipped" if self.skipped else ""
        return (
            f"{self.clips} clips, {self.frames} frames, {self.frames_per_second:.1f} frames/s, "
            f"{self.wait_fraction:.0%} of the time waiting for video{skipped}"
        )


def read_statistics(name: str) -> VideoDatasetStatistics:
    """Returns the counters of the datasets with this statistics_name."""
    counters, reasons, counts, messages = loader.ops.video_dataset_statistics(statistics_name=name)
    numbers = [int(n) for n in counters.numpy()]
    seconds = [n / 1e9 for n in numbers[5:]]
    skipped = {
        reason.decode(): int(count) for reason, count in zip(reasons.numpy(), counts.numpy())
    }
    texts = [shown(text) for text in messages.numpy()]
    return VideoDatasetStatistics(*numbers[:5], *seconds, skipped, texts)  # type: ignore[call-arg,arg-type]
