"""A video from front to back, in chunks of frames."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tempfile
import weakref
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Literal, NamedTuple

import numpy as np
import tensorflow as tf
from typing_extensions import Unpack

from tf_nvcodec.python import gpu_call, loader
from tf_nvcodec.python.arguments import contents_from, file_name
from tf_nvcodec.python.decode import (
    DecodedVideo,
    DecodedVideoWithValidity,
    FrameOptions,
    TensorLike,
    integers,
    op_arguments,
    result_of,
)
from tf_nvcodec.python.video_index import index_cache_folder

_END, _FITTING = tf.int64.max, tf.int64.min
# Bytes of a file object that are kept in memory; more go to a temporary file.
_IN_MEMORY = 64 << 20
_BLOCK = 1 << 20


class IterOptions(FrameOptions, total=False):
    """Keywords of `iter_video`; `decode_video` explains all but index_cache."""

    on_error: str
    max_frames: int
    index_cache: str | os.PathLike[str] | Literal[False] | None


class VideoIterator(Iterator["DecodedVideo | DecodedVideoWithValidity"]):
    """The chunks of a video; `iter_video` makes it.

    Closing it, at the end of a `with` block or by `close()`, frees the decoder and the memory at
    once. It is closed at its end, by an error and when it is garbage collected, too.

    Attributes:
      num_frames: The number of frames in all chunks together. With on_error="skip", damaged frames
        are missing.
    """

    def __init__(
        self, number: tf.Tensor, num_frames: int, dtype: Any, device: str, return_valid: bool
    ) -> None:
        self.num_frames = num_frames
        self._number = number
        self._dtype = dtype
        self._device = device
        self._return_valid = return_valid
        self._close = weakref.finalize(self, _close, number, os.getpid())

    def __iter__(self) -> VideoIterator:
        return self

    def __next__(self) -> DecodedVideo | DecodedVideoWithValidity:
        if not self._close.alive:
            raise StopIteration
        try:
            with tf.device(self._device):
                chunk = gpu_call.call(
                    loader.ops.video_iterator_next,
                    {"iterator": self._number},
                    {"dtype": self._dtype},
                    host_outputs=("pts", "valid"),
                )
        except BaseException:
            self.close()
            raise
        if chunk.pts.shape[0] == 0:
            self.close()
            raise StopIteration
        return result_of(chunk, self._return_valid)

    def close(self) -> None:
        """Stops decoding and frees what the iterator holds. Chunks that it gave stay valid."""
        self._close()

    def __enter__(self) -> VideoIterator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def iter_video(
    source: Any,
    frames: int | None = None,
    start: TensorLike = 0,
    stop: TensorLike | None = None,
    stride: TensorLike = 1,
    size: TensorLike | None = None,
    *,
    return_valid: bool = False,
    **options: Unpack[IterOptions],
) -> VideoIterator:
    """Reads frames `start`, `start + stride`, ... below `stop` in one pass, in chunks.

    Each picture is decoded once, and the next chunk is decoded while you use the one you have. So
    two chunks are in memory at a time (three on a GPU), or 96 frames and the chunk that you have if
    chunks are smaller, however long the video is. Decoders hold some pictures besides, which are
    smaller than RGB frames. The frames are those that `decode_video` gives. In a pipeline, use
    `VideoDataset`.

    Args:
      source: A path or a URL ("https://...", "s3://...", or what else TensorFlow's file systems
        open), which is read by range; the bytes of a video file; or an open binary file, which is
        read whole from its beginning (if it cannot seek, from where it is). A file object that is
        no file of the system is copied first: into memory up to 64 MiB, else to a temporary file.
      frames: The number of frames in a chunk; the last chunk may have fewer. None means as many as
        fit into 64 MiB, counted as RGB: at least 1, and at most 64, which is 10 for 1080p. Larger
        chunks are slower: memory that the process has never touched costs more time than calls.
      start: Scalar integer, as for `decode_video`.
      stop: Scalar integer or None, as for `decode_video`.
      stride: Scalar integer of at least 1, as for `decode_video`.
      size: (height, width) to resize to inside the decode; None keeps the size of the frames.
      return_valid: Give `DecodedVideoWithValidity` chunks.
      **options: As for `decode_video`, with these differences. on_error="raise" raises when the
        chunk with the damaged frame is due, and "repeat" takes the frame from the same chunk.
        max_frames is for all chunks together, max_bytes for one. timeout is for opening and
        indexing the video, and then for each wait for a chunk. index_cache is the folder that
        keeps frame indexes of files, as for `VideoDataset`.

    Returns:
      An iterator of `DecodedVideo(frames, pts)`; it can be used in a `with` statement.
      `np.asarray(chunk.frames)` is a view without a copy if the frames are in host memory.

    Raises:
      TypeError: As `decode_video`, and for a source that is none of the above.
      ValueError: An option is none of its strings, or iter_video is called in a tf.function.
      tf.errors.NotFoundError: And other errors of the file system.
      tf.errors.InvalidArgumentError: `frames` is less than 1, the bytes are no readable video, or
        the options do not fit it. The other errors are those of `decode_video`. An error ends the
        iteration; those of a file name it.
    """
    if not tf.executing_eagerly():
        raise ValueError("iter_video is a Python iterator: in a graph, use VideoDataset")
    index_cache = options.pop("index_cache", None)
    attributes = op_arguments(size, options, IterOptions)
    geometry = {name: attributes.pop(name) for name in ("size", "crop")}
    inputs = {
        "start": integers(start, "start"),
        "stop": integers(_END if stop is None else stop, "stop"),
        "stride": integers(stride, "stride"),
        "frames": integers(_FITTING if frames is None else frames, "frames"),
        **geometry,
    }
    device = gpu_call.device_of_call()
    with contextlib.ExitStack() as until_open, tf.device(device):
        video = _video_from(source, until_open)
        inputs["video"] = video.name_or_bytes
        attributes["source"] = "files" if video.is_file else "contents"
        attributes["index_cache"] = index_cache_folder(index_cache if video.lasts else False)
        made = gpu_call.call(
            loader.ops.video_iterator, inputs, attributes, host_outputs=("iterator", "total")
        )
    dtype = tf.as_dtype(attributes.get("dtype", tf.uint8))
    return VideoIterator(made.iterator, int(made.total), dtype, device, return_valid)


def _close(number: tf.Tensor, process: int) -> None:
    # A forked process has no decoding thread. And the garbage collector may call this while a
    # function is being traced.
    if os.getpid() != process:
        return
    with tf.init_scope(), tf.device("CPU:0"):
        loader.ops.video_iterator_close(iterator=number)


class _Video(NamedTuple):
    """What the op opens. `lasts` is whether the name means the same file later."""

    name_or_bytes: Any
    is_file: bool
    lasts: bool = False


def _video_from(source: Any, until_open: contextlib.ExitStack) -> _Video:
    """Returns the op's input for every form of source. `until_open` keeps a temporary file."""
    if isinstance(source, (str, os.PathLike)):
        return _Video(np.array(file_name(source), object), True, lasts=True)
    if not callable(getattr(source, "read", None)):
        return _Video(contents_from(source, "source"), False)
    named = _system_file(source)
    if named is not None:
        return named
    if callable(getattr(source, "seek", None)) and getattr(source, "seekable", lambda: True)():
        source.seek(0)
    first = _read(source, _IN_MEMORY)
    more = _read(source, _BLOCK)
    if not more:
        return _Video(contents_from(first), False)
    copy = tempfile.NamedTemporaryFile(prefix="tf_nvcodec_")  # noqa: SIM115
    until_open.enter_context(copy)
    copy.write(first)
    while more:
        copy.write(more)
        more = _read(source, _BLOCK)
    copy.flush()
    return _Video(np.array(file_name(copy.name), object), True)


def _system_file(source: Any) -> _Video | None:
    """Names an open regular file of the system: by its path, or if that is gone, by its number.

    Files that change the bytes on the way, as gzip does, have a number too, but are none.
    """
    file = getattr(source, "file", source)  # tempfile wraps its files
    if not isinstance(getattr(file, "raw", file), io.FileIO):
        return None
    try:
        file.flush()  # what was written may still be in Python's buffer
        descriptor = file.fileno()
        status = os.fstat(descriptor)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    name = getattr(file, "name", None)
    with contextlib.suppress(OSError, ValueError):
        if isinstance(name, (str, bytes)) and os.path.samestat(status, os.stat(name)):
            return _Video(np.array(file_name(name), object), True, lasts=True)
    return _Video(np.array(b"/proc/self/fd/%d" % descriptor, object), True)


def _read(source: Any, count: int) -> bytes:
    """Reads `count` bytes, or fewer at the end. Raw files may give fewer at a time."""
    parts = []
    while count > 0:
        part = source.read(count)
        if not isinstance(part, (bytes, bytearray, memoryview)):
            raise TypeError(
                f"source.read() gives {type(part).__name__}, not bytes: open the file in binary "
                'mode, open(path, "rb")'
            )
        if not part:
            break
        parts.append(bytes(part))
        count -= len(part)
    return b"".join(parts)
