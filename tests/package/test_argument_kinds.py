"""Arguments of another kind than they should be: the error names them, and shows no video bytes."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tf_nvcodec as nvc

BYTES = b"\0\0\0\x20ftypisom" + bytes(1 << 16)
FRAME = np.zeros((32, 32, 3), np.uint8)


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
    with pytest.raises(TypeError, match=rf"{name} must be \(.*height, width\), int32; got"):
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
