"""What a VideoDataset takes and what it says of its elements before anything is decoded."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from golden_clips import Clips

import tf_nvcodec as nvc

NAMES = ["h264.mp4", "av1_odd.mkv", "one_frame.mp4"]
COUNTS = [6, 2, 1]  # clips of 8 frames


@pytest.fixture(scope="module")
def paths(clips: Clips) -> list[str]:
    return [str(clips.path(name)) for name in NAMES]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_NVCODEC_INDEX_CACHE", str(tmp_path / "index"))


SPECS: list[tuple[dict[str, Any], list[int | None], tf.DType]] = [
    ({}, [5, None, None, 3], tf.uint8),
    ({"pixel_format": "bgr"}, [5, None, None, 3], tf.uint8),
    ({"pixel_format": "gray"}, [5, None, None, 1], tf.uint8),
    ({"layout": "tchw"}, [5, 3, None, None], tf.uint8),
    ({"layout": "tchw", "pixel_format": "gray", "size": (2, 4)}, [5, 1, 2, 4], tf.uint8),
    ({"size": (20, 30)}, [5, 20, 30, 3], tf.uint8),
    ({"size": np.array([20, 30])}, [5, 20, 30, 3], tf.uint8),
    ({"size": tf.constant([20, 30])}, [5, 20, 30, 3], tf.uint8),
    ({"size": (20, 30), "layout": "tchw", "dtype": tf.float16}, [5, 3, 20, 30], tf.float16),
    ({"crop": (1, 2, 20, 30), "dtype": "uint16"}, [5, 20, 30, 3], tf.uint16),
    ({"crop": (1, 2, 20, 30), "size": (4, 6), "dtype": "float32"}, [5, 4, 6, 3], tf.float32),
    ({"pixel_format": "native"}, [5, None], tf.uint8),
    ({"pixel_format": "nv12", "size": (20, 30)}, [5, 900], tf.uint8),
    ({"pixel_format": "yuv444p", "crop": (2, 2, 20, 30)}, [5, 1800], tf.uint8),
]


@pytest.mark.parametrize(("options", "shape", "dtype"), SPECS, ids=str)
def test_element_spec(
    paths: list[str], options: dict[str, Any], shape: list[int | None], dtype: tf.DType
) -> None:
    dataset = nvc.VideoDataset(paths[:1], 5, **options)
    scalar = tf.TensorSpec([], tf.int64)
    assert dataset.element_spec == {
        "frames": tf.TensorSpec(shape, dtype),
        "pts": tf.TensorSpec([5], tf.float64),
        "mask": tf.TensorSpec([5], tf.bool),
        "video_index": scalar,
        "clip_index": scalar,
        "filename": tf.TensorSpec([], tf.string),
    }
    element = next(iter(dataset))
    for name, spec in dataset.element_spec.items():
        assert spec.is_compatible_with(element[name]), name


def test_element_spec_of_what_is_passed_through(paths: list[str]) -> None:
    dataset = nvc.VideoDataset(
        paths, labels=np.zeros([3, 7], np.float32), aligned={"n": ({"a": [1, 2, 3]}, ["x"] * 3)}
    )
    assert dataset.element_spec["label"] == tf.TensorSpec([7], tf.float32)
    assert dataset.element_spec["n"] == (
        {"a": tf.TensorSpec([], tf.int32)},
        tf.TensorSpec([], tf.string),
    )


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({}, [5, None, None, 3]),
        ({"layout": "tchw", "pixel_format": "gray"}, [5, 1, None, None]),
        ({"pixel_format": "nv12"}, [5, None]),
    ],
    ids=str,
)
def test_a_size_known_later(paths: list[str], options: dict[str, Any], want: list[Any]) -> None:
    """A tensor of a function's argument."""
    specs = []

    @tf.function(input_signature=[tf.TensorSpec([2], tf.int32)])
    def count_pixels(size: tf.Tensor) -> tf.Tensor:
        dataset = nvc.VideoDataset(paths[:1], 5, size=size, **options)
        specs.append(dataset.element_spec["frames"])
        total = tf.constant(0, tf.int64)
        for element in dataset:
            total += tf.size(element["frames"], tf.int64)
        return total

    channels = {"nv12": 1.5, "gray": 1}.get(options.get("pixel_format", ""), 3)
    assert int(count_pixels(tf.constant([16, 32]))) == 9 * 5 * 16 * 32 * channels
    assert specs[0].shape.as_list() == want


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"filenames": None}, "exactly one of filenames and contents"),
    ({"contents": [b"x"]}, "exactly one of filenames and contents"),
    ({"filenames": []}, "filenames is empty.*at least one"),
    ({"filenames": None, "contents": []}, "contents is empty"),
    ({"filenames": None, "contents": b"x"}, "contents is a list.*pass \\[contents\\] for one"),
    ({"filenames": "/nowhere/*.mp4"}, "no file matches '/nowhere/"),
    ({"filenames": np.array([["a"]])}, r"filenames must be a vector.*\(1, 1\)"),
    ({"clip_length": 0}, "clip_length must be at least 1, got 0"),
    ({"clip_length": -4}, "clip_length must be at least 1, got -4"),
    ({"clip_length": 2.5}, "clip_length must be an integer, got 2.5"),
    ({"clip_length": True}, "clip_length must be an integer, got True"),
    ({"clip_length": 1 << 40}, "clip_length.*at most 1073741824"),
    ({"stride": 0}, "stride must be at least 1, got 0"),
    ({"stride": -1}, "stride must be at least 1, got -1"),
    ({"stride": 0.0}, "stride must be a positive number, got 0.0"),
    ({"stride": float("nan")}, "stride must be a positive number, got nan"),
    ({"stride": "2"}, "stride must be an integer, got '2'"),
    ({"fps": 0}, "fps must be a positive number, got 0"),
    ({"fps": float("inf")}, "fps must be a positive number, got inf"),
    ({"fps": 1e9}, "time between frames must be at least 1e-06 s"),
    ({"fps": 5, "stride": 0.5}, "stride=0.5 s and fps=5 both set"),
    ({"clip_step": 0}, "clip_step must be at least 1, got 0"),
    ({"clip_step": 2.0}, "clip_step must be an integer, got 2.0"),
    ({"clip_step": 4, "clips_per_video": 2}, "clip_step and clips_per_video.*pass one"),
    ({"clip_step": 4, "clip_at": [0.0]}, "clip_step and clip_at.*pass one"),
    ({"sampling": "uniform", "clip_at": [0.0]}, "clip_at and clips_per_video.*pass one"),
    ({"clips_per_video": 0}, "clips_per_video must be at least 1, got 0"),
    ({"clips_per_video": 1.5}, "clips_per_video must be an integer, got 1.5"),
    ({"clips_per_video": 2, "sampling": "center"}, 'clips_per_video is 2; use sampling="uniform'),
    ({"sampling": "middle"}, "sampling is 'middle'.*uniform, random, center, start"),
    ({"pad": "mirror"}, 'pad must be "drop", "zero", "repeat" or "wrap"; got "mirror"'),
    ({"clip_at": 0.5}, r"clip_at is a list of seconds.*got shape \(\)"),
    ({"clip_at": [[[0.0]]]}, "clip_at is a list of seconds.*got shape"),
    ({"clip_at": [[0.0], [0.0]]}, "clip_at has a row for each of 2 videos, but there are 3"),
    ({"labels": [1]}, r"labels and aligned.*each of the 3 videos, got shape \(1,\)"),
    ({"labels": 3}, r"labels and aligned.*each of the 3 videos, got shape \(\)"),
    ({"aligned": {"x": {"y": [1, 2]}}}, "labels and aligned.*each of the 3 videos"),
    ({"aligned": {"pts": [1, 2, 3]}}, "'pts' is a name of VideoDataset's own.*another one"),
    ({"labels": [1, 2, 3], "aligned": {"label": [1, 2, 3]}}, "'label' is passed through twice"),
    ({"size": (0, 5)}, r"size must be \(height, width\), both positive, got \(0, 5\)"),
    ({"size": (-1, 5)}, "size must not be negative, got -1"),
    ({"pixel_format": "cmyk"}, 'pixel_format must be "native", "rgb", .*; got "cmyk"'),
    ({"layout": "thcw"}, 'layout must be "thwc" or "tchw"; got "thcw"'),
    ({"dtype": tf.int32}, "dtype must be uint8, uint16, float16 or float32; got int32"),
    ({"mean": 0.5}, "mean and std need dtype float16 or float32; got dtype uint8"),
    ({"num_parallel_calls": 0}, "num_parallel_calls must be at least 1.*AUTOTUNE, got 0"),
    ({"num_parallel_calls": -5}, "num_parallel_calls must be at least 1.*AUTOTUNE, got -5"),
    ({"shuffle": True, "shuffle_group": 0}, "shuffle_group must be at least 1, got 0"),
    ({"on_error": "ignore"}, 'on_error must be "raise", "skip" or "repeat"; got "ignore"'),
    ({"max_pixels": -1}, "max_pixels must be at least 0, got -1"),
    ({"backend": "tpu"}, 'backend must be "auto", "cpu" or "nvdec"; got "tpu"'),
    ({"bogus": 1}, "unknown keyword 'bogus'; the keywords are: filenames, .*, crop, "),
    ({"return_valid": True}, "unknown keyword 'return_valid'"),
    ({"filenames": None, "contents": [b"x"], "build_index": True}, "build_index=True takes file"),
    ({"clip_at": []}, "clip_at is empty"),
    ({"deterministic": "no"}, "deterministic must be True, False or None, got 'no'"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=lambda value: str(value)[:60])
def test_wrong_arguments(paths: list[str], arguments: dict[str, Any], message: str) -> None:
    """The message names the argument and, where there is something to choose, the choices."""
    with pytest.raises((ValueError, TypeError, tf.errors.InvalidArgumentError)) as caught:
        nvc.VideoDataset(**{"filenames": paths, **arguments})
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)


def of(elements: Any) -> tf.data.Dataset:
    return tf.data.Dataset.from_tensors(elements)


WRONG_DATASETS: list[tuple[str, Callable[[], tf.data.Dataset], dict[str, Any], str]] = [
    ("filenames", lambda: of("a").repeat(), {}, "infinite; repeat the VideoDataset instead"),
    ("filenames", lambda: of("a").take(0), {}, "the dataset of filenames is empty"),
    (
        "filenames",
        lambda: tf.data.Dataset.range(3),
        {},
        "filenames .* strings; got a tensor of int64",
    ),
    ("filenames", lambda: of(tf.constant(["a"])), {}, "filenames must be a vector"),
    ("filenames", lambda: of(("a", 1, 2)), {}, r"strings, pairs \(string, label\) or dict"),
    ("filenames", lambda: of({"file": "a"}), {}, "dictionaries with 'filename'"),
    ("filenames", lambda: of({"filename": "a", "pts": 1}), {}, "'pts' is a name of"),
    ("filenames", lambda: of(("a", 1)), {"labels": [1]}, "'label' is passed through twice"),
    ("contents", lambda: of({"filename": "a"}), {}, "dictionaries with 'contents'"),
    ("contents", lambda: of({"contents": "a", "mask": 1}), {}, "'mask' is a name of"),
    ("contents", lambda: of("a"), {"shuffle": True}, "shuffle the dataset of contents instead"),
    ("contents", lambda: of("a"), {"labels": [1]}, "labels and aligned belong into"),
]


@pytest.mark.parametrize(("what", "make", "arguments", "message"), WRONG_DATASETS)
def test_wrong_datasets(
    what: str, make: Callable[[], tf.data.Dataset], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, TypeError, tf.errors.InvalidArgumentError)) as caught:
        nvc.VideoDataset(**{what: make(), **arguments})
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)


UNKNOWN = tf.data.UNKNOWN_CARDINALITY
CARDINALITIES: list[tuple[dict[str, Any], int]] = [
    ({}, UNKNOWN),
    ({"build_index": True}, 9),
    ({"build_index": True, "pad": "drop"}, 8),
    ({"build_index": True, "clip_step": 1}, 41 + 13 + 1),
    ({"build_index": True, "fps": 50}, 12 + 5 + 1),
    ({"build_index": True, "stride": 3}, 2 + 1 + 1),
    ({"build_index": True, "on_error": "skip"}, UNKNOWN),
    ({"clips_per_video": 4}, 12),
    ({"clips_per_video": 4, "on_error": "repeat"}, UNKNOWN),
    ({"clips_per_video": 4, "pad": "drop"}, UNKNOWN),
    ({"clips_per_video": 4, "pad": "drop", "build_index": True}, 8),
    ({"sampling": "center"}, 3),
    ({"sampling": "random", "shuffle": True}, 3),
    ({"clip_at": [0.0, 0.0]}, 6),
    ({"clip_at": [0.0], "build_index": True}, 3),
    ({"clip_at": [[0.0, 0.1], [], [0.0]]}, 3),
    ({"clip_at": [[0.0, 0.1], [], [0.0]], "pad": "drop"}, UNKNOWN),
    ({"clip_at": [0.0], "pad": "drop"}, UNKNOWN),
]
REAL = {  # Where the cardinality is unknown.
    "{}": 9,
    "{'build_index': True, 'on_error': 'skip'}": 9,
    "{'clips_per_video': 4, 'on_error': 'repeat'}": 12,
    "{'clips_per_video': 4, 'pad': 'drop'}": 8,
    "{'clip_at': [[0.0, 0.1], [], [0.0]], 'pad': 'drop'}": 2,
    "{'clip_at': [0.0], 'pad': 'drop'}": 2,
}


@pytest.mark.parametrize(("arguments", "want"), CARDINALITIES, ids=str)
def test_cardinality(paths: list[str], arguments: dict[str, Any], want: int) -> None:
    dataset = nvc.VideoDataset(paths, 8, size=(8, 8), **arguments)
    assert dataset.cardinality() == want
    known = want != UNKNOWN
    assert dataset.repeat(2).cardinality() == (2 * want if known else UNKNOWN)
    if known:
        assert dataset.repeat().cardinality() == tf.data.INFINITE_CARDINALITY
        assert sum(int(dataset.shard(4, i).cardinality()) for i in range(4)) == want
        assert dataset.batch(2).cardinality() == (want + 1) // 2
    elements = list(dataset)
    assert len(elements) == (want if known else REAL[str(arguments)])
    # skip() leaves out the right clips, although it does not decode them.
    left = [int(e["video_index"]) for e in dataset.skip(2)]
    if "random" not in arguments.values():
        assert left == [int(e["video_index"]) for e in elements[2:]]


def test_padded_and_ragged_batches(clips: Clips) -> None:
    names = ["h264.mp4", "av1_odd.mkv", "h264_rotate_90.mp4"]
    dataset = nvc.VideoDataset(
        [str(clips.path(name)) for name in names], 4, sampling="start", labels=["a", "b", "c"]
    )
    single = list(dataset.as_numpy_iterator())
    shapes = [element["frames"].shape for element in single]
    assert len(set(shapes)) == 3
    largest = tuple(max(dimensions) for dimensions in zip(*shapes))
    (padded,) = dataset.padded_batch(3)
    assert padded["frames"].shape == (3, *largest)
    (ragged,) = dataset.ragged_batch(3)
    for i, element in enumerate(single):
        frames, (_, height, width, _) = element["frames"], shapes[i]
        np.testing.assert_array_equal(padded["frames"][i, :, :height, :width], frames)
        assert not padded["frames"][i, :, height:].numpy().any()
        assert not padded["frames"][i, :, :, width:].numpy().any()
        np.testing.assert_array_equal(ragged["frames"][i].to_tensor(), frames)
        for name in ("pts", "mask", "video_index", "clip_index", "filename", "label"):
            np.testing.assert_array_equal(padded[name][i], element[name])
            row = ragged[name][i]
            row = row.to_tensor() if isinstance(row, tf.RaggedTensor) else row
            np.testing.assert_array_equal(row, element[name])


@pytest.fixture(scope="module")
def folder(paths: list[str], tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The videos as 0.mp4, 1.mp4, 2.mp4, and a file that is none."""
    folder = tmp_path_factory.mktemp("sources")
    for i, path in enumerate(paths):
        (folder / f"{i}.mp4").write_bytes(pathlib.Path(path).read_bytes())
    (folder / "notes.txt").write_text("not a video")
    return folder


def names_of(folder: pathlib.Path) -> list[str]:
    return [str(folder / f"{i}.mp4") for i in range(3)]


FILE_SOURCES: dict[str, Callable[[pathlib.Path], Any]] = {
    "list": names_of,
    "tuple": lambda f: tuple(names_of(f)),
    "bytes": lambda f: [name.encode() for name in names_of(f)],
    "paths": lambda f: [pathlib.Path(name) for name in names_of(f)],
    "generator": lambda f: (name for name in names_of(f)),
    "array": lambda f: np.array(names_of(f)),
    "array of objects": lambda f: np.array(names_of(f), object),
    "tensor": lambda f: tf.constant(names_of(f)),
    "glob": lambda f: str(f / "*.mp4"),
    "glob of bytes": lambda f: str(f / "*.mp4").encode(),
    "glob of a path": lambda f: f / "[0-9].mp4",
    "dataset": lambda f: tf.data.Dataset.from_tensor_slices(names_of(f)),
    "list_files": lambda f: tf.data.Dataset.list_files(str(f / "*.mp4"), shuffle=False),
    "pairs": lambda f: tf.data.Dataset.from_tensor_slices((names_of(f), [5, 6, 7])),
    "dictionaries": lambda f: tf.data.Dataset.from_tensor_slices(
        {"filename": names_of(f), "label": [5, 6, 7], "more": {"x": [1.0, 2.0, 3.0]}}
    ),
}


def labels_for(kind: str) -> dict[str, Any]:
    return {} if kind in ("pairs", "dictionaries") else {"labels": [5, 6, 7]}


@pytest.mark.parametrize("kind", FILE_SOURCES)
def test_file_sources(folder: pathlib.Path, kind: str) -> None:
    dataset = nvc.VideoDataset(FILE_SOURCES[kind](folder), 8, size=(8, 8), **labels_for(kind))
    elements = list(dataset.as_numpy_iterator())
    assert [int(e["video_index"]) for e in elements] == [0] * 6 + [1] * 2 + [2]
    assert [int(e["label"]) for e in elements] == [5] * 6 + [6] * 2 + [7]
    names = names_of(folder)
    assert [e["filename"].decode() for e in elements] == [names[0]] * 6 + [names[1]] * 2 + names[2:]
    if kind == "dictionaries":
        assert [float(e["more"]["x"]) for e in elements] == [1.0] * 6 + [2.0] * 2 + [3.0]


@pytest.mark.parametrize("name", [str, str.encode, pathlib.Path], ids=["str", "bytes", "path"])
def test_one_file(folder: pathlib.Path, name: Callable[[str], Any]) -> None:
    dataset = nvc.VideoDataset(name(str(folder / "0.mp4")), 8, size=(8, 8))
    assert len(list(dataset)) == 6


@pytest.mark.parametrize("name", [b"a b.mp4", b"a[1].mp4", b"\xff\xfe.mp4", b"new\nline?.mp4"])
def test_names_that_nobody_should_give(folder: pathlib.Path, tmp_path: Any, name: bytes) -> None:
    path = os.fsencode(tmp_path) + b"/" + name
    with open(path, "wb") as file:
        file.write((folder / "2.mp4").read_bytes())
    for given in ([path], path, tf.constant([path])):
        (element,) = nvc.VideoDataset(given, 8).as_numpy_iterator()
        assert element["filename"] == path


def data_of(folder: pathlib.Path) -> list[bytes]:
    return [(folder / f"{i}.mp4").read_bytes() for i in range(3)]


BYTES_SOURCES: dict[str, Callable[[pathlib.Path], Any]] = {
    "list": data_of,
    "tensor": lambda f: tf.constant(data_of(f)),
    "dataset": lambda f: tf.data.Dataset.from_tensor_slices(names_of(f)).map(tf.io.read_file),
    "pairs": lambda f: tf.data.Dataset.from_tensor_slices((data_of(f), [5, 6, 7])),
    "dictionaries": lambda f: tf.data.Dataset.from_tensor_slices(
        {"contents": data_of(f), "label": [5, 6, 7], "more": ([1.0, 2.0, 3.0], ["a", "b", "c"])}
    ),
}


@pytest.mark.parametrize("kind", BYTES_SOURCES)
def test_bytes_sources(folder: pathlib.Path, kind: str) -> None:
    labels = labels_for(kind) if kind in ("list", "tensor") else {}
    dataset = nvc.VideoDataset(contents=BYTES_SOURCES[kind](folder), clip_length=8, **labels)
    elements = list(dataset.as_numpy_iterator())
    files = list(nvc.VideoDataset(names_of(folder), 8).as_numpy_iterator())
    assert len(elements) == len(files) == 9
    for element, want in zip(elements, files):
        for name in ("frames", "pts", "mask", "video_index", "clip_index"):
            np.testing.assert_array_equal(element[name], want[name])
        assert element["filename"] == b""
        if kind != "dataset":
            assert element["label"] == 5 + element["video_index"]
        if kind == "dictionaries":
            assert element["more"][0] == 1 + element["video_index"]
            assert element["more"][1] == b"abc"[element["video_index"] :][:1]


def test_a_dataset_of_bytes_is_worked_through_as_it_comes(folder: pathlib.Path) -> None:
    """It can be endless, since it is not read ahead of its use."""
    endless = tf.data.Dataset.from_tensor_slices(data_of(folder)).repeat()
    dataset = nvc.VideoDataset(contents=endless, clip_length=8, sampling="start", size=(8, 8))
    assert [int(e["video_index"]) for e in dataset.take(7)] == list(range(7))
