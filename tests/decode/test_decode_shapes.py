"""Tests the shape functions: which shapes they know and which arguments they refuse, both before
decoding."""

from __future__ import annotations

import pytest
import tensorflow as tf

import tf_nvcodec as nvc

REFUSALS = (ValueError, tf.errors.InvalidArgumentError)


def shapes(decode: object, *arguments: object, **options: object) -> list[list[int | None]]:
    """Returns the static shapes of the outputs, in a function that does not know its video yet."""
    found: list[list[int | None]] = []

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def traced(contents: tf.Tensor) -> None:
        outputs = decode(contents, *arguments, **options)
        found.extend(output.shape.as_list() for output in outputs)

    traced.get_concrete_function()
    return found


GOOD = [
    ({}, [None, None, None, 3]),
    ({"pixel_format": "bgr"}, [None, None, None, 3]),
    ({"pixel_format": "gray"}, [None, None, None, 1]),
    ({"layout": "tchw"}, [None, 3, None, None]),
    ({"layout": "tchw", "pixel_format": "gray"}, [None, 1, None, None]),
    ({"size": (20, 30)}, [None, 20, 30, 3]),
    ({"size": (20, 30), "layout": "tchw"}, [None, 3, 20, 30]),
    ({"crop": (1, 2, 20, 30)}, [None, 20, 30, 3]),
    ({"crop": (1, 2, 20, 30), "size": (4, 6)}, [None, 4, 6, 3]),
    ({"size": (20, 30), "dtype": tf.float16}, [None, 20, 30, 3]),
    ({"pixel_format": "native"}, [None, None]),
    ({"pixel_format": "nv12"}, [None, None]),
    ({"pixel_format": "nv12", "size": (20, 30)}, [None, 900]),
    ({"pixel_format": "yuv420p", "crop": (2, 2, 20, 30)}, [None, 900]),
    ({"pixel_format": "yuv444p", "size": (20, 30)}, [None, 1800]),
    ({"pixel_format": "p010", "size": (20, 30)}, [None, 1800]),
]


@pytest.mark.parametrize(("options", "want"), GOOD, ids=str)
def test_frames(options: dict[str, object], want: list[int | None]) -> None:
    assert shapes(nvc.decode_video, **options) == [want, [None]]
    assert shapes(nvc.decode_video, 0, 5, 2, **options) == [want, [None]]
    three = [3, *want[1:]]
    assert shapes(nvc.decode_frames_at, [0, 5, 5], **options) == [three, [3]]
    times = {"timestamps": [0.0, 0.1, 0.2]}
    assert shapes(nvc.decode_frames_at, **times, **options) == [three, [3]]


def test_validity() -> None:
    assert shapes(nvc.decode_frames_at, [0, 1], return_valid=True)[1:] == [[2], [2]]
    # With on_error="skip" the number of frames is known only after the decode.
    skipped = shapes(nvc.decode_frames_at, [0, 1], return_valid=True, on_error="skip")
    assert skipped == [[None, None, None, 3], [None], [None]]


@pytest.mark.parametrize("dtype", [tf.uint8, tf.uint16, tf.float16, tf.float32])
def test_types(dtype: tf.DType) -> None:
    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def traced(contents: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return nvc.decode_video(contents, dtype=dtype, return_valid=True)

    outputs = traced.get_concrete_function().structured_outputs
    assert [output.dtype for output in outputs] == [dtype, tf.float64, tf.bool]


def test_sizes_that_are_tensors() -> None:
    """If the size is a tensor, its values are unknown until the step runs. The rank is known."""

    @tf.function(input_signature=[tf.TensorSpec([], tf.string), tf.TensorSpec([2], tf.int32)])
    def traced(contents: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
        frames, _ = nvc.decode_video(contents, size=size)
        assert frames.shape.as_list() == [None, None, None, 3]
        return frames

    traced.get_concrete_function()


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (([0, 1],), {}),
        ((0, [3]), {}),
        ((0, None, [1]), {}),
        ((0, None, 0), {}),
        ((0, None, -2), {}),
        ((), {"size": (20,)}),
        ((), {"size": (20, 30, 3)}),
        ((), {"size": (20, 0)}),
        ((), {"size": (-20, 30)}),
        ((), {"crop": (0, 0, 5)}),
        ((), {"crop": (0, 0, 5, -1)}),
        ((), {"crop": [[0, 0, 5, 5]]}),
    ],
    ids=str,
)
def test_bad_ranges(arguments: tuple[object, ...], options: dict[str, object]) -> None:
    with pytest.raises(REFUSALS):
        shapes(nvc.decode_video, *arguments, **options)


@pytest.mark.parametrize("positions", [0, [[0, 1]]])
def test_bad_positions(positions: object) -> None:
    with pytest.raises(REFUSALS):
        shapes(nvc.decode_frames_at, positions)
    with pytest.raises(REFUSALS):
        shapes(nvc.decode_frames_at, timestamps=tf.cast(positions, tf.float64))


@pytest.mark.parametrize("shape", [[1], [2, 3]])
def test_contents_are_one_string(shape: list[int]) -> None:
    for call in (nvc.decode_video, lambda c: nvc.decode_frames_at(c, [0]), nvc.probe):
        function = tf.function(call)
        with pytest.raises(REFUSALS):
            function.get_concrete_function(tf.TensorSpec(shape, tf.string))


def test_bad_shapes_at_run_time() -> None:
    """Some shapes are known only when the step runs. The kernel refuses bad ones."""
    spec = tf.TensorSpec(None, tf.int32)

    @tf.function(input_signature=[tf.TensorSpec(None, tf.string), spec, spec])
    def traced(contents: tf.Tensor, size: tf.Tensor, crop: tf.Tensor) -> tf.Tensor:
        return nvc.decode_video(contents, size=size, crop=crop).frames

    none, whole = tf.zeros([2], tf.int32), tf.zeros([4], tf.int32)
    for contents, size, crop in (
        (tf.constant([b"x"]), none, whole),
        (tf.constant(b"x"), tf.zeros([0], tf.int32), whole),
        (tf.constant(b"x"), tf.constant(5), whole),
        (tf.constant(b"x"), none, tf.zeros([3], tf.int32)),
        (tf.constant(b"x"), none, tf.zeros([2, 2], tf.int32)),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"contents|size|crop"):
            traced(contents, size, crop)
