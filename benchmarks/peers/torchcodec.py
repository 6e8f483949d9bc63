"""torchcodec, which reads a path with FFmpeg's threads (its default is one thread).

Both of its seek modes are measured: "exact" scans the packets first, as tf_nvcodec does;
"approximate" trusts the container's header. Torch's tensors use huge pages, as NumPy's arrays do by
default.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from benchmarks.peers.base import read_raw_frames
from benchmarks.peers.tf_data import TfDataClips


class TorchCodec(TfDataClips):
    name = "torchcodec"
    variables: ClassVar[dict[str, str]] = {"THP_MEM_ALLOC_ENABLE": "1"}
    seek_mode: ClassVar[str] = "exact"
    # Frame threads add latency: a short request is faster with two than with FFmpeg's own number.
    threads: ClassVar[int] = 0
    short_threads: ClassVar[int] = 2

    def load(self) -> None:
        import torch
        import torchcodec
        from torchcodec import decoders, encoders, transforms

        self._torch, self._torchcodec = torch, torchcodec
        self._decoders, self._encoders, self._transforms = decoders, encoders, transforms

    def version(self) -> str:
        major = getattr(self._torchcodec, "ffmpeg_major_version", "?")
        return (
            f"{self._torchcodec.__version__}, torch {self._torch.__version__}, FFmpeg {major}, "
            f"seek_mode={self.seek_mode}"
        )

    def _open(self, path: str, threads: int, **options: Any) -> Any:
        return self._decoders.VideoDecoder(
            path,
            dimension_order="NHWC",
            num_ffmpeg_threads=threads,
            seek_mode=self.seek_mode,
            **options,
        )

    def decode_full(self, path: str) -> Any:
        return self._open(path, self.threads).get_all_frames().data

    def decode_pass(self, path: str, *, count: int) -> Iterator[Any]:
        decoder = self._open(path, self.threads)
        for first in range(0, len(decoder), count):
            last = min(first + count, len(decoder))
            yield decoder.get_frames_in_range(first, last).data.numpy()

    def decode_each(self, path: str) -> Iterator[Any]:
        for frame in self._open(path, self.threads):
            yield frame.numpy()

    def decode_frames(self, path: str, indices: Sequence[int]) -> Any:
        return self._open(path, self.short_threads).get_frames_at(list(indices)).data

    def decode_clip(self, path: str, *, start: int, count: int) -> Any:
        decoder = self._open(path, self.short_threads)
        return decoder.get_frames_in_range(start, start + count).data

    def decode_clip_resized(
        self, path: str, *, start: int, count: int, height: int, width: int
    ) -> Any:
        resize = self._transforms.Resize((height, width))
        decoder = self._open(path, self.short_threads, transforms=[resize])
        return decoder.get_frames_in_range(start, start + count).data

    def first_frame(self, path: str) -> Any:
        return self._open(path, 1).get_frame_at(0).data

    def decode_ranges(self, path: str, starts: Sequence[int], count: int) -> int:
        decoder = self._open(path, self.threads)
        total = len(decoder)
        return sum(
            len(decoder.get_frames_in_range(start, min(start + count, total)).data)
            for start in starts
        )

    def prepare(self, operation: str, arguments: dict[str, Any]) -> None:
        super().prepare(operation, arguments)
        if operation == "encode_x264" and arguments["pixel_format"] == "rgb24":
            frames = read_raw_frames(
                arguments["path"], "rgb24", arguments["width"], arguments["height"]
            )
            self._planes = self._torch.from_numpy(frames.transpose(0, 3, 1, 2).copy())

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
        if pixel_format != "rgb24":
            raise NotImplementedError("the encoder takes RGB only")
        encoder = self._encoders.VideoEncoder(self._planes, frame_rate=fps)
        encoded = encoder.to_tensor(
            format="mp4", codec="libx264", pixel_format="yuv420p", crf=crf, preset=preset
        )
        return encoded.numpy().tobytes()


class TorchCodecApproximate(TorchCodec):
    """torchcodec's approximate mode, for the cases in which the seek mode matters."""

    name = "torchcodec approximate"
    seek_mode = "approximate"
    decode_full = TfDataClips.decode_full
    decode_pass = TfDataClips.decode_pass
    decode_each = TfDataClips.decode_each
    encode_x264 = TfDataClips.encode_x264
