"""The peers of nvdec_decode.py, which decode on the GPU: tf_nvcodec, PyNvVideoCodec and DALI.

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
    cores = 0  # the CPU's cores that it may use; 0 is all
    stream_counts: tuple[int, ...] = (1, 7, 14)

    def version(self) -> str:
        raise NotImplementedError

    def whole(self, path: str) -> int:
        """Decodes every frame to 8-bit RGB; returns the number of frames."""
        raise NotImplementedError

    def frames_at(self, path: str, indices: Sequence[int]) -> int:
        """Opens the file and decodes these frames to 8-bit RGB; returns their number."""
        raise NotImplementedError

    def clips(self, path: str, starts: Sequence[int]) -> int:
        """Decodes clips of CLIP frames as float16 of SIDE x SIDE; returns the number of clips."""
        raise NotImplementedError

    def first_by_name(self, path: str) -> int:
        """Decodes the first frame to 8-bit RGB with an API that takes a file's name."""
        raise NotImplementedError

    def in_memory(self, path: str) -> Callable[[], int]:
        """Returns a function that decodes the first frame of the file's bytes in memory."""
        raise NotImplementedError

    def streams(self, path: str, count: int) -> int:
        with ThreadPoolExecutor(count) as threads:
            return sum(threads.map(self.whole, [path] * count))

    def extra(self) -> dict[str, Any]:
        """Returns the peer's own figures, after all others."""
        return {}


class TfNvcodec(Peer):
    """The ops of tf_nvcodec, placed on `device`; `backend` is passed on."""

    name = "tf_nvcodec"
    device, backend = "/GPU:0", "nvdec"

    def __init__(self) -> None:
        import tensorflow as tf

        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
        import tf_nvcodec as nvc

        self._tf, self._nvc = tf, nvc
        # This is a function, because eager ops of several threads on a GPU get each other's inputs.
        self._last = tf.function(lambda frames: tf.reshape(frames[-1], [-1])[-1])

    def version(self) -> str:
        return f"{self._nvc.build_info()['version']}, TensorFlow {self._tf.__version__}"

    def _on(self) -> Any:
        return self._tf.device(self.device)

    def _done(self, frames: Any) -> None:
        """Waits for the GPU by reading the last value of the last frame."""
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
        """Uses SimpleDecoder of tf_nvcodec.compat."""
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
        """Reads the file once, as for a data set that is cached in memory."""
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
    """VideoDataset, whose clips pass through host memory."""

    name = "tf_nvcodec VideoDataset"
    device = "/CPU:0"
    whole = Peer.whole
    frames_at = Peer.frames_at
    first_by_name = Peer.first_by_name
    in_memory = Peer.in_memory

    def __init__(self) -> None:
        super().__init__()
        self._fps: dict[str, float] = {}

    def clips(self, path: str, starts: Sequence[int]) -> int:
        if path not in self._fps:  # in the untimed call; the ops take numbers of frames
            self._fps[path] = float(self._nvc.probe(Path(path).read_bytes()).fps)
        dataset = self._nvc.VideoDataset(
            [path],
            clip_length=CLIP,
            size=(SIDE, SIDE),
            clip_at=[start / self._fps[path] + 1e-3 for start in starts],
            dtype=self._tf.float16,
            backend=self.backend,
            num_parallel_calls=16,
        )
        options = self._tf.data.Options()
        options.autotune.enabled = False  # the end of the iterator would wait for it
        count = 0
        for clip in dataset.prefetch(4).with_options(options):
            with self._tf.device("/GPU:0"):
                self._done(self._tf.identity(clip["frames"]))
            count += 1
        return count


class TfNvcodecCpu(TfNvcodec):
    """FFmpeg on 16 of the CPU's cores, and a copy to the GPU. One stream keeps all cores busy."""

    name, backend = "tf_nvcodec cpu", "cpu"
    cores = 16
    stream_counts = (1,)


class TfNvcodecNative(TfNvcodec):
    """The stream's own samples, which shows how near this library is to the engines' limit."""

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
    """PyNvVideoCodec: ThreadedDecoder for whole files, SimpleDecoder for frames by index."""

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
    """PyNvVideoCodec with decoders that are kept for the next file."""

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
        idle.append(decoder)  # decoders that failed are not reused


class PyNvNative(PyNv):
    """PyNvVideoCodec with NV12 as the engines write it, which shows the engines' limit."""

    name, native = "PyNvVideoCodec NV12", True
    stream_counts = (14,)


class Dali(Peer):
    """DALI's fn.readers.video, with a pipeline for each stream."""

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
        frames.as_cpu()  # waits for the last frame
        return count

    def whole(self, path: str) -> int:
        pipeline = self._pipeline(path, 1)
        sequences = pipeline.epoch_size("video")
        return self._run(pipeline, sequences) * self.sequence

    def clips(self, path: str, starts: Sequence[int]) -> int:
        """Decodes random clips; DALI draws them itself."""
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
