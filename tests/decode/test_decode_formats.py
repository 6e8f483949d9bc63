"""Compares every pixel format, element type and layout with the float64 reference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import tensorflow as tf
from all_pairs import all_pairs
from golden_clips import ORIENTED, Clips
from reference import Frame, View, differences, parse_format

import tf_nvcodec as nvc

CLIP = "colour_odd.mkv"
VIEWS = [View(), View(crop=(2, 4, 40, 60)), View((30, 44), "area", (2, 4, 40, 60))]


def decode(clips: Clips, name: str, view: View, **options: object) -> npt.NDArray[np.generic]:
    frames, _ = nvc.decode_video(
        clips.data(name), size=view.size, crop=view.crop, resize_method=view.method, **options
    )
    return frames.numpy()


def want(clips: Clips, name: str, pixel_format: str, view: View) -> npt.NDArray[np.float64]:
    frames = clips.reference(name, 2, space="bt709")
    if pixel_format == "gray":
        return np.stack([frame.gray(view) for frame in frames])
    rgb = np.stack([frame.rgb(view) for frame in frames])
    return rgb[..., ::-1] if pixel_format == "bgr" else rgb


@pytest.mark.parametrize(
    ("pixel_format", "dtype", "layout", "view"),
    all_pairs(
        ["rgb", "bgr", "gray"],
        [tf.uint8, tf.uint16, tf.float16, tf.float32],
        ["thwc", "tchw"],
        VIEWS,
    ),
)
def test_images(clips: Clips, pixel_format: str, dtype: tf.DType, layout: str, view: View) -> None:
    got = decode(clips, CLIP, view, pixel_format=pixel_format, dtype=dtype, layout=layout)
    assert got.dtype == dtype.as_numpy_dtype
    reference = want(clips, CLIP, pixel_format, view)
    if layout == "tchw":
        reference = np.moveaxis(reference, -1, 1)
    assert got.shape == reference.shape
    if dtype == tf.float32:
        np.testing.assert_allclose(got, reference, atol=2e-6)
    elif dtype == tf.float16:
        np.testing.assert_allclose(got.astype(np.float64), reference, atol=2.0**-11)
    else:
        top = dtype.max
        difference = differences(got, reference * top)
        assert difference.max() <= 1, difference.max()
        assert (difference > 0).mean() <= 0.05


@pytest.mark.parametrize(
    ("pixel_format", "layout", "dtype"),
    all_pairs(["rgb", "bgr", "gray"], ["thwc", "tchw"], [tf.float16, tf.float32]),
)
def test_mean_and_std(clips: Clips, pixel_format: str, layout: str, dtype: tf.DType) -> None:
    """mean and std have one value for each channel, in the order of the output's channels."""
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    if pixel_format == "gray":
        mean, std = mean[:1], std[:1]
    got = decode(
        clips,
        CLIP,
        View(),
        pixel_format=pixel_format,
        dtype=dtype,
        layout=layout,
        mean=mean,
        std=std,
    )
    reference = (want(clips, CLIP, pixel_format, View()) - mean) / std
    if layout == "tchw":
        reference = np.moveaxis(reference, -1, 1)
    tolerance = 2e-5 if dtype == tf.float32 else 2e-3
    np.testing.assert_allclose(got.astype(np.float64), reference, atol=tolerance)


def test_one_mean_for_all_channels(clips: Clips) -> None:
    got = decode(clips, CLIP, View(), dtype=tf.float32, mean=0.5, std=0.25)
    reference = (want(clips, CLIP, "rgb", View()) - 0.5) / 0.25
    np.testing.assert_allclose(got, reference, atol=1e-5)


def _packed(frame: Frame, pixel_format: str, view: View) -> npt.NDArray[np.float64]:
    """Returns the reference's code values in the order of the packed bytes. They are not
    rounded."""
    depth = 10 if pixel_format == "p010" else 8
    planes = frame.yuv(depth, 0 if pixel_format == "yuv444p" else 1, view)
    if pixel_format in ("nv12", "p010"):
        planes = [planes[0], np.stack(planes[1:], axis=-1)]
    return np.concatenate([plane.reshape(-1) for plane in planes])


def check_packed(
    got: npt.NDArray[np.uint8], frames: list[Frame], pixel_format: str, view: View
) -> None:
    for ours, frame in zip(got, frames):
        values = np.frombuffer(ours.tobytes(), "<u2" if pixel_format == "p010" else "u1")
        if pixel_format == "p010":
            assert not (values & 63).any(), "p010 has its bits at the top"
            values = values >> 6
        difference = differences(values, _packed(frame, pixel_format, view))
        assert difference.max() <= 1, difference.max()
        assert (difference > 0).mean() <= 0.05


EVEN_CLIPS = [
    "colour_422.mkv",
    "colour_444_12.mkv",
    "colour_bt2020_full_10.mkv",
    "ffv1_gray12le.mkv",
]


@pytest.mark.parametrize(
    ("name", "pixel_format", "view"),
    all_pairs(EVEN_CLIPS, ["nv12", "yuv420p", "yuv444p", "p010"], VIEWS),
)
def test_packed(clips: Clips, name: str, pixel_format: str, view: View) -> None:
    got = decode(clips, name, view, pixel_format=pixel_format)
    full = "full" in name or "gray" in name
    frames = clips.reference(name, len(got), colour_range="full" if full else "limited")
    check_packed(got, frames, pixel_format, view)


@pytest.mark.parametrize("pixel_format", ["nv12", "yuv420p", "yuv444p", "p010"])
def test_packed_of_turned_and_mirrored_frames(clips: Clips, pixel_format: str) -> None:
    for name, shown in ORIENTED.items():
        got = decode(clips, name, View(), pixel_format=pixel_format)[:2]
        frames = clips.reference(name, 2, **shown)
        check_packed(got, frames, pixel_format, View())


@pytest.mark.parametrize("name", ["h264.mp4", "vp9_odd.webm", "mjpeg_odd.mov"])
def test_yuv420p_of_yuv420p_is_native(clips: Clips, name: str) -> None:
    assert parse_format(clips.frames(name).pixel_format).shifts == (1, 1)
    packed = decode(clips, name, View(), pixel_format="yuv420p")
    native = decode(clips, name, View(), pixel_format="native")
    np.testing.assert_array_equal(packed, native)


def test_p010_and_uint16_keep_ten_bits(clips: Clips) -> None:
    name = "h264_yuv420p10le.mp4"
    native = decode(clips, name, View(), pixel_format="native").view("<u2")
    p010 = decode(clips, name, View(), pixel_format="p010").view("<u2") >> 6
    luma = 96 * 64
    np.testing.assert_array_equal(p010[:, :luma], native[:, :luma])
    chroma = p010[:, luma:].reshape(len(p010), -1, 2)
    np.testing.assert_array_equal(chroma[..., 0], native[:, luma : luma + luma // 4])
    np.testing.assert_array_equal(chroma[..., 1], native[:, luma + luma // 4 :])


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"pixel_format": "nv12", "dtype": tf.float32}, "dtype"),
        ({"pixel_format": "native", "dtype": tf.uint16}, "dtype"),
        ({"pixel_format": "yuv420p", "layout": "tchw"}, "layout"),
        ({"pixel_format": "native", "size": (8, 8)}, "size"),
        ({"pixel_format": "native", "crop": (0, 0, 8, 8)}, "crop"),
        ({"pixel_format": "nv12", "crop": (1, 0, 8, 8)}, "crop"),
        ({"pixel_format": "p010", "size": (9, 8)}, "size"),
        ({"mean": 0.5}, "mean"),
        ({"std": 2.0, "dtype": tf.uint16}, "std"),
        ({"std": 0.0, "dtype": tf.float32}, "std"),
        ({"mean": float("nan"), "dtype": tf.float32}, "mean"),
        ({"mean": [0.1, 0.2], "dtype": tf.float32}, "mean"),
        ({"pixel_format": "yuv411p"}, "pixel_format"),
        ({"layout": "hwct"}, "layout"),
        ({"resize_method": "lanczos"}, "resize_method"),
        ({"dtype": tf.int32}, "dtype"),
        ({"on_error": "ignore"}, "on_error"),
        ({"backend": "abacus"}, "backend"),
        ({"num_threads": -1}, "num_threads"),
    ],
    ids=str,
)
def test_options_that_do_not_fit_are_refused(
    clips: Clips, options: dict[str, object], word: str
) -> None:
    refusals = (tf.errors.InvalidArgumentError, ValueError, TypeError)
    with pytest.raises(refusals, match=word):
        nvc.decode_video(clips.data("one_frame.mp4"), **options)
