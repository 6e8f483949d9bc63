"""VideoDataset.from_table: dictionaries, data frames and CSV files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from small_videos import read_frame, write_small_videos

import tf_nvcodec as nvc

NAMES = ["000.mp4", "001.mp4", "000.mp4"]
COLUMNS = {
    "filename": NAMES,
    "start": [0.2, 0.5, 1.6],
    "end": [0.4, 0.8, None],
    "label": ["run", "jump", "run"],
    "fold": [1, 2, 3],
}
# At ten frames a second, clips of two frames: the frames at which they begin.
FIRST = [[2], [5], [16, 18]]


class Frame:
    """As much of a pandas.DataFrame as is used: columns are no lists, and NaN is no time."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = list(columns)
        self._series = {name: np.array(columns[name]) for name in columns}
        self._series["end"] = np.array(columns["end"], np.float32)  # None becomes NaN

    def __getitem__(self, name: str) -> np.ndarray:
        return self._series[name]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("table")
    (made / "videos").mkdir()
    write_small_videos(made / "videos", 2)
    return made


def write(path: Path, *lines: str, encoding: str = "utf-8") -> str:
    path.write_text("\n".join(lines) + "\n", encoding)
    return str(path)


def csv_file(folder: Path) -> str:
    """As spreadsheets write it: a mark of UTF-8, an empty line, empty cells, quotes."""
    return write(
        folder / "rows.csv",
        "filename, start, end, label, fold, note, weight",
        'videos/000.mp4, 0.2, 0.4, run, 1, "a, b", 1',
        "",
        "videos/001.mp4, 0.5, 0.8, jump, 2, 1_0, 2.5",
        f"{folder}/videos/000.mp4, 1.6, , run, 3, 7, 3",
        encoding="utf-8-sig",
    )


def from_table(table: Any, **arguments: Any) -> nvc.VideoDataset:
    keywords = {"clip_length": 2, "index_cache": False, **arguments}
    return nvc.VideoDataset.from_table(table, **keywords)


TABLES: dict[str, Callable[[Path], nvc.VideoDataset]] = {
    "dictionary": lambda f: from_table(COLUMNS, root=f / "videos"),
    "tuples": lambda f: from_table(
        {name: tuple(column) for name, column in COLUMNS.items()}, root=f / "videos"
    ),
    "data frame": lambda f: from_table(Frame(COLUMNS), root=str(f / "videos")),
    "tensors": lambda f: from_table(
        {
            **{name: tf.constant(COLUMNS[name]) for name in ("filename", "start", "label", "fold")},
            "end": tf.constant([0.4, 0.8, math.inf]),
        },
        root=f / "videos",
    ),
    "csv": lambda f: from_table(csv_file(f)),
    "csv with a root": lambda f: from_table(
        write(
            f / "other.csv",
            "fold,label,end,start,filename",
            "1,run,0.4,0.2,000.mp4",
            "2,jump,0.8,0.5,001.mp4",
            "3,run,nan,1.6,000.mp4",
        ),
        root=f / "videos",
    ),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables(folder: Path, kind: str) -> None:
    dataset = TABLES[kind](folder)
    assert dataset.element_spec["label"] == tf.TensorSpec([], tf.string)
    assert dataset.element_spec["fold"].dtype.is_integer
    firsts: list[list[int]] = [[], [], []]
    for element in dataset.as_numpy_iterator():
        row = int(element["video_index"])
        video, first = read_frame(element["frames"][0])
        firsts[row].append(first)
        assert f"{video:03}.mp4" == NAMES[row]
        assert element["filename"].decode() == f"{folder}/videos/{NAMES[row]}"
        assert element["label"] == COLUMNS["label"][row].encode()
        assert element["fold"] == row + 1
    assert firsts == FIRST


def test_cells_of_a_csv_file_are_numbers_where_all_are(folder: Path) -> None:
    spec = from_table(csv_file(folder)).element_spec
    dtypes = {name: spec[name].dtype for name in ("label", "fold", "note", "weight")}
    assert dtypes == {
        "label": tf.string,
        "fold": tf.int64,
        "note": tf.string,
        "weight": tf.float64,
    }
    elements = list(from_table(csv_file(folder), clips_per_video=1).as_numpy_iterator())
    assert [e["note"] for e in elements] == [b"a, b", b"1_0", b"7"]
    assert [e["weight"] for e in elements] == [1, 2.5, 3]
    whole = write(folder / "numbers.csv", "filename,label", "videos/001.mp4,7")
    (element,) = from_table(whole, sampling="center").as_numpy_iterator()
    assert element["label"] == 7
    assert element["label"].dtype == np.int64


def test_whole_videos_and_one_end(folder: Path) -> None:
    names = [str(folder / "videos" / name) for name in NAMES]
    assert len(list(from_table({"filename": names}))) == 30
    assert len(list(from_table({"filename": names, "end": [0.4, None, 0.2]}))) == 2 + 10 + 1
    assert len(list(from_table({"filename": names, "start": [1.6, math.nan, 1.8]}))) == 2 + 10 + 1


def test_names_of_other_file_systems_stay(folder: Path, tmp_path: Path) -> None:
    tf.io.gfile.makedirs("ram://table")
    tf.io.gfile.copy(str(folder / "videos/001.mp4"), "ram://table/1.mp4", overwrite=True)
    table = write(tmp_path / "a.csv", "filename", "ram://table/1.mp4")
    with tf.io.gfile.GFile("ram://table/b.csv", "w") as file:
        file.write("filename\n1.mp4\n")
    for name in (table, "ram://table/b.csv"):
        (element,) = from_table(name, sampling="start").as_numpy_iterator()
        assert element["filename"] == b"ram://table/1.mp4"


def test_names_that_are_not_utf8(folder: Path, tmp_path: Path) -> None:
    name = b"\xff\xfe.mp4"
    with open(bytes(tmp_path) + b"/" + name, "wb") as file:
        file.write((folder / "videos/000.mp4").read_bytes())
    (tmp_path / "table.csv").write_bytes(b"filename,label\n" + name + b",1\n")
    (element,) = from_table(tmp_path / "table.csv", sampling="start").as_numpy_iterator()
    assert element["filename"] == bytes(tmp_path) + b"/" + name


WRONG: list[tuple[Any, type[Exception], str]] = [
    ({"name": ["a"]}, ValueError, "needs a column 'filename' with a name for each row; its other"),
    ({"filename": "a.mp4", "x": [1]}, ValueError, "needs a column 'filename'"),
    ({"filename": []}, ValueError, "filenames is empty"),
    ({"filename": ["a"], "start": ["1:30"]}, ValueError, "'start' has '1:30' in row 0, of a:"),
    ({"filename": ["a", "b"], "end": [1]}, ValueError, "'end' has shape (1,); there are 2 names"),
    ({"filename": ["a", "b"], "label": [1]}, ValueError, "2 videos, got shape (1,) for 'label'"),
    ({"filename": ["a"], "pts": [1]}, ValueError, "'pts' is a name of VideoDataset's own"),
    ({"filename": ["a", 2.5]}, TypeError, "must be a vector of strings; got float at [1]"),
    (["a.mp4"], TypeError, "columns, a DataFrame or the name of a CSV file; got list"),
    ("none.csv", tf.errors.NotFoundError, "none.csv"),
]


@pytest.mark.parametrize(("table", "kind", "says"), WRONG, ids=[words for _, _, words in WRONG])
def test_refusals(table: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=re.escape(says)):
        nvc.VideoDataset.from_table(table)


def test_refusals_of_csv_files(tmp_path: Path) -> None:
    short = write(tmp_path / "a.csv", "filename,label", '"a\nb",1', "b")
    with pytest.raises(ValueError, match=r"a.csv, line 4, has 1 cells, but the header has 2"):
        nvc.VideoDataset.from_table(short)
    with pytest.raises(ValueError, match="needs a column 'filename'"):
        nvc.VideoDataset.from_table(write(tmp_path / "b.csv"))
    with pytest.raises(ValueError, match="filenames is empty"):
        nvc.VideoDataset.from_table(write(tmp_path / "c.csv", "filename,label"))


def test_an_argument_that_is_a_column_too() -> None:
    with pytest.raises(TypeError, match="labels"):
        nvc.VideoDataset.from_table({"filename": ["a"], "label": [1]}, labels=[2])
