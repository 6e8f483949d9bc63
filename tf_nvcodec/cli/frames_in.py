"""Reads frames for encode_video from .npy files, numbered images and YUV4MPEG2 files."""

from __future__ import annotations

import argparse
import io
import os
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tf_nvcodec.cli import files
from tf_nvcodec.cli.errors import CliError, UsageError
from tf_nvcodec.cli.runtime import Runtime

_DTYPES = ("uint8", "uint16", "float16", "float32")


class FramesIn(NamedTuple):
    """Frames, and what their file says about them; None if it says nothing."""

    frames: NDArray[Any]
    input_format: str
    size: tuple[int, int] | None = None
    fps: float | None = None
    color_range: str | None = None


def read(runtime: Runtime, args: argparse.Namespace) -> FramesIn:
    """Reads the frames that `args.input` names."""
    extension = os.path.splitext(args.input)[1].lower()
    if extension == ".npy":
        return _from_npy(args)
    if args.input_format is not None or args.size is not None:
        raise UsageError(args.input, "--input-format and --size are for .npy files")
    if extension == ".y4m":
        return read_y4m(args.input, files.read_bytes(args.input))
    return _from_images(runtime, args.input)


def read_npy(path: str) -> NDArray[Any]:
    """Reads a .npy file. A local one is mapped, not copied. Pickled objects are refused."""
    source = io.BytesIO(files.read_bytes(path)) if files.is_remote(path) or path == "-" else path
    mapped: Any = None if isinstance(source, io.BytesIO) else "r"
    try:
        return np.asarray(np.load(source, mmap_mode=mapped, allow_pickle=False))
    except (EOFError, SyntaxError, ValueError) as error:
        raise CliError(path, "is not a whole .npy file", "numpy.save writes them") from error


def _from_npy(args: argparse.Namespace) -> FramesIn:
    frames = read_npy(args.input)
    if frames.dtype not in _DTYPES:
        raise CliError(
            args.input,
            f"dtype {frames.dtype} is none of {', '.join(_DTYPES)}",
            "cast the array before saving it; floats are in [0, 1]",
        )
    chosen = args.input_format
    if chosen is None:
        channels = frames.shape[3] if frames.ndim == 4 else 0
        chosen = {1: "gray", 3: "rgb"}.get(channels)
    if chosen is None:
        raise CliError(
            args.input,
            f"shape {list(frames.shape)} is not [T,H,W,3] or [T,H,W,1]",
            "give --input-format (and --size for packed frames)",
        )
    return FramesIn(frames, chosen, args.size)


def _from_images(runtime: Runtime, path: str) -> FramesIn:
    names = files.find_images(path)
    first = _decode_image(runtime, names[0])
    frames = np.empty((len(names), *first.shape), first.dtype)

    def load(index: int) -> None:
        image = first if index == 0 else _decode_image(runtime, names[index])
        if image.shape != first.shape or image.dtype != first.dtype:
            raise CliError(
                names[index],
                f"{_describe(image)}, but {names[0]} is {_describe(first)}",
                "give images of one size, channel count and depth",
            )
        frames[index] = image

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(load, range(len(names))):
            pass
    return FramesIn(frames, "gray" if first.shape[2] == 1 else "rgb")


def _describe(image: NDArray[Any]) -> str:
    height, width, channels = image.shape
    return f"{width}x{height} with {channels} channels of {image.dtype}"


def _decode_image(runtime: Runtime, path: str) -> NDArray[Any]:
    tf = runtime.tf
    data = files.read_bytes(path)
    # Byte 24 of a PNG (in IHDR) is its bit depth. tf.io.decode_image would reduce 16 bits to 8.
    deep = data[:8] == b"\x89PNG\r\n\x1a\n" and data[24:25] == b"\x10"
    try:
        if deep:
            image = tf.io.decode_png(data, dtype=tf.uint16).numpy()
        else:
            image = tf.io.decode_image(data, expand_animations=False).numpy()
    except tf.errors.InvalidArgumentError as error:
        raise CliError(path, "is not an image that TensorFlow can read") from error
    # Images of 2 or 4 channels have an alpha channel, which is dropped.
    return np.asarray(image[..., : 1 if image.shape[2] < 3 else 3])


def read_y4m(path: str, data: bytes) -> FramesIn:
    """Reads a YUV4MPEG2 stream of 8-bit 4:2:0, 4:4:4 or gray frames (see yuv4mpeg(5))."""
    head, _, rest = data.partition(b"\n")
    words = head.split(b" ")
    if words[0] != b"YUV4MPEG2":
        raise CliError(path, "is not a YUV4MPEG2 file: its first word is another")
    tags = {word[:1].decode("latin1"): word[1:].decode("latin1") for word in words[1:] if word}
    try:
        width, height = int(tags["W"]), int(tags["H"])
        # The format says "unknown" by 0:0.
        known = tags.get("F", "0:0") != "0:0"
        rate = float(Fraction(tags["F"].replace(":", "/"))) if known else None
    except (KeyError, ValueError, ZeroDivisionError) as error:
        raise CliError(path, f"the header {head[:80]!r} has no proper W, H and F") from error
    if width <= 0 or height <= 0:
        raise CliError(path, f"the header gives a size of {width}x{height}")

    chroma = tags.get("C", "420jpeg")
    half = ((width + 1) // 2) * ((height + 1) // 2)
    if chroma in ("420", "420jpeg", "420mpeg2", "420paldv"):
        pixel_format, size = "yuv420p", width * height + 2 * half
    elif chroma == "444":
        pixel_format, size = "yuv444p", 3 * width * height
    elif chroma == "mono":
        pixel_format, size = "gray", width * height
    else:
        raise CliError(
            path, f"chroma {chroma!r} is not 8-bit 4:2:0, 4:4:4 or mono", "convert it with ffmpeg"
        )

    offsets: list[int] = []
    position = len(data) - len(rest)
    while position < len(data):
        line_end = data.find(b"\n", position)
        if line_end < 0 or data[position : position + 5] != b"FRAME":
            raise CliError(path, f"no FRAME header at byte {position}")
        position = line_end + 1
        if position + size > len(data):
            raise CliError(path, f"frame {len(offsets)} is cut short at byte {len(data)}")
        offsets.append(position)
        position += size
    if not offsets:
        raise CliError(path, "holds no frame")
    frames = np.stack([np.frombuffer(data, np.uint8, size, offset) for offset in offsets])
    color_range = {"FULL": "full", "LIMITED": "limited"}.get(_color_range_tag(words))
    if pixel_format == "gray":
        gray = frames.reshape(len(frames), height, width, 1)
        return FramesIn(gray, "gray", None, rate, color_range)
    return FramesIn(frames, pixel_format, (height, width), rate, color_range)


def _color_range_tag(words: list[bytes]) -> str:
    for word in words:
        if word.startswith(b"XCOLORRANGE="):
            return word[len(b"XCOLORRANGE=") :].decode("latin1")
    return ""
