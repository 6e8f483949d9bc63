"""What VideoDataset takes for videos, labels and aligned. Names may hold any bytes."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from small_videos import small_video

import tf_nvcodec as nvc

NAMES = (b"a.mp4", "\u00e9.mp4".encode(), b"\xff\xfe bad.mp4")


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    for i, name in enumerate(NAMES):
        with open(os.fsencode(tmp_path) + b"/" + name, "wb") as file:
            file.write(small_video(i))
    return tmp_path


def names_in(folder: pathlib.Path) -> list[bytes]:
    return [os.fsencode(folder) + b"/" + name for name in NAMES]


def found(dataset: tf.data.Dataset) -> list[bytes]:
    return [e["filename"] for e in dataset.as_numpy_iterator()]


def first_clips(filenames: Any, **arguments: Any) -> nvc.VideoDataset:
    return nvc.VideoDataset(
        filenames, 2, sampling="start", size=(8, 8), index_cache=False, **arguments
    )


GIVEN: dict[str, Callable[[pathlib.Path], Any]] = {
    "pattern": lambda f: str(f / "*.mp4"),
    "pattern of bytes": lambda f: os.fsencode(f / "*.mp4"),
    "pattern of a path": lambda f: f / "*.mp4",
    "paths": lambda f: sorted(f.iterdir(), key=os.fsencode),
    "strings": lambda f: sorted(map(str, f.iterdir()), key=os.fsencode),
    "bytes": names_in,
}


@pytest.mark.parametrize("kind", GIVEN)
def test_names_that_are_not_utf8(folder: pathlib.Path, kind: str) -> None:
    assert found(first_clips(GIVEN[kind](folder))) == names_in(folder)


def test_one_name_that_is_not_utf8(folder: pathlib.Path) -> None:
    last = names_in(folder)[-1]
    assert found(first_clips(os.fsdecode(last))) == [last]
    assert found(first_clips(os.fsdecode(last[:-8]) + "*.mp4")) == [last]


def test_a_pattern_in_a_function(folder: pathlib.Path) -> None:
    once = tf.data.Dataset.range(1).flat_map(lambda _: first_clips(str(folder / "*.mp4")))
    assert found(once) == names_in(folder)


def test_a_pattern_in_a_graph_of_tensorflow_1(folder: pathlib.Path) -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        dataset = first_clips(str(folder / "[a\u00e9].mp4"))
        following = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
        names = [session.run(following)["filename"] for _ in range(2)]
    assert names == names_in(folder)[:2]


def test_broken_files_with_such_names_are_told(folder: pathlib.Path) -> None:
    last = names_in(folder)[-1]
    with open(last, "wb") as file:
        file.write(b"no video")
    skipping = first_clips([last], on_error="skip")
    assert found(skipping) == []
    assert r"\xff\xfe bad.mp4" in skipping.statistics().messages[0]
    with pytest.raises(ValueError, match=r"\\xff\\xfe bad.mp4: index: INVALID_ARGUMENT"):
        first_clips([last], build_index=True)
    told = r"\\xff\\xfe bad.mp4, clip 0: content"
    with pytest.raises(tf.errors.InvalidArgumentError, match=told):
        found(first_clips([last]))
    os.unlink(last)
    with pytest.raises(tf.errors.NotFoundError, match=r"\\xff\\xfe bad.mp4; No such file"):
        found(first_clips([last]))


def test_a_folder_that_may_not_be_read(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=r"no file matches '.*/\*.mp4'$"):
        first_clips(str(tmp_path / "*.mp4"))
    monkeypatch.setattr(os, "access", lambda *_: False)  # The tests may run as root.
    with pytest.raises(ValueError, match=f"no permission to read the folder {tmp_path}$"):
        first_clips(str(tmp_path / "*.mp4"))


SPARSE = tf.sparse.from_dense([[1, 0], [0, 2]])
RAGGED = tf.ragged.constant([[1], [2, 3]])
LISTS = [[1], [2, 3]]
PAD = r"pad it \(x.to_tensor\(\)\), or pass row numbers and look them up in a map"


def rows(value: Any) -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices((["a", "b"], value))


WRONG: list[tuple[Callable[[], dict[str, Any]], type[Exception], str]] = [
    (lambda: {"labels": LISTS}, ValueError, "labels has rows of several lengths: pad them"),
    (lambda: {"labels": RAGGED}, ValueError, f"labels is a RaggedTensor.*{PAD}"),
    (lambda: {"labels": SPARSE}, ValueError, "labels is a SparseTensor.*to_dense"),
    (lambda: {"labels": (1, LISTS)}, ValueError, r"labels\[1\] has rows of several lengths"),
    (lambda: {"labels": [None, 1]}, ValueError, "labels can't be a tensor: "),
    (lambda: {"aligned": {"x": LISTS}}, ValueError, r"aligned\['x'\] has rows of several"),
    (lambda: {"aligned": {"x": {"y": SPARSE}}}, ValueError, r"aligned\['x'\]\['y'\] is a Sparse"),
    (lambda: {"aligned": {3: [1, 2]}}, TypeError, "aligned has the name 3; names must be strings"),
    (lambda: {"aligned": [1, 2]}, TypeError, "aligned must be a dictionary .*; got list"),
    (lambda: {"labels": [1, 2, 3]}, ValueError, r"of the 2 videos, got shape \(3,\) for 'label'"),
    (lambda: {"filenames": rows(RAGGED)}, ValueError, f"'label' of the dataset of file.*{PAD}"),
    (lambda: {"filenames": rows(SPARSE)}, ValueError, "'label' of the dataset .* SparseTensor"),
    (
        lambda: {"filenames": None, "contents": rows(RAGGED)},
        ValueError,
        f"'label' of the dataset of contents is a RaggedTensor.*{PAD}",
    ),
    (lambda: {"filenames": 5}, TypeError, "filenames must be a vector of strings; got int"),
    (lambda: {"filenames": ["a\0b"]}, ValueError, r"filenames\[0\] holds a zero byte"),
]


@pytest.mark.parametrize(("make", "kind", "says"), WRONG, ids=[words for _, _, words in WRONG])
def test_refusals_name_the_argument(
    make: Callable[[], dict[str, Any]], kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind) as caught:
        nvc.VideoDataset(**{"filenames": ["a", "b"], **make()})
    assert re.match(f".*{says}", str(caught.value)), str(caught.value)
    assert len(str(caught.value)) < 300


def first_clip(name: pathlib.Path | str) -> object:
    return next(iter(nvc.VideoDataset([str(name)])))


def test_an_empty_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "empty.mp4"
    path.touch()
    words = r"empty\.mp4, clip 0: the file is empty \(0 bytes\): was it written or downloaded"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        first_clip(path)


def test_a_pipe_that_nobody_writes_to(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "pipe.mp4"
    os.mkfifo(path)
    words = r"pipe\.mp4, clip 0: is a pipe or a device"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        first_clip(path)
    skipped = nvc.VideoDataset([str(path)], on_error="skip")
    assert list(skipped) == []


def test_a_device_without_an_end() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="is a pipe or a device"):
        first_clip("/dev/zero")


def test_an_empty_name() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="the file's name is empty"):
        first_clip("")
