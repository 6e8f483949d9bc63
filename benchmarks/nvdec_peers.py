"""Who decodes on the GPU for nvdec_decode.py: tf_nvcodec, PyNvVideoCodec and DALI.

Each method returns once the frames are in GPU memory and complete. A peer that lacks something
raises NotImplementedError; one that is not installed, ImportError.
"""

from __future__ import annotations

import contextlib
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

CLIP, SIDE = 16, 224


class Peer:
    name = ""
    cores = 0  # that it may use; 0: all
    stream_counts: tuple[int, ...] = (1, 7, 14)

    def version(self) -> str:
        raise NotImplementedError

    def whole(self, path: str) -> int:
        """Every frame to 8-bit RGB; the number of frames."""
        raise NotImplementedError

    def frames_at(self, path: str, indices: Sequence[int]) -> int:
        """These frames to 8-bit RGB, from opening the file on."""
        raise NotImplementedError

    def clips(self, path: str, starts: Sequence[int]) -> int:
        """Clips of CLIP frames as float16 of SIDE x SIDE; the number of clips."""
        raise NotImplementedError

    def first_by_name(self, path: str) -> int:
        """The first frame to 8-bit RGB, by what takes a file's name."""
        raise NotImplementedError

    def in_memory(self, path: str) -> Callable[[], int]:
        """What decodes the first frame of the file's bytes, which are in memory already."""
        raise NotImplementedError

    def streams(self, path: str, count: int) -> int:
        with ThreadPoolExecutor(count) as threads:
            return sum(threads.map(self.whole, [path] * count))

    def extra(self) -> dict[str, Any]:
        """Figures of its own, after everything."""
        return {}


class TfNvcodec(Peer):
    """`device` is where the ops are; `backend` is passed on."""

    name = "tf_nvcodec"
    device, backend = "/GPU:0", "nvdec"

    def __init__(self) -> None:
        import tensorflow as tf

        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
        import tf_nvcodec as nvc

        self._tf, self._nvc = tf, nvc
        # A function, since eager ops of several threads on a GPU get each other's inputs.
        self._last = tf.function(lambda frames: tf.reshape(frames[-1], [-1])[-1])

    def version(self) -> str:
        return f"{self._nvc.build_info()['version']}, TensorFlow {self._tf.__version__}"

    def _on(self) -> Any:
        return self._tf.device(self.device)

    def _done(self, frames: Any) -> None:
        """Waits for the GPU: the last value of the last frame."""
        self._last(frames).numpy()

    def _decode(
        self, call: Callable[..., Any], contents: Any, *arguments: Any, **options: Any
    ) -> int:
        with self._on():
            frames = call(contents, *arguments, backend=self.backend, **options).frames
            self._done(frames)
        return int(frames.shape[0])

    def whole(self, path: str) -> int:
        return self._decode(self._nvc.decode_video, self._tf.io.read_file(path))

    def frames_at(self, path: str, indices: Sequence[int]) -> int:
        contents = self._tf.io.read_file(path)
        return self._decode(self._nvc.decode_frames_at, contents, list(indices))

    def first_by_name(self, path: str) -> int:
        """SimpleDecoder of tf_nvcodec.compat."""
        import tf_nvcodec.compat as nv

        decoder = nv.SimpleDecoder(
            path,
            use_device_memory=self.backend != "cpu",
            output_color_type=nv.OutputColorType.RGB,
            backend=self.backend,
        )
        frame = self._tf.experimental.dlpack.from_dlpack(decoder[0].__dlpack__())
        self._done(frame[None])
        return 1

    def in_memory(self, path: str) -> Callable[[], int]:
        contents = self._tf.io.read_file(path)
        return lambda: self._decode(self._nvc.decode_frames_at, contents, [0])

    def clips(self, path: str, starts: Sequence[int]) -> int:
        """The file is read once, as a data set that is cached in memory would be."""
        dtype = self._tf.float16
        contents = self._tf.io.read_file(path)

        def one(start: int) -> int:
            return self._decode(
                self._nvc.decode_video,
                contents,
                start,
                start + CLIP,
                size=(SIDE, SIDE),
                dtype=dtype,
                num_threads=1,
            )

        with ThreadPoolExecutor(16) as threads:
            return sum(threads.map(one, starts)) // CLIP

    def extra(self) -> dict[str, Any]:
        return {"pool": self._nvc.decoder_pool()._asdict()}


class TfNvcodecDataset(TfNvcodec):
    """VideoDataset, whose clips go by way of host memory."""

    name = "tf_nvcodec VideoDataset"
    device = "/CPU:0"
    whole = Peer.whole
    frames_at = Peer.frames_at
    first_by_name = Peer.first_by_name
    in_memory = Peer.in_memory

    def clips(self, path: str, starts: Sequence[int]) -> int:
        info = self._nvc.probe(Path(path).read_bytes())
        dataset = self._nvc.VideoDataset(
            [path],
            clip_length=CLIP,
            size=(SIDE, SIDE),
            clip_at=[start / float(info.fps) + 1e-3 for start in starts],
            dtype=self._tf.float16,
            backend=self.backend,
            num_parallel_calls=16,
        )
        count = 0
        for clip in dataset.prefetch(4):
            with self._tf.device("/GPU:0"):
                self._done(self._tf.identity(clip["frames"]))
            count += 1
        return count


class TfNvcodecCpu(TfNvcodec):
    """FFmpeg on 16 of the CPU's cores, and a copy to the GPU. One stream keeps them all busy."""

    name, backend = "tf_nvcodec cpu", "cpu"
    cores = 16
    stream_counts = (1,)


class TfNvcodecNative(TfNvcodec):
    """The stream's own samples: the limit that the engines set, as this library reaches it."""

    name = "tf_nvcodec native"
    stream_counts = (14,)
    frames_at = Peer.frames_at
    first_by_name = Peer.first_by_name
    in_memory = Peer.in_memory
    clips = Peer.clips

    def whole(self, path: str) -> int:
        contents = self._tf.io.read_file(path)
        return self._decode(self._nvc.decode_video, contents, pixel_format="native")


class PyNv(Peer):
    """ThreadedDecoder for whole files, SimpleDecoder for frames by index."""

    name = "PyNvVideoCodec"
    native = False
    batch, buffer = 8, 24

    def __init__(self) -> None:
        import PyNvVideoCodec

        self._nvc = PyNvVideoCodec
        colors = PyNvVideoCodec.OutputColorType
        self._color = colors.NATIVE if self.native else colors.RGB

    def version(self) -> str:
        from importlib.metadata import version

        return version("PyNvVideoCodec")

    def _threaded(self, path: str) -> Any:
        return self._nvc.ThreadedDecoder(
            path, self.buffer, gpu_id=0, use_device_memory=True, output_color_type=self._color
        )

    def _simple(self, path: str) -> Any:
        return self._nvc.SimpleDecoder(
            path, gpu_id=0, use_device_memory=True, output_color_type=self._color
        )

    @contextlib.contextmanager
    def _decoder(self, opened: Callable[[str], Any], path: str) -> Iterator[Any]:
        yield opened(path)

    def whole(self, path: str) -> int:
        count = 0
        with self._decoder(self._threaded, path) as decoder:
            while frames := decoder.get_batch_frames(self.batch):
                count += len(frames)
        return count

    def frames_at(self, path: str, indices: Sequence[int]) -> int:
        if self.native:
            raise NotImplementedError
        with self._decoder(self._simple, path) as decoder:
            return len(decoder.get_batch_frames_by_index(list(indices)))

    def first_by_name(self, path: str) -> int:
        return self.frames_at(path, [0])


class PyNvReused(PyNv):
    """Keeps its decoders and gives them the next file."""

    name = "PyNvVideoCodec reused"

    def __init__(self) -> None:
        super().__init__()
        self._idle: dict[str, list[Any]] = defaultdict(list)

    @contextlib.contextmanager
    def _decoder(self, opened: Callable[[str], Any], path: str) -> Iterator[Any]:
        idle = self._idle[opened.__name__]
        try:
            decoder = idle.pop()
        except IndexError:
            decoder = opened(path)
        else:
            decoder.reconfigure_decoder(path)
        yield decoder
        idle.append(decoder)  # not one that failed


class PyNvNative(PyNv):
    """NV12 as it leaves the engines: the limit that they set."""

    name, native = "PyNvVideoCodec NV12", True
    stream_counts = (14,)


class Dali(Peer):
    """fn.readers.video; one pipeline a stream."""

    name = "DALI"
    sequence = 16

    def __init__(self) -> None:
        from nvidia import dali

        self._dali = dali

    def version(self) -> str:
        return str(self._dali.__version__)

    def _pipeline(self, path: str, batch: int, **options: Any) -> Any:
        fn, types = self._dali.fn, self._dali.types
        resized = options.pop("resized", False)

        @self._dali.pipeline_def(batch_size=batch, num_threads=4, device_id=0)
        def pipeline() -> Any:
            frames = fn.readers.video(
                device="gpu",
                filenames=[path],
                sequence_length=self.sequence,
                name="video",
                **options,
            )
            if resized:
                frames = fn.resize(frames, size=(SIDE, SIDE), antialias=False)
                frames = fn.cast(frames / 255.0, dtype=types.FLOAT16)
            return frames

        made = pipeline()
        made.build()
        return made

    def _run(self, pipeline: Any, runs: int) -> int:
        count = 0
        for _ in range(runs):
            (frames,) = pipeline.run()
            count += len(frames)
        frames.as_cpu()  # waits for the last one
        return count

    def whole(self, path: str) -> int:
        pipeline = self._pipeline(path, 1)
        sequences = pipeline.epoch_size("video")
        return self._run(pipeline, sequences) * self.sequence

    def clips(self, path: str, starts: Sequence[int]) -> int:
        """It draws its own clips."""
        batch = 8
        pipeline = self._pipeline(path, batch, resized=True, random_shuffle=True, initial_fill=16)
        return self._run(pipeline, max(1, len(starts) // batch))


PEERS: dict[str, type[Peer]] = {
    peer.name: peer
    for peer in (
        TfNvcodec,
        TfNvcodecNative,
        PyNv,
        PyNvReused,
        PyNvNative,
        Dali,
        TfNvcodecDataset,
        TfNvcodecCpu,
    )
}


def draw(count: int, frames: int, seed: int = 2) -> list[int]:
    return random.Random(seed).sample(range(frames), count)
