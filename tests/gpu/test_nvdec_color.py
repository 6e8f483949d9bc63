"""The colours of the GPU's kernel are within 1 of the float64 reference."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tensorflow as tf
from golden_clips import ORIENTED
from gpu_checks import check_equal, on_cpu, on_gpu
from gpu_clips import data, folder
from reference import Frame, View, differences, displayed

import tf_nvcodec as nvc
from tf_nvcodec import compat

pytestmark = pytest.mark.gpu

COUNT = 2
RGB = compat.OutputColorType.RGB
WHOLE = View()
# The clips have 8, 10 and 12 bits, 4:2:0 and 4:4:4, and odd sizes.
NAMES = [
    "h264.mp4",
    "h264_cropped.mp4",
    "hevc_cropped.mp4",
    "hevc_odd_444.mp4",
    "hevc_yuv420p10le.mp4",
    "hevc_yuv420p12le.mkv",
    "hevc_yuv444p10le.mp4",
    "vp9_odd.webm",
]
TAGGED = [
    f"h264_{space}_{colour_range}.mp4"
    for space in ("bt601", "bt709", "bt2020")
    for colour_range in ("limited", "full")
]


def decoded(name: str, **options: object) -> np.ndarray:
    try:
        return on_gpu(data(name), stop=COUNT, **options).frames.numpy()
    except tf.errors.UnimplementedError as error:
        pytest.skip(error.message[:200])


def stored(name: str, space: str, colour_range: str) -> list[Frame]:
    """Returns the frames as FFmpeg decodes them. The reference makes RGB of these."""
    contents, info = data(name), nvc.probe(data(name))
    native = on_cpu(contents, stop=COUNT, pixel_format="native").frames.numpy()
    pixel_format = info.pixel_format.numpy().decode().replace("yuvj", "yuv")
    width, height = int(info.width), int(info.height)
    return [
        Frame(row.tobytes(), pixel_format, width, height, space, colour_range) for row in native
    ]


def check(got: np.ndarray, want: list[np.ndarray], top: float, what: str) -> None:
    assert len(got) == len(want), what
    for ours, reference in zip(got, want):
        assert ours.shape == reference.shape, what
        assert differences(ours, reference * top).max() <= 1, what


def guess(name: str) -> tuple[str, str]:
    return ("bt709" if int(nvc.probe(data(name)).width) >= 1280 else "bt601"), "limited"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", [None, "nearest", "bilinear", "bicubic", "area", "lanczos3"])
def test_rgb(name: str, method: str | None) -> None:
    frames = stored(name, *guess(name))
    if method is None:
        views = {WHOLE: {}}
    else:
        views = {
            View(size=size, method=method): {"size": size, "resize_method": method}
            for size in ((50, 70), (224, 224), (401, 603))
        }
    for view, options in views.items():
        want = [frame.rgb(view) for frame in frames]
        check(decoded(name, **options), want, 255, f"{name} {view}")


@pytest.mark.parametrize("name", TAGGED)
def test_matrix_and_range(name: str) -> None:
    _, space, colour_range = name.partition(".")[0].split("_")
    want = [frame.rgb() for frame in stored(name, space, colour_range)]
    check(decoded(name), want, 255, name)


@pytest.mark.parametrize("name", NAMES[:6])
def test_crops(name: str) -> None:
    frames = stored(name, *guess(name))
    for crop, size in itertools.product(
        [(0, 0, 64, 96), (31, 17, 101, 99), (2, 3, 150, 201)], [None, (112, 112)]
    ):
        view = View(size=size, crop=crop)
        options = {"crop": crop} if size is None else {"crop": crop, "size": size}
        check(decoded(name, **options), [f.rgb(view) for f in frames], 255, f"{name} {view}")


@pytest.mark.parametrize("codec", ["h264", "hevc"])
@pytest.mark.parametrize("siting", ["left", "center", "topleft"])
def test_bilinear_chroma_follows_the_siting(siting: str, codec: str) -> None:
    name = f"{codec}_siting_{siting}.mp4"
    view = View(siting={"left": (-1, 0), "center": (0, 0), "topleft": (-1, -1)}[siting])
    want = [frame.rgb(view) for frame in stored(name, *guess(name))]
    check(decoded(name, chroma_upsampling="bilinear"), want, 255, name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pixel_format", ["rgb", "bgr", "gray"])
@pytest.mark.parametrize("dtype", [tf.uint8, tf.uint16, tf.float16, tf.float32])
def test_types_and_layouts(name: str, pixel_format: str, dtype: tf.DType) -> None:
    frames = stored(name, *guess(name))
    want = [f.gray() if pixel_format == "gray" else f.rgb() for f in frames]
    if pixel_format == "bgr":
        want = [picture[..., ::-1] for picture in want]
    for layout in ("thwc", "tchw"):
        got = decoded(name, pixel_format=pixel_format, dtype=dtype, layout=layout)
        assert got.dtype == dtype.as_numpy_dtype
        if layout == "tchw":
            got = got.transpose(0, 2, 3, 1)
        if dtype.is_integer:
            check(got, want, dtype.max, f"{name} {pixel_format} {dtype.name} {layout}")
        else:
            close = 2e-6 if dtype == tf.float32 else 6e-4
            np.testing.assert_allclose(got, np.stack(want), rtol=0, atol=close)


def check_near(got: np.ndarray, want: np.ndarray, what: str) -> None:
    assert got.shape == want.shape, what
    assert np.abs(got.astype(int) - want.astype(int)).max() <= 1, what


def test_mean_and_std() -> None:
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    got = decoded("h264.mp4", dtype=tf.float32, mean=mean, std=std)
    want = np.stack([frame.rgb() for frame in stored("h264.mp4", "bt601", "limited")])
    np.testing.assert_allclose(got, (want - mean) / std, rtol=0, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pixel_format", ["nv12", "yuv420p", "yuv444p", "p010"])
def test_packed_formats(name: str, pixel_format: str) -> None:
    if pixel_format != "yuv444p" and "odd" in name:
        pytest.skip("4:2:0 outputs have even sizes")
    got = decoded(name, pixel_format=pixel_format)
    want = on_cpu(data(name), stop=COUNT, pixel_format=pixel_format).frames.numpy()
    info = nvc.probe(data(name))
    if info.pixel_format.numpy() == b"yuv420p" and pixel_format in ("nv12", "yuv420p"):
        check_equal(got, want, f"{name} {pixel_format}")
        return
    # Both sides round the same number, so few samples may differ, and by one step only.
    step, kind = (64, "<u2") if pixel_format == "p010" else (1, "u1")
    off = np.abs(got.view(kind).astype(int) - want.view(kind).astype(int))
    assert off.max() <= step, name
    assert (off > 0).mean() < 0.001, name


@pytest.mark.parametrize("name", [*ORIENTED, "h264_rotate_45.mp4"])
def test_orientation(name: str) -> None:
    for options in ({}, {"size": (100, 90)}, {"crop": (3, 5, 120, 140)}, {"apply_rotation": False}):
        got = decoded(name, **options)
        want = on_cpu(data(name), stop=COUNT, **options).frames.numpy()
        check_near(got, want, f"{name} {options}")


@pytest.mark.parametrize("name", [*ORIENTED, "h264_rotate_45.mp4"])
def test_every_call_gives_the_orientation(name: str) -> None:
    stored, want = decoded(name, apply_rotation=False), decoded(name)
    shown = ORIENTED.get(name, {"rotation": 0, "mirrored": False})
    turned = np.stack([displayed(frame, shown["rotation"], shown["mirrored"]) for frame in stored])
    # Frames as stored come from another kernel.
    check_near(want, turned, name)
    contents, nvdec = data(name), {"backend": "nvdec"}
    with tf.device("/CPU:0"):
        downloaded = nvc.decode_video(contents, stop=COUNT, **nvdec).frames.numpy()
        at = nvc.decode_frames_at(contents, [1, 0], **nvdec).frames.numpy()
        batch = nvc.decode_clips([contents], COUNT, sampling="start", **nvdec).frames.numpy()
        passed = [part.frames.numpy() for part in nvc.iter_video(contents, 1, stop=COUNT, **nvdec)]
        made = nvc.VideoDataset(contents=[contents], clip_length=COUNT, sampling="start", **nvdec)
        clip = next(made.as_numpy_iterator())["frames"]
    for call, got in {
        "decode_video": downloaded,
        "decode_frames_at": at[::-1],
        "decode_clips": batch[0, 0],
        "iter_video": np.concatenate(passed),
        "VideoDataset": clip,
    }.items():
        check_equal(got, want, f"{name} by {call}")
    decoder = compat.SimpleDecoder(
        folder() / name, use_device_memory=False, backend="nvdec", output_color_type=RGB
    )
    check_near(np.asarray(decoder[0])[None], stored[:1], f"{name} by SimpleDecoder")
