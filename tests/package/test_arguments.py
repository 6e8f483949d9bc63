"""Passes arguments of a wrong kind or value to eager calls, graphs and datasets. The error names
the argument and what it takes, and shows no video bytes."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tf_nvcodec as nvc

BYTES = b"\0\0\0\x20ftypisom" + bytes(1 << 16)
FRAME = np.zeros((32, 32, 3), np.uint8)
CLIP = Path(__file__).parents[1] / "golden" / "media" / "bigbuckbunny_720p.mp4"
FRAMES = tf.zeros([2, 32, 32, 3], tf.uint8)


@pytest.mark.parametrize(
    "call", [nvc.probe, nvc.decode_video, lambda c: nvc.decode_frames_at(c, [0])]
)
@pytest.mark.parametrize(
    ("contents", "says"),
    [
        ("clip.mp4", r"contents is a path, 'clip.mp4': .* tf.io.read_file\(path\)"),
        (Path("clip.mp4"), r"contents is a path, 'clip.mp4'"),
        (io.BytesIO(BYTES), r"contents is an open file: .* file.read\(\)"),
        (np.frombuffer(BYTES, np.uint8), r"contents is an array of uint8: .* x.tobytes\(\)"),
        (tf.constant([1, 2], tf.uint8), "contents must be a string, .* got uint8"),
        (tf.ragged.constant([[BYTES], []]), "contents is a RaggedTensor: decode one video a call"),
        (tf.sparse.from_dense([BYTES]), "contents is a SparseTensor: decode one video a call"),
        (None, "contents must be a string, .* got NoneType"),
        (5, "contents must be a string, .* got int"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_contents(call, contents, says):
    with pytest.raises(TypeError, match=says) as caught:
        call(contents)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, np.bytes_, tf.constant])
def test_contents_of_many_kinds(clips, kind):
    data = clips.data("h264.mp4")
    assert int(nvc.probe(kind(data)).num_frames) == 48
    assert nvc.decode_video(kind(data), stop=2).frames.shape == (2, 96, 160, 3)


@pytest.mark.parametrize("name", ["size", "crop"])
@pytest.mark.parametrize("value", ["224x224", (22.5, 30), tf.constant([2.0, 3.0])])
def test_sizes(name, value):
    with pytest.raises(TypeError, match=rf"{name} must be .*\(.*height, width\), int32; got"):
        nvc.decode_video(BYTES, **{name: value})


def test_an_unknown_keyword_of_a_dataset_shows_all_that_there_are():
    with pytest.raises(TypeError, match="unknown keyword 'frames'.* clip_length, .* crop, "):
        nvc.VideoDataset(["a.mp4"], frames=16)


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ({"filenames": [BYTES]}, ValueError, r"filenames\[0\] holds a zero byte.* as contents"),
        ({"filenames": BYTES}, ValueError, r"filenames\[0\] holds a zero byte.* as contents"),
        ({"filenames": [1, 2]}, TypeError, "filenames must be a vector of strings"),
        ({"filenames": {"a.mp4"}}, TypeError, "filenames is a set; pass a list"),
        ({"filenames": {"a.mp4": 1}}, TypeError, "filenames is a dict; pass a list"),
        ({"filenames": tf.ragged.constant([["a"], []])}, ValueError, "filenames .* RaggedTensor"),
        ({"contents": [BYTES, "a.mp4"]}, TypeError, r"contents\[1\] is a str.* as filenames"),
        ({"contents": [BYTES, None]}, TypeError, "contents must be a vector of strings"),
    ],
)
def test_videos_of_a_dataset(arguments, kind, says):
    with pytest.raises(kind, match=says) as caught:
        nvc.VideoDataset(**arguments)
    assert len(str(caught.value)) < 200


def test_a_list_of_frames_keeps_its_dtype():
    listed = nvc.encode_video([FRAME, FRAME], codec="ffv1", container="mkv")
    stacked = nvc.encode_video(np.stack([FRAME, FRAME]), codec="ffv1", container="mkv")
    assert listed.numpy() == stacked.numpy()


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ({"frames": [FRAME, FRAME[:16]]}, ValueError, "frames must be of one shape; got"),
        ({"frames": [FRAME], "fps": "25"}, TypeError, "fps must be numbers, got string"),
        ({"frames": [FRAME], "pts": ["0"]}, TypeError, "pts must be numbers, got string"),
        ({"frames": [FRAME], "size": "32x32"}, TypeError, "size must be .* got '32x32'"),
    ],
)
def test_encoding(arguments, kind, says):
    with pytest.raises(kind, match=says):
        nvc.encode_video(**arguments)


def test_a_dataset_of_no_names():
    names = tf.data.Dataset.from_tensor_slices(["a.mp4"]).filter(lambda name: False)
    with pytest.raises(ValueError, match="the dataset of filenames is empty"):
        nvc.VideoDataset(names)


# Each row has a function, an argument, a value that it does not take, and the error.
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
    ("decode", "max_packets", -1, ValueError, "max_packets must be at least 0, got -1"),
    ("decode", "timeout", -0.5, ValueError, "timeout must be at least 0 seconds, got -0.5"),
    ("decode", "timeout", float("nan"), ValueError, "timeout must be at least 0 seconds, got nan"),
    ("decode", "timeout", "1 s", TypeError, "timeout must be a number of seconds or None, got"),
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
