"""Datasets as Keras takes them: pairs, and folders as keras.utils.image_dataset_from_directory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from encoded import FAST
from small_videos import read_frame, write_small_videos

import tf_nvcodec as nvc

keras = tf.keras

CLASSES = {"run": 4, "jump": 3, "walk": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Videos and, for Keras, pictures of the same names: in depth, beside other files, behind
    links, and some that do not count."""
    made = tmp_path_factory.mktemp("classes")
    (pool := made.parent / "pool").mkdir(exist_ok=True)
    videos = iter(write_small_videos(pool, 12))
    picture = tf.io.encode_png(tf.zeros([2, 2, 3], tf.uint8)).numpy()

    def put(stem: str) -> None:
        path = made / stem
        path.parent.mkdir(parents=True, exist_ok=True)
        os.link(next(videos), path.with_suffix(".MP4" if "2" in stem else ".mp4"))
        path.with_suffix(".png").write_bytes(picture)

    for name, count in CLASSES.items():
        for i in range(count):
            put(f"{name}/deep/{i}" if i % 2 else f"{name}/{i}")
    put("at_the_top")
    put(".hidden/0")
    put("../linked/0")
    (made / "walk" / "link").symlink_to(made.parent / "linked")
    (made / "walk" / "notes.txt").write_text("nothing")
    return made


def made_by_both(folder: Path, **arguments: Any) -> tuple[Any, Any]:
    mine = nvc.video_dataset_from_directory(
        folder, clip_length=2, size=(8, 8), index_cache=False, **arguments
    )
    keras_own = keras.utils.image_dataset_from_directory(
        str(folder), image_size=(8, 8), **arguments
    )
    return mine, keras_own


def stems(paths: list[str]) -> list[str]:
    return [os.path.splitext(path)[0] for path in paths]


ARGUMENTS: list[dict[str, Any]] = [
    {"shuffle": False},
    {"shuffle": False, "label_mode": "categorical"},
    {"shuffle": False, "label_mode": "binary", "class_names": ["walk", "run"]},
    {"shuffle": False, "label_mode": None},
    {"shuffle": False, "labels": None},
    {"shuffle": False, "labels": [i % 4 for i in range(11)], "label_mode": "categorical"},
    {"shuffle": False, "class_names": ["walk", "run", "jump"], "follow_links": True},
    {"shuffle": False, "validation_split": 0.25, "subset": "training"},
    {"shuffle": False, "validation_split": 0.25, "subset": "validation"},
    {"shuffle": False, "batch_size": None},
]  # fmt: skip


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_a_folder_is_read_as_keras_reads_it(
    folder: Path, arguments: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    mine, other = made_by_both(folder, **{"batch_size": 4, **arguments})
    said = capsys.readouterr().out.splitlines()
    assert said[: len(said) // 2] == said[len(said) // 2 :]
    assert said
    assert mine.class_names == other.class_names
    assert stems(mine.file_paths) == stems(other.file_paths)
    labelled = isinstance(other.element_spec, tuple)
    assert isinstance(mine.element_spec, tuple) == labelled
    assert len(list(mine)) == len(list(other))
    for ours, theirs in zip(mine, other):
        frames, pictures = (ours[0], theirs[0]) if labelled else (ours, theirs)
        shape = pictures.shape.as_list()
        assert frames.shape == [*shape[:-3], 2, *shape[-3:]]
        if labelled:
            assert ours[1].dtype == theirs[1].dtype
            assert ours[1].shape == theirs[1].shape
            assert ours[1].numpy().tolist() == theirs[1].numpy().tolist()


@pytest.mark.parametrize("subset", ["training", "validation"])
def test_a_seed_splits_as_in_keras(folder: Path, subset: str) -> None:
    mine, other = made_by_both(folder, validation_split=0.3, subset=subset, seed=123, batch_size=2)
    assert stems(mine.file_paths) == stems(other.file_paths)
    names = [os.path.relpath(path, folder).split(os.sep)[0] for path in mine.file_paths]
    labels = sorted(int(label) for _, batch in mine for label in batch)
    assert labels == sorted(sorted(CLASSES).index(name) for name in names)


def test_both_parts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, other = made_by_both(folder, validation_split=0.3, subset="both", seed=5, batch_size=2)
    said = capsys.readouterr().out.splitlines()
    assert said == [
        *2 * ["Found 9 files belonging to 3 classes.", "Using 7 files for training.",
              "Using 2 files for validation."]
    ]  # fmt: skip
    for ours, theirs in zip(mine, other):
        assert stems(ours.file_paths) == stems(theirs.file_paths)
    training, validation = mine
    seen = [[label.tolist() for _, label in training.as_numpy_iterator()] for _ in range(4)]
    assert len({str(epoch) for epoch in seen}) > 1
    names = [os.path.relpath(path, folder).split(os.sep)[0] for path in validation.file_paths]
    (labels,) = [label.tolist() for _, label in validation.as_numpy_iterator()]
    assert labels == [sorted(CLASSES).index(name) for name in names]


def test_arguments_of_the_dataset(folder: Path) -> None:
    batches = nvc.video_dataset_from_directory(
        folder, clip_length=5, clip_step=5, dtype=tf.float32, layout="tchw", verbose=False
    )
    shape = [None, 5, 3, 256, 256]
    assert batches.element_spec[0] == tf.TensorSpec(shape, tf.float32)
    assert sum(len(label) for _, label in batches) == 9 * 4
    assert batches.statistics().clips == 9 * 4


def places(batches: tf.data.Dataset) -> set[int]:
    """Returns the frames at which clips begin."""
    return {read_frame(clip[0])[1] for frames, _ in batches.as_numpy_iterator() for clip in frames}


def test_an_epoch_has_a_clip_of_each_video(folder: Path) -> None:
    """At random places in training, in the middle in validation."""
    keywords = {"clip_length": 2, "size": (64, 64), "batch_size": 2, "verbose": False, "seed": 3}
    for subset in ("training", "validation"):
        part = nvc.video_dataset_from_directory(
            folder, validation_split=0.3, subset=subset, **keywords
        )
        assert len(part) == {"training": 4, "validation": 1}[subset]
        seen = [places(part) for _ in range(3)]
        if subset == "training":
            assert len(seen[0]) > 1
            assert seen[0] != seen[1]
        else:
            assert seen == 3 * [{9}]
    assert places(nvc.video_dataset_from_directory(folder, shuffle=False, **keywords)) == {9}
    given = nvc.video_dataset_from_directory(folder, clip_at=[0.3], **keywords)
    assert places(given) == {3}


def test_both_parts_augment_training_only(folder: Path) -> None:
    keywords = {"clip_length": 2, "size": (32, 32), "sampling": "start", "batch_size": None}
    keywords |= {"validation_split": 0.3, "subset": "both", "seed": 3, "verbose": False}
    plain = nvc.video_dataset_from_directory(folder, **keywords)
    mirrored = nvc.video_dataset_from_directory(folder, flip=1.0, **keywords)
    for part, turned in zip(plain, (True, False)):
        shown = {f[:, :, :: -1 if turned else 1].tobytes() for f, _ in part.as_numpy_iterator()}
        seen = mirrored[0 if turned else 1].as_numpy_iterator()
        assert shown == {f.tobytes() for f, _ in seen}


def test_a_folder_of_a_remote_file_system(folder: Path) -> None:
    for path in folder.glob("*/*.mp4"):
        target = f"ram://{path.relative_to(folder.parent)}"
        tf.io.gfile.makedirs(os.path.dirname(target))
        tf.io.gfile.copy(str(path), target)
    read = nvc.video_dataset_from_directory(
        f"ram://{folder.name}", clip_length=2, sampling="start", shuffle=False, verbose=False
    )
    assert read.class_names == sorted(CLASSES)
    expected = sorted(map(str, folder.glob("[a-z]*/*.mp4")))
    assert read.file_paths == [name.replace(f"{folder.parent}/", "ram://") for name in expected]
    assert sum(len(label) for _, label in read) == len(expected)


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"label_mode": "one_hot"}, ValueError, 'must be one of: "int", "categorical", "binary", None'),
    ({"label_mode": "binary"}, ValueError, "binary\" takes two classes; there are 3: ['jump', "),
    ({"class_names": ["run", "fly"]}, ValueError, "class_names has ['fly'], but the subfolders of"),
    ({"class_names": ["a"], "labels": None}, ValueError, "class_names are the names of subfolders"),
    ({"labels": [1, 2]}, ValueError, "an integer for each of the 11 videos in"),
    ({"labels": "infer"}, ValueError, "got 'infer'"),
    ({"subset": "training"}, ValueError, "validation_split and subset go together"),
    ({"validation_split": 0.5}, ValueError, "validation_split and subset go together"),
    ({"validation_split": 1.5, "subset": "both"}, ValueError, "between 0 and 1, got 1.5"),
    ({"validation_split": 0.5, "subset": "test"}, ValueError, "subset is 'test'"),
    ({"validation_split": 0.5, "subset": "both"}, ValueError, "needs a seed"),
    ({"validation_split": 0.01, "subset": "both", "seed": 1}, ValueError, "leaves none for"),
    ({"segments": [(0, 1)]}, TypeError, "pass it to VideoDataset.from_table"),
    ({"clip_at": [[0.0], [0.1, 0.2]]}, TypeError, "clip_at must be a list of seconds, the same"),
    ({"color_mode": "rgb"}, TypeError, "unknown keyword 'color_mode'"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "kind", "says"), WRONG, ids=str)
def test_refusals(
    folder: Path, arguments: dict[str, Any], kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=re.escape(says)):
        nvc.video_dataset_from_directory(folder, **arguments)


def test_a_folder_without_videos(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"no video .* is in {tmp_path}'s subfolders.*labels=None"):
        nvc.video_dataset_from_directory(tmp_path)
    with pytest.raises(ValueError, match=f"no video .* is in {tmp_path}$"):
        nvc.video_dataset_from_directory(tmp_path, labels=None)
    with pytest.raises(FileNotFoundError):
        nvc.video_dataset_from_directory(tmp_path / "none")


SOURCES: dict[str, Callable[[list[str]], nvc.VideoDataset]] = {
    "labels": lambda names: nvc.VideoDataset(names, 2, labels=[0, 1], sampling="start"),
    "structured labels": lambda names: nvc.VideoDataset(
        names, 2, labels={"a": [0, 1], "b": [[1.0], [2.0]]}, sampling="start"
    ),
    "dataset of pairs": lambda names: nvc.VideoDataset(
        tf.data.Dataset.from_tensor_slices((names, [0, 1])), 2, sampling="start"
    ),
    "shard": lambda names: nvc.VideoDataset(names, 2, labels=[0, 1], sampling="start").shard(2, 1),
    "contents": lambda names: nvc.VideoDataset(
        contents=tf.data.Dataset.from_tensor_slices((names, [0, 1])).map(
            lambda name, label: (tf.io.read_file(name), label)
        ),
        clip_length=2,
        sampling="start",
    ),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_pairs(tmp_path: Path, kind: str) -> None:
    dataset = SOURCES[kind](write_small_videos(tmp_path, 2))
    pairs = dataset.for_fit()
    assert pairs.cardinality() == dataset.cardinality()
    assert len(list(pairs)) == len(list(dataset)) > 0
    for (frames, label), clip in zip(pairs, dataset):
        assert np.array_equal(frames, clip["frames"])
        tf.nest.map_structure(np.testing.assert_array_equal, label, clip["label"])


def test_pairs_need_labels_and_frames() -> None:
    with pytest.raises(ValueError, match="this dataset has no labels: pass labels, or a dataset"):
        nvc.VideoDataset(["a.mp4"]).for_fit()
    with pytest.raises(ValueError, match="decode=False gives packets"):
        nvc.VideoDataset(["a.mp4"], labels=[1], decode=False).for_fit()


@pytest.mark.filterwarnings("error:.*ran out of data")  # Keras knows the number of batches.
def test_model_fit(tmp_path: Path) -> None:
    """A network learns dark from bright, with a folder and with a table of segments."""
    shades = {"bright": 200, "dark": 40}
    rows: list[tuple[str, float, float, int]] = []
    for label, (name, level) in enumerate(shades.items()):
        for i in range(4):
            path = tmp_path / "films" / name / f"{i}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            frames = np.full([8, 32, 32, 3], level + 5 * i, np.uint8)
            path.write_bytes(nvc.encode_video(frames, 10, preset=FAST.get("h264")).numpy())
            rows += [(str(path), 0.0, 0.4, label), (str(path), 0.4, 0.8, label)]
    keywords = {"clip_length": 4, "size": (8, 8), "dtype": tf.float32, "seed": 1}
    training, validation = nvc.video_dataset_from_directory(
        tmp_path / "films", batch_size=2, validation_split=0.25, subset="both", **keywords
    )
    table = dict(zip(("filename", "start", "end", "label"), zip(*rows)))
    clips = nvc.VideoDataset.from_table(table, shuffle=True, build_index=True, **keywords)
    assert clips.cardinality() == len(rows)
    for data, held_out in ((training, validation), (clips.for_fit().batch(4), None)):
        keras.utils.set_random_seed(3)
        model = keras.Sequential(
            [keras.layers.GlobalAveragePooling3D(), keras.layers.Dense(2, activation="softmax")]
        )
        loss = "sparse_categorical_crossentropy"
        model.compile(keras.optimizers.SGD(5.0), loss, metrics=["accuracy"])
        history = model.fit(data, epochs=8, validation_data=held_out, verbose=0).history
        assert history["accuracy"][-1] == 1
        assert history["loss"][-1] < history["loss"][0]
        if held_out is not None:
            assert history["val_accuracy"][-1] == 1
