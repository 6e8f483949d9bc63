"""Input formats and sizes. RGB is converted as the float64 reference does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from all_pairs import all_pairs
from encoded import FAST, OPENH264, Encoded, moving, psnr
from reference import KR_KB, split_planes

import tf_nvcodec as nvc

PIXEL_FORMATS = (
    "yuv420p",
    "yuv422p",
    "yuv444p",
    "yuv420p10le",
    "yuv422p10le",
    "yuv444p10le",
    "yuv420p12le",
    "yuv422p12le",
    "yuv444p12le",
)


def encode(frames: Any, codec: str = "ffv1", container: str = "mkv", **options: Any) -> Encoded:
    options.setdefault("preset", FAST.get(codec))
    if codec in ("h264", "hevc"):
        options.setdefault("crf", 20)
    return Encoded(
        nvc.encode_video(frames, 30, codec, container, **options).numpy(), codec, container
    )


def to_yuv(
    rgb: npt.NDArray[np.float64], pixel_format: str, space: str, full: bool
) -> list[npt.NDArray[np.float64]]:
    """Returns the planes by H.273's equations, not rounded. A chroma sample is the mean of the
    pixels that it covers."""
    depth = int(pixel_format[7:9]) if "le" in pixel_format else 8
    kr, kb = KR_KB[space]
    red, green, blue = np.moveaxis(rgb, -1, 0)
    luma = kr * red + (1 - kr - kb) * green + kb * blue
    unit, top = 2 ** (depth - 8), 2**depth - 1
    luma_span, luma_zero, chroma_span = (
        (top, 0, top) if full else (219 * unit, 16 * unit, 224 * unit)
    )
    planes = [luma * luma_span + luma_zero]
    for colour, weight in ((blue, kb), (red, kr)):
        chroma = (colour - luma) / (2 * (1 - weight)) * chroma_span + 128 * unit
        rows, columns = {"0": (2, 2), "2": (1, 2), "4": (1, 1)}[pixel_format[5]]
        high, wide = chroma.shape
        padded = np.pad(chroma, ((0, high % rows), (0, wide % columns)), mode="edge")
        blocks = padded.reshape(padded.shape[0] // rows, rows, padded.shape[1] // columns, columns)
        planes.append(blocks.mean((1, 3)))
    return [plane.clip(0, top) for plane in planes]


def check_planes(
    video: Encoded, rgb: npt.NDArray[np.float64], pixel_format: str, space: str, full: bool
) -> None:
    height, width = rgb.shape[1:3]
    data = video.planes()
    size = len(data) // len(rgb)
    for t, frame in enumerate(rgb):
        got = split_planes(data[t * size : (t + 1) * size], pixel_format, width, height)
        for have, want in zip(got, to_yuv(frame, pixel_format, space, full)):
            # 0.5 is for rounding, and 0.05 for single precision and products of 16 bits.
            assert np.abs(have - want).max() < 0.55


@pytest.mark.parametrize("pixel_format", PIXEL_FORMATS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float16, np.float32])
def test_rgb_becomes_yuv_by_the_rule(dtype: Any, pixel_format: str) -> None:
    frames = np.random.default_rng(1).random((2, 31, 45, 3))
    peak = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 1
    frames = (frames * peak).astype(dtype)
    for full in (False, True):
        video = encode(frames, pixel_format=pixel_format, color_range="full" if full else None)
        assert video.stream["pix_fmt"] == pixel_format
        check_planes(video, frames.astype(np.float64) / peak, pixel_format, "bt601", full)


@pytest.mark.parametrize("color_space", ["bt601", "bt709", "bt2020"])
def test_each_matrix(color_space: str) -> None:
    frames = np.random.default_rng(2).integers(0, 256, (2, 64, 80, 3), np.uint8)
    video = encode(frames, pixel_format="yuv420p", color_space=color_space)
    check_planes(video, frames / 255, "yuv420p", color_space, False)


@pytest.mark.parametrize(
    ("height", "width", "matrix"),
    [(576, 720, "smpte170m"), (578, 16, "bt709"), (16, 1280, "bt709"), (16, 1278, "smpte170m")],
)
def test_the_matrix_follows_the_size(height: int, width: int, matrix: str) -> None:
    video = encode(np.zeros((1, height, width, 3), np.uint8), "h264", "mp4")
    assert nvc.probe(video.data).color_space.numpy().decode() == matrix


@pytest.mark.parametrize(
    ("codec", "color_space", "color_range"),
    all_pairs(
        ["h264", "hevc", "av1", "vp9", "ffv1"], ["bt601", "bt709", "bt2020"], ["limited", "full"]
    ),
)
def test_decodes_to_the_same_colours(codec: str, color_space: str, color_range: str) -> None:
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (20, 180, 90), (250, 250, 250)]
    frames = np.zeros((4, 64, 96, 3), np.uint8)
    for i, colour in enumerate(colours):
        frames[:, :, 16 * i : 16 * (i + 1)] = colour
    quality = {} if codec == "ffv1" else {"crf": 4}
    video = encode(
        frames,
        codec,
        color_space=color_space,
        color_range=color_range,
        pixel_format="yuv420p",
        **quality,
    )
    decoded = nvc.decode_video(video.data).frames.numpy().astype(int)
    assert np.abs(decoded - frames).max() <= (3 if codec == "ffv1" else 12)
    assert np.abs(decoded - frames).mean() < 2


def test_mjpeg_decodes_to_the_same_colours() -> None:
    frames = np.tile(np.array([200, 40, 90], np.uint8), (2, 720, 1280, 1))
    for container in ("mp4", "mov", "mkv", "avi", "raw"):
        video = encode(frames, "mjpeg", container, crf=1)
        assert np.abs(nvc.decode_video(video.data).frames.numpy().astype(int) - frames).max() <= 3


@pytest.mark.parametrize(
    ("codec", "input_format", "dtype"),
    all_pairs(
        ["h264", "hevc", "av1", "vp9", "mjpeg", "ffv1"],
        ["rgb", "bgr", "gray"],
        [np.uint8, np.uint16, np.float16, np.float32],
    ),
)
def test_every_input(codec: str, input_format: str, dtype: Any) -> None:
    frames = moving(6, 64, 96)
    if input_format == "gray":
        frames = frames[..., :1]
    scale = {np.uint8: 1, np.uint16: 257}.get(dtype, 1 / 255)
    video = encode(
        (frames.astype(np.float64) * scale).astype(dtype), codec, input_format=input_format
    )
    decoded = nvc.decode_video(video.data, pixel_format=input_format).frames.numpy()
    assert psnr(decoded, frames) > 27
    deep = dtype is np.uint16 and codec in ("h264", "hevc", "av1", "vp9")
    deep = deep and not (codec == "h264" and OPENH264)
    if codec != "ffv1":
        expected = {True: "yuv420p10le", False: "yuv420p"}[deep]
        assert video.stream["pix_fmt"].replace("yuvj", "yuv") == expected


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1", "vp9", "mjpeg", "ffv1"])
@pytest.mark.parametrize("input_format", ["yuv420p", "nv12", "yuv444p", "p010"])
def test_packed_input(codec: str, input_format: str) -> None:
    frames = moving(6, 64, 96)
    jpeg = {"color_range": "full"} if codec == "mjpeg" else {}
    source = encode(frames, "ffv1", pixel_format="yuv444p10le", color_space="bt601", **jpeg)
    packed = nvc.decode_video(source.data, pixel_format=input_format).frames
    video = encode(packed, codec, input_format=input_format, size=(64, 96), **jpeg)
    assert psnr(nvc.decode_video(video.data).frames.numpy(), frames) > 27


ODD = [
    ("vp9", None, (1, 1)),
    ("vp9", None, (33, 65)),
    ("vp9", "yuv422p", (33, 65)),
    ("mjpeg", None, (1, 1)),
    ("mjpeg", None, (17, 31)),
    ("ffv1", None, (1, 1)),
    ("ffv1", "yuv420p", (35, 51)),
    ("h264", "yuv444p", (33, 65)),
    ("h264", "yuv422p", (33, 66)),
    ("h264", "gray", (1, 1)),
    ("h264", "gbrp", (33, 65)),
    ("hevc", "yuv444p", (17, 33)),
    ("hevc", "yuv422p", (33, 66)),
    ("hevc", "gray", (33, 65)),
]


@pytest.mark.parametrize(("codec", "pixel_format", "size"), ODD)
def test_odd_sizes_are_stored_as_they_are(
    codec: str, pixel_format: str | None, size: tuple[int, int]
) -> None:
    frames = np.repeat(moving(3, *size)[..., :1], 3, -1)
    video = encode(frames, codec, pixel_format=pixel_format)
    assert (video.stream["height"], video.stream["width"]) == size
    decoded = nvc.decode_video(video.data).frames.numpy()
    assert decoded.shape == frames.shape
    assert psnr(decoded, frames) > 27


def test_gray_stream_keeps_full_range() -> None:
    ramp = np.tile(np.arange(256, dtype=np.uint8), (2, 64, 1))[..., None]
    video = encode(ramp, "h264", pixel_format="gray", input_format="gray", crf=0)
    np.testing.assert_array_equal(nvc.decode_video(video.data, pixel_format="gray").frames, ramp)


def test_floats_are_clipped() -> None:
    frames = np.full((1, 16, 16, 3), 1.25, np.float32)
    frames[:, :, 8:] = -0.5
    decoded = nvc.decode_video(encode(frames).data).frames.numpy()
    assert (decoded[:, :, :8] == 255).all()
    assert (decoded[:, :, 8:] == 0).all()
