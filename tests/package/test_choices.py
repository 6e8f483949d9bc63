"""Values that an argument does not take: one error in eager calls, graphs and datasets."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf

import tf_nvcodec as nvc

CLIP = Path(__file__).parents[1] / "golden" / "media" / "bigbuckbunny_720p.mp4"
FRAMES = tf.zeros([2, 32, 32, 3], tf.uint8)
# Function, argument, a value it does not take, and the error.
WRONG = [
    ("decode", "layout", "hwc", ValueError, 'layout must be "thwc" or "tchw"; got "hwc"'),
    ("decode", "backend", "gpu", ValueError, 'backend must be "auto", "cpu" or "nvdec"; got "gpu"'),
    ("decode", "resize_method", "", ValueError, 'resize_method must be "nearest", .*; got ""'),
    ("decode", "pixel_format", 'a" b', ValueError, 'pixel_format must be "native", .*; got "a" b"'),
    ("decode", "layout", "h\nc", ValueError, 'layout must be "thwc" or "tchw"; got "h.c"'),
    ("decode", "on_error", "stop", ValueError, 'on_error must be "raise", "skip" or "repeat"'),
    ("decode", "dtype", tf.int8, TypeError, "must be uint8, uint16, float16 or float32; got int8"),
    ("decode", "dtype", "int32", TypeError, "must be uint8, uint16, float16 or float32; got int32"),
    ("decode", "dtype", tf.float64, TypeError, "uint16, float16 or float32; got float64"),
    ("decode", "max_pixels", -1, ValueError, "max_pixels must be at least 0, got -1"),
    ("decode", "num_threads", -2, ValueError, "num_threads must be at least 0, got -2"),
    ("encode", "codec", "h266", ValueError, 'codec must be "h264", .* or "ffv1"; got "h266"'),
    ("encode", "container", "x", ValueError, 'container must be "mp4", .* or "obu"; got "x"'),
    ("encode", "backend", "nvdec", ValueError, 'backend must be "auto", "cpu" or "nvenc"; got'),
]


@pytest.mark.parametrize(("function", "name", "value", "kind", "text"), WRONG)
@pytest.mark.parametrize("how", ["eager", "graph", "dataset"])
def test_what_an_argument_takes_is_named(how, function, name, value, kind, text) -> None:
    contents = CLIP.read_bytes()

    def call() -> None:
        if function == "encode":
            nvc.encode_video(FRAMES, **{name: value})
        else:
            nvc.decode_frames_at(contents, [0], **{name: value})

    if how == "graph":
        call = tf.function(call, autograph=False)
    elif how == "dataset":
        if function == "encode":
            pytest.skip("a dataset decodes")

        def call() -> None:
            nvc.VideoDataset([str(CLIP)], **{name: value})

    with pytest.raises(kind, match=f"(?s){text}") as raised:
        call()
    assert "NodeDef" not in str(raised.value)


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="if that is a path"):
        nvc.decode_video(tf.constant("clip.mp4"))
