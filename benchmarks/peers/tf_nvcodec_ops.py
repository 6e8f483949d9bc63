"""tf_nvcodec: its ops, called eagerly on the bytes of the clip, and its readers of a path.

An eager tensor is complete when the call returns. A pass is read in two ways: by `iter_video`, and
by `VideoDataset`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from benchmarks.peers.base import Peer, read_raw_frames

# The operations that take the path and need nothing prepared.
_BY_PATH = ("dataset", "decode_each", "decode_pass")


class _TfNvcodec(Peer):
    environment = ""
    variables: ClassVar[dict[str, str]] = {
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "1",
    }

    def load(self) -> None:
        import numpy as np
        import tensorflow as tf
        import tf_nvcodec as nvc

        self._np, self._tf, self._nvc = np, tf, nvc
        nvc.build_info()  # opens the op library, which loads partly on first use
        self._inputs: dict[Any, Any] = {}

    def version(self) -> str:
        import importlib.metadata

        try:
            own = importlib.metadata.version("tf_nvcodec")
        except importlib.metadata.PackageNotFoundError:
            own = "source tree"
        return f"{own}, TensorFlow {self._tf.__version__}"


class TfNvcodec(_TfNvcodec):
    name = "tf_nvcodec"

    def prepare(self, operation: str, arguments: dict[str, Any]) -> None:
        path = arguments["path"]
        self.iterator = None
        if operation.startswith(_BY_PATH):
            return
        if operation.startswith("encode"):
            self._inputs = {path: self._encode_input(**arguments)}
        elif path not in self._inputs:
            self._inputs[path] = self._tf.io.read_file(path)

    def decode_full(self, path: str) -> Any:
        return self._nvc.decode_video(self._inputs[path], max_bytes=8 << 30).frames

    def decode_pass(self, path: str, *, count: int) -> Iterator[Any]:
        for chunk in self._nvc.iter_video(path, frames=count):
            yield self._np.asarray(chunk.frames)

    def decode_each(self, path: str) -> Iterator[Any]:
        for chunk in self._nvc.iter_video(path):
            yield from self._np.asarray(chunk.frames)

    def decode_frames(self, path: str, indices: Sequence[int]) -> Any:
        return self._nvc.decode_frames_at(self._inputs[path], indices=indices).frames

    def decode_clip(self, path: str, *, start: int, count: int) -> Any:
        return self._nvc.decode_video(self._inputs[path], start, start + count).frames

    def decode_clip_resized(
        self, path: str, *, start: int, count: int, height: int, width: int
    ) -> Any:
        video = self._nvc.decode_video(
            self._inputs[path], start, start + count, size=(height, width)
        )
        return video.frames

    def first_frame(self, path: str) -> Any:
        return self._nvc.decode_video(self._inputs[path], 0, 1).frames

    def decode_ranges(self, path: str, starts: Sequence[int], count: int) -> int:
        contents = self._inputs[path]
        return sum(
            int(self._nvc.decode_video(contents, start, start + count).frames.shape[0])
            for start in starts
        )

    def _dataset(
        self,
        clips: Sequence[tuple[str, int]],
        *,
        fps: float,
        count: int,
        height: int,
        width: int,
        parallel: int,
    ) -> Any:
        starts: dict[str, list[float]] = {}
        for name, start in clips:
            # A time a quarter into the frame is safe from rounding.
            starts.setdefault(name, []).append((start + 0.25) / fps)
        return self._nvc.VideoDataset(
            list(starts),
            clip_length=count,
            size=(height, width),
            clip_at=list(starts.values()),
            shuffle=True,
            seed=1,
            num_parallel_calls=parallel,
            index_cache=False,
        )

    def dataset_clips(
        self,
        path: str,
        *,
        clips: Sequence[tuple[str, int]],
        batch: int,
        own_resize: bool = False,
        batches: int = -1,
        **how: Any,
    ) -> int:
        dataset = self._dataset(clips, **how).batch(batch).take(batches)
        return sum(int(b["frames"].shape[0]) * how["count"] for b in self.read_through(dataset))

    def dataset_share(self, path: str, *, clips: Sequence[tuple[str, int]], **how: Any) -> int:
        """Reads clips one at a time; returns the time spent on reading, in parts per million."""
        dataset = self._dataset(clips, **how)
        for _ in self.read_through(dataset):
            pass
        used = dataset.statistics()
        return round(1e6 * used.decode_seconds / used.active_seconds)

    def dataset_loop(
        self,
        path: str,
        *,
        clips: Sequence[tuple[str, int]],
        fps: float,
        count: int,
        height: int,
        width: int,
        parallel: int,
    ) -> int:
        """Decodes the same clips by `decode_video` in a plain loop, with the files in memory."""
        contents = {name: self._tf.io.read_file(name) for name, _ in clips}
        decoded = (
            self._nvc.decode_video(
                contents[name], start, start + count, size=(height, width), num_threads=parallel
            )
            for name, start in clips
        )
        return sum(int(video.frames.shape[0]) for video in decoded)

    def _encode_input(
        self, path: str, width: int, height: int, pixel_format: str = "yuv420p", **_: Any
    ) -> Any:
        frames = read_raw_frames(path, pixel_format, width, height)
        if pixel_format == "yuv420p":
            frames = frames.reshape(len(frames), -1)
        return self._tf.constant(frames)

    def encode_x264(
        self,
        path: str,
        *,
        pixel_format: str,
        width: int,
        height: int,
        fps: int,
        preset: str,
        crf: int,
    ) -> bytes:
        packed = pixel_format == "yuv420p"
        video = self._nvc.encode_video(
            self._inputs[path],
            fps,
            "h264",
            "mp4",
            input_format="yuv420p" if packed else "rgb",
            size=(height, width) if packed else None,
            crf=crf,
            preset=preset,
            # The other peers convert RGB to BT.601; the default for 720p is BT.709.
            color_space="bt601",
        )
        return video.numpy()

    def encode(
        self, path: str, *, codec: str, width: int, height: int, fps: int, preset: str | None
    ) -> bytes:
        """Encodes the frames of a yuv420p file by one of the codecs, for cpu/portable.py."""
        video = self._nvc.encode_video(
            self._inputs[path],
            fps,
            codec,
            "mkv",
            input_format="yuv420p",
            size=(height, width),
            preset=preset,
        )
        return video.numpy()


class TfNvcodecDataset(_TfNvcodec):
    """VideoDataset as a reader of one video, whose clips follow each other."""

    name = "tf_nvcodec VideoDataset"

    def prepare(self, operation: str, arguments: dict[str, Any]) -> None:
        self.iterator = None
        if operation == "decode_pass":
            info = self._nvc.probe(self._tf.io.read_file(arguments["path"]))
            firsts = range(0, int(info.num_frames), arguments["count"])
            # A time a quarter into the frame is safe from rounding.
            self._times = [(first + 0.25) / float(info.fps) for first in firsts]

    def decode_pass(self, path: str, *, count: int) -> Iterator[Any]:
        # With clip_step, a dataset leaves out the frames behind the last whole clip. The clip that
        # begins at a given time is padded instead, and its mask tells the video's own frames.
        dataset = self._nvc.VideoDataset(path, count, clip_at=self._times, index_cache=False)
        self.iterator = dataset.as_numpy_iterator()  # kept, as by `read_through`
        for clip in self.iterator:
            yield clip["frames"][: clip["mask"].sum()]
