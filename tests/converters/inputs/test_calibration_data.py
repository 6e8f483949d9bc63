"""Every kind of calibration data, and the errors for bad data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

from converters.inputs.calibration_data import InputSpec, VideoFiles, batches, known_count
from converters.util.errors import CalibrationError, VerificationError

X = np.arange(24, dtype=np.float32).reshape(12, 2)
Y = np.arange(12, dtype=np.int32)


def spec(*shape: int | None, dtype: Any = np.float32) -> InputSpec:
    return InputSpec(shape, np.dtype(dtype))


def generator() -> Iterator[Any]:
    for start in range(0, 12, 4):
        yield X[start : start + 4]


def check(taken: list[dict[str, Any]], size: int = 4) -> None:
    assert [list(batch) for batch in taken] == [["x"]] * (12 // size)
    np.testing.assert_array_equal(np.concatenate([batch["x"] for batch in taken]), X)
    assert all(batch["x"].shape == (size, 2) for batch in taken)


@pytest.mark.parametrize(
    "data",
    [
        generator,
        lambda: [{"x": batch} for batch in generator()],
        lambda: generator,
        list(generator()),
        [(batch,) for batch in generator()],
        [{"x:0": batch} for batch in generator()],
    ],
    ids=["function", "dicts", "function of function", "list", "tuples", "tensor names"],
)
def test_iterables(data: Any) -> None:
    if callable(data) and callable(data()) and not hasattr(data(), "__iter__"):
        with pytest.raises(CalibrationError, match="callable that gave a callable"):
            list(batches(data, ["x"]))
    else:
        check(list(batches(data, ["x:0"])))


def test_a_generator_object_is_read_once() -> None:
    data = generator()
    check(list(batches(data, ["x"])))
    with pytest.raises(CalibrationError, match="empty.*pass a function"):
        list(batches(data, ["x"]))


def test_datasets() -> None:
    tf = pytest.importorskip("tensorflow")
    check(list(batches(tf.data.Dataset.from_tensor_slices(X).batch(4), ["x"])))
    two = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    (first, *_) = batches(two, ["x", "y"])
    np.testing.assert_array_equal(first["y"], Y[:4])
    named = two.map(lambda x, y: {"y": y, "x": x})
    (first, *_) = batches(named, ["x", "y"])
    assert list(first) == ["x", "y"] and first["y"].dtype == np.int32
    with pytest.raises(CalibrationError, match=r"Drop labels with dataset\.map"):
        list(batches(two, ["x"]))


def test_a_dataset_within_a_graph() -> None:
    """TrtGraphConverter asks for batches inside a graph. `batches` must still read a dataset
    eagerly there."""
    tf = pytest.importorskip("tensorflow")
    data = tf.data.Dataset.from_tensor_slices(X).batch(4)
    with tf.Graph().as_default():
        check(list(batches(data, ["x"])))
        # The user's own generator may run eager code too.
        check(list(batches(lambda: (x * 1.0 for x in data), ["x"])))
        assert known_count(data) == 3


def test_infinite_datasets_need_a_number() -> None:
    tf = pytest.importorskip("tensorflow")
    data = tf.data.Dataset.from_tensor_slices(X).batch(4).repeat()
    with pytest.raises(CalibrationError, match="repeats without end"):
        batches(data, ["x"])
    with pytest.raises(CalibrationError, match="repeats without end"):
        list(batches(lambda: data, ["x"]))
    assert len(list(batches(data, ["x"], 5))) == 5
    assert len(list(batches(lambda: data, ["x"], 5))) == 5


@pytest.mark.parametrize("size", [1, 3, 4, 12])
def test_arrays_are_cut_into_batches(size: int) -> None:
    check(list(batches(X, ["x"], batch_size=size)), size)
    check(list(batches({"x": X}, ["x"], batch_size=size)), size)


def test_the_rest_that_fills_no_batch() -> None:
    assert [len(b["x"]) for b in batches(X, ["x"], batch_size=5)] == [5, 5]
    kept = batches(X, ["x"], batch_size=5, same_shape=False)
    assert [len(b["x"]) for b in kept] == [5, 5, 2]
    # A last batch that is not full is kept, even if it is the only one.
    assert [len(b["x"]) for b in batches(X, ["x"], batch_size=50)] == [12]


def test_npy_and_npz_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X)
    check(list(batches(str(tmp_path / "a.npy"), ["x"], batch_size=3)), 3)
    check(list(batches(tmp_path / "a.npy", ["x"])), 12)
    folder = tmp_path / "parts"
    folder.mkdir()
    for index, start in enumerate((0, 5, 7)):
        stop = (5, 7, 12)[index]
        np.savez(folder / f"{index}.npz", x=X[start:stop], y=Y[start:stop], flag=np.float32(2))
    for data in (folder, str(folder / "*.npz"), sorted(folder.iterdir())):
        taken = list(batches(data, ["x", "y", "flag"], batch_size=4))
        np.testing.assert_array_equal(np.concatenate([b["x"] for b in taken]), X)
        np.testing.assert_array_equal(np.concatenate([b["y"] for b in taken]), Y)
        assert [b["x"].shape for b in taken] == [(4, 2)] * 3
        assert all(b["flag"] == 2 for b in taken)


def test_bad_files_are_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK\x03\x04 and no more")
    pickled = tmp_path / "objects.npy"
    np.save(pickled, np.array([{}], dtype=object), allow_pickle=True)
    cut = tmp_path / "cut.npy"
    np.save(cut, X)
    cut.write_bytes(cut.read_bytes()[:-8])
    (tmp_path / "clip.mp4").write_bytes(b"")
    for path, says in [
        (tmp_path / "no.npz", "no such file"),
        (empty, "has no .npy or .npz"),
        (broken, "cannot be read"),
        (pickled, "cannot be read"),
        (cut, "cannot be read"),
        (tmp_path / "clip.mp4", "VideoFiles"),
    ]:
        with pytest.raises(CalibrationError, match=says) as caught:
            list(batches(path, ["x"]))
        assert path.name in str(caught.value)


def test_a_npy_file_is_for_one_input(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(CalibrationError, match="one input; this has 2: x, y"):
        list(batches(tmp_path / "a.npy", ["x", "y"]))


def test_videos() -> None:
    seen = []

    def load(path: str) -> Any:
        seen.append(path)
        start = int(path.split(".")[0])
        return (X[i : i + 2] for i in range(start, start + 6, 2))

    taken = list(batches(VideoFiles(["0.mp4", "6.mp4"], load), ["x"]))
    check(taken, 2)
    assert seen == ["0.mp4", "6.mp4"]
    whole = VideoFiles([Path("0.mp4"), "6.mp4"], lambda path: X[int(path[0]) :][:6])
    check(list(batches(whole, ["x"])), 6)


def test_a_video_that_fails_is_named() -> None:
    def load(path: str) -> Any:
        if path == "b.mp4":
            raise ValueError("no video stream")
        return X

    with pytest.raises(CalibrationError, match=r"batch 2: b\.mp4.*no video stream") as caught:
        list(batches(VideoFiles(["a.mp4", "b.mp4"], load), ["x"]))
    assert isinstance(caught.value.__cause__, ValueError)
    for paths, says in (("a.mp4", "one path"), ([], "empty")):
        with pytest.raises(CalibrationError, match=says):
            batches(VideoFiles(paths, load), ["x"])


def test_an_error_of_the_users_code_is_kept() -> None:
    def failing() -> Iterator[Any]:
        yield X
        yield X
        raise OSError("disk gone")

    taken = batches(failing, ["x"])
    next(taken)
    next(taken)
    with pytest.raises(CalibrationError, match="batch 3: the data raised OSError: disk gone") as e:
        next(taken)
    assert isinstance(e.value.__cause__, OSError)


def test_ctrl_c_passes_through() -> None:
    def interrupted() -> Iterator[Any]:
        raise KeyboardInterrupt
        yield X

    with pytest.raises(KeyboardInterrupt):
        list(batches(interrupted, ["x"]))


@pytest.mark.parametrize("data", [[], lambda: iter(()), {"x": X[:0]}, [X[:0]]])
def test_empty_data(data: Any) -> None:
    with pytest.raises(CalibrationError, match="empty"):
        list(batches(data, ["x"]))


NAN = X.copy()
NAN[1, 1], NAN[0, 0] = math.nan, math.inf


@pytest.mark.parametrize(
    ("second", "says"),
    [
        ((X[:3], Y[:3]), r"input 'x' has shape \[3, 2\]; the batches before had \[12, 2\]"),
        ((X, Y.astype(np.int64)), "input 'y' is int64; the batches before were int32"),
        ((NAN, Y), "input 'x' has 2 elements that are NaN or infinite"),
        ((X,), r"tuple of 1; the model has 2 inputs \(x, y\)"),
        (X, "is one array"),
        ({"x": X}, "lacks the input y"),
        ({"x": X, "y": Y, "z": Y}, "unknown input z"),
        (([[1.0], [1.0, 2.0]], Y), "input 'x' is a list"),
        ((object(), Y), "input 'x' is a object"),
    ],
)
def test_bad_batches_are_named(second: Any, says: str) -> None:
    taken = batches([(X, Y), second], ["x", "y"])
    next(taken)
    with pytest.raises(CalibrationError, match=f"calibration batch 2: .*{says}"):
        next(taken)


def test_ragged_and_sparse_tensors() -> None:
    tf = pytest.importorskip("tensorflow")
    for value in (tf.ragged.constant([[1.0], [1.0, 2.0]]), tf.sparse.from_dense([[0.0, 1.0]])):
        with pytest.raises(CalibrationError, match="no array"):
            list(batches([value], ["x"]))


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (X.astype(np.float16), np.float32),
        (np.ones((12, 2), np.uint8), np.float32),
        (X.astype(np.int64), np.int32),
    ],
)
def test_dtypes_are_cast_where_no_value_changes(value: Any, wanted: Any) -> None:
    (batch,) = batches([value], ["x"], specs={"x": spec(None, 2, dtype=wanted)})
    assert batch["x"].dtype == wanted
    np.testing.assert_array_equal(batch["x"], value)


@pytest.mark.parametrize(
    ("value", "wanted", "says"),
    [
        (X.astype(np.float64), np.float32, r'float64, the model takes float32.*astype\("float32"'),
        (X.astype(np.int64) + 2**40, np.int32, "int64, the model takes int32"),
        (X, np.int32, "float32, the model takes int32"),
        (X, np.uint8, "float32, the model takes uint8"),
        (X, object, "float32, the model takes string"),
        (np.full((12, 2), b"a", object), np.float32, "string, the model takes float32"),
    ],
)
def test_other_dtypes_are_refused(value: Any, wanted: Any, says: str) -> None:
    with pytest.raises(CalibrationError, match=says):
        list(batches([value], ["x"], specs={"x": spec(None, 2, dtype=wanted)}))


@pytest.mark.parametrize("strings", [[b"a", b"bc"], ["a", "bc"], np.array(["a", "bc"])])
def test_strings_become_bytes(strings: Any) -> None:
    (batch,) = batches([(strings, Y)], ["x", "y"], specs={"x": spec(None, dtype=object)})
    assert batch["x"].tolist() == [b"a", b"bc"] and batch["x"].dtype == object


def test_shapes_follow_the_signature() -> None:
    list(batches([X], ["x"], specs={"x": spec(None, 2)}))
    list(batches([X], ["x"], specs={"x": InputSpec(None, np.dtype(np.float32))}))
    with pytest.raises(CalibrationError, match=r"12x2, the model takes \?x3"):
        list(batches([X], ["x"], specs={"x:0": spec(None, 3)}))
    with pytest.raises(CalibrationError, match="batch dimension may be missing"):
        list(batches([X], ["x"], specs={"x": spec(None, 12, 2)}))


def test_specs_of_tensorflow() -> None:
    tf = pytest.importorskip("tensorflow")
    assert InputSpec.of(tf.TensorSpec([None, 3], tf.int64)) == spec(None, 3, dtype=np.int64)
    assert InputSpec.of(tf.TensorSpec(None, tf.string)) == InputSpec(None, np.dtype(object))
    assert InputSpec.of(spec(2, None)) == spec(2, None)


def test_the_number_of_batches() -> None:
    taken: list[int] = []

    def endless() -> Iterator[Any]:
        while True:
            taken.append(1)
            yield X

    assert len(list(batches(endless, ["x"], 3))) == 3
    assert len(taken) == 3, "no batch is made that nobody takes"
    with pytest.raises(CalibrationError, match="has 3 batches and 4 were asked for"):
        list(batches(generator, ["x"], 4))
    with pytest.raises(CalibrationError, match="at least 1"):
        batches(generator, ["x"], 0)


def test_progress_counts_used_batches() -> None:
    done: list[int] = []
    taken = batches(generator, ["x"], progress=lambda: done.append(1))
    next(taken)
    assert not done
    next(taken)
    assert len(done) == 1
    list(taken)
    assert len(done) == 3


@pytest.mark.parametrize(
    ("data", "size", "drop", "count"),
    [
        (X, None, False, 1),
        (X, 5, False, 3),
        (X, 5, True, 2),
        (X, 50, True, 1),
        ({"flag": np.float32(1), "x": X}, 4, False, 3),
        (list(generator()), None, False, 3),
        (generator, None, False, None),
        ("a.npz", 4, False, None),
        # The rows have different lengths, so this is no array.
        ({"x": [[1.0], [1.0, 2.0]]}, None, False, None),
    ],
)
def test_known_counts(data: Any, size: int | None, drop: bool, count: int | None) -> None:
    assert known_count(data, size, drop) == count


def test_known_counts_of_datasets() -> None:
    tf = pytest.importorskip("tensorflow")
    data = tf.data.Dataset.from_tensor_slices(X).batch(4)
    assert known_count(data) == 3
    assert known_count(data.repeat()) is None
    assert known_count(data.filter(lambda x: True)) is None


@pytest.mark.parametrize("data", [None, 3, object()])
def test_unknown_kinds(data: Any) -> None:
    with pytest.raises(CalibrationError, match="None|type"):
        batches(data, ["x"])


def test_unequal_examples() -> None:
    with pytest.raises(CalibrationError, match="different numbers of examples"):
        list(batches({"x": X, "y": Y[:3]}, ["x", "y"], batch_size=2))


def test_other_purposes_have_their_own_error() -> None:
    make: Callable[..., Any] = batches
    with pytest.raises(VerificationError, match="verification batch 1"):
        list(make([object()], ["x"], error=VerificationError, purpose="verification"))
    (batch,) = make([NAN], ["x"], check_finite=False)
    assert np.isnan(batch["x"]).sum() == 1
