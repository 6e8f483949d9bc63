"""Packs frames of the compat decoders as FFmpeg's rawvideo, to compare them with FFmpeg's
hashes."""

from __future__ import annotations

import hashlib

import numpy as np

from tf_nvcodec.compat import DecodedFrame, Pixel_Format

_DEPTHS = {"9": 9, "10": 10, "12": 12, "14": 14, "16": 16}


def depth_of(pixel_format: str) -> int:
    """Returns the bits of a sample in a pixel format of FFmpeg: 10 for "yuv420p10le"."""
    name = pixel_format[:-2] if pixel_format.endswith("le") else pixel_format
    for text, depth in _DEPTHS.items():
        if name.endswith(("p" + text, "gray" + text)):
            return depth
    return 8


def planes_of(frame: DecodedFrame) -> list[np.ndarray]:
    """Returns each component as [H, W]. Like users, it reads them by the planes' addresses and
    strides."""
    whole = np.asarray(frame)
    memory = np.frombuffer(bytes(frame), whole.dtype)
    base = frame.GetPtrToPlane(0)
    planes = []
    for i, view in enumerate(frame._views()):
        offset = (frame.GetPtrToPlane(i) - base) // whole.itemsize
        steps = [step * whole.itemsize for step in view.stride]
        plane = np.lib.stride_tricks.as_strided(memory[offset:], view.shape, steps)
        planes += [plane[:, :, channel] for channel in range(plane.shape[2])]
    return planes


def raw_bytes(frame: DecodedFrame, pixel_format: str) -> bytes:
    """Packs a frame like FFmpeg's rawvideo of this pixel format."""
    planes = planes_of(frame)
    depth = depth_of(pixel_format)
    if depth > 8:
        planes = [plane >> (16 - depth) for plane in planes]
        used = (1 << depth) - 1
        assert all((plane <= used).all() for plane in planes)
    if pixel_format.startswith("gray"):
        for chroma in planes[1:]:
            assert (chroma == 1 << (depth - 1)).all()
        planes = planes[:1]
    return b"".join(np.ascontiguousarray(plane).tobytes() for plane in planes)


def md5_of(frame: DecodedFrame, pixel_format: str) -> str:
    return hashlib.md5(raw_bytes(frame, pixel_format)).hexdigest()


# Which pixel formats of FFmpeg become which format of the compat decoders.
FORMATS = {
    Pixel_Format.NV12: ("yuv420p", "yuvj420p", "gray"),
    Pixel_Format.P016: ("yuv420p10le", "yuv420p12le", "gray10le", "gray12le"),
    Pixel_Format.NV16: ("yuv422p", "yuvj422p"),
    Pixel_Format.P216: ("yuv422p10le", "yuv422p12le"),
    Pixel_Format.YUV444: ("yuv444p", "yuvj444p"),
    Pixel_Format.YUV444_16Bit: ("yuv444p10le", "yuv444p12le"),
}
