"""A folder of videos, with a subfolder for each class, as batches for `model.fit`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from tf_nvcodec.python.dataset import VideoDataset

FORMATS = (
    ".3gp", ".asf", ".avi", ".flv", ".gif", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg",
    ".mpg", ".mts", ".mxf", ".nut", ".ogv", ".ts", ".webm", ".wmv",
)  # fmt: skip
_AUGMENTATION = ("flip", "random_crop", "random_resized_crop", "ratio")


def video_dataset_from_directory(
    directory: str | os.PathLike[str],
    labels: Literal["inferred"] | Sequence[int] | None = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    *,
    batch_size: int | None = 8,
    size: Any = (256, 256),
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    verbose: bool = True,
    **clips: Any,
) -> Any:
    """Returns batches of clips of the videos in a folder, for `model.fit(dataset)`.

    Arguments, files, classes and the parts of a split are those of
    `keras.utils.image_dataset_from_directory`. An epoch has one clip of each video: at a random
    place in training, in the middle in validation or without shuffle. VideoDataset's arguments
    clip_step, clips_per_video, sampling and clip_at choose others.

    Args:
      directory: A folder, also on a remote file system. With labels="inferred", each subfolder
        holds the videos of a class, in any depth.
      labels: "inferred", None for no labels, or an integer for each file in the order of their
        paths.
      label_mode: "int" gives int32 [B], "categorical" float32 [B, classes] (one-hot), "binary"
        float32 [B, 1] (there are two classes), None no labels.
      class_names: The names of subfolders, in the order of their labels; None takes all of them,
        sorted.
      batch_size: The number of clips in a batch; None gives single clips.
      size: (height, width) of the frames.
      shuffle: Mixes the files before the split, and the clips in each epoch. False is the order of
        the paths.
      seed: An integer, for both; a split of shuffled files needs one.
      validation_split: The share of the files that is kept for validation, between 0 and 1.
      subset: "training", "validation" or "both", which gives two datasets: the second is in
        order, and without random crops and flips.
      follow_links: Whether to look into subfolders that are symbolic links.
      verbose: Prints how many files and classes there are.
      **clips: VideoDataset's other arguments: clip_length, stride, sampling, dtype, on_error, ...

    Returns:
      A dataset of pairs (frames [B, T, H, W, C], label), or of frames if there are no labels; two
      for subset="both". Its attributes are `class_names`, a list or None, `file_paths`, and
      `statistics`, that of the VideoDataset.

    Raises:
      TypeError: An argument is unknown, or needs a row for each file.
      ValueError: There is no video, or arguments contradict each other.
    """
    for name in ("aligned", "contents", "segments"):
        if name in clips:
            raise TypeError(f"{name} has a row for each file: pass it to VideoDataset.from_table")
    times = clips.get("clip_at")
    if times is not None and any(np.ndim(time) for time in times):
        raise TypeError("clip_at must be a list of seconds, the same for all files")
    if label_mode not in ("int", "categorical", "binary", None):
        raise ValueError(
            f'label_mode is {label_mode!r}; it must be one of: "int", "categorical", "binary", None'
        )
    _check_split(validation_split, subset, shuffle and seed is None)
    if label_mode is None:
        labels = None
    files, numbers, names = _index(os.fspath(directory), labels, class_names, follow_links)
    if label_mode == "binary" and names is not None and len(names) != 2:
        raise ValueError(f'label_mode="binary" takes two classes; there are {len(names)}: {names}')
    if verbose:
        belonging = "" if names is None else f" belonging to {len(names)} classes"
        print(f"Found {len(files)} files{belonging}.")
    order = np.arange(len(files))
    if shuffle:
        np.random.RandomState(seed).shuffle(order)  # the order of Keras
    parts: dict[str | None, np.ndarray] = {None: order}
    if validation_split is not None:
        count = len(files) - int(validation_split * len(files))
        parts = {"training": order[:count], "validation": order[count:]}
    choices = ("clip_step", "clips_per_video", "sampling", "clip_at")
    chosen = any(clips.get(name) is not None for name in choices)
    datasets = []
    for use in parts if subset == "both" else (subset,):
        part = parts[use]
        if not len(part):
            raise ValueError(
                f"validation_split={validation_split} of {len(files)} files leaves none for {use}"
            )
        if verbose and use is not None:
            print(f"Using {len(part)} files for {use}.")
        validates = use == "validation"
        second = validates and subset == "both"
        own = {name: clips[name] for name in clips if not (second and name in _AUGMENTATION)}
        if not chosen:
            own["sampling"] = "random" if shuffle and not validates else "center"
        made = VideoDataset(
            [files[i] for i in part],
            size=size,
            labels=None if numbers is None else numbers[part],
            shuffle=shuffle and not second,
            seed=seed,
            **own,
        )
        dataset = _batches(made, label_mode, names, batch_size)
        dataset.class_names = names
        dataset.file_paths = [files[i] for i in part]
        dataset.statistics = made.statistics
        datasets.append(dataset)
    return tuple(datasets) if subset == "both" else datasets[0]


def _check_split(validation_split: float | None, subset: str | None, unseeded: bool) -> None:
    if subset not in ("training", "validation", "both", None):
        raise ValueError(
            f'subset is {subset!r}; it must be one of: "training", "validation", "both", None'
        )
    if (validation_split is None) != (subset is None):
        raise ValueError("validation_split and subset go together: pass both or neither")
    if validation_split is not None and not 0 < validation_split < 1:
        raise ValueError(f"validation_split must be between 0 and 1, got {validation_split}")
    if validation_split is not None and unseeded:
        raise ValueError(
            "a split of shuffled files needs a seed, or training and validation would overlap: "
            "pass seed=1, or shuffle=False"
        )


def _index(
    directory: str, labels: Any, class_names: Sequence[str] | None, follow_links: bool
) -> tuple[list[str], np.ndarray | None, list[str] | None]:
    """Returns the files, their labels and the names of the classes."""
    inferred = isinstance(labels, str) and labels == "inferred"
    if class_names is not None and not inferred:
        raise ValueError('class_names are the names of subfolders: they go with labels="inferred"')
    if not inferred:
        files = _videos_in(directory, follow_links)
        _check_found(files, directory, "")
        if labels is None:
            return files, None, None
        if isinstance(labels, str) or len(labels) != len(files):
            given = repr(labels) if isinstance(labels, str) else f"{len(labels)} labels"
            raise ValueError(
                f'labels must be "inferred", None or an integer for each of the {len(files)} '
                f"videos in {directory}; got {given}"
            )
        return files, np.asarray(labels, np.int32), [str(label) for label in sorted(set(labels))]
    folders = _subfolders(directory)
    unknown = set(class_names or ()) - set(folders)
    if unknown:
        raise ValueError(
            f"class_names has {sorted(unknown)}, but the subfolders of {directory} are {folders}"
        )
    names = folders if class_names is None else list(class_names)
    by_class = [_videos_in(os.path.join(directory, name), follow_links) for name in names]
    files = [path for paths in by_class for path in paths]
    _check_found(
        files, directory, "'s subfolders, one for each class; without classes: labels=None"
    )
    return files, np.repeat(np.arange(len(names), dtype=np.int32), list(map(len, by_class))), names


def _check_found(files: list[str], directory: str, where: str) -> None:
    if not files:
        raise ValueError(f"no video ({', '.join(FORMATS)}) is in {directory}{where}")


def _subfolders(directory: str) -> list[str]:
    system: Any = tf.io.gfile if "://" in directory else os
    is_folder = tf.io.gfile.isdir if "://" in directory else os.path.isdir
    names = sorted(name.rstrip("/") for name in system.listdir(directory))
    return [n for n in names if n[:1] != "." and is_folder(os.path.join(directory, n))]


def _videos_in(folder: str, follow_links: bool) -> list[str]:
    remote = "://" in folder
    walk = tf.io.gfile.walk(folder) if remote else os.walk(folder, followlinks=follow_links)
    return [
        os.path.join(root, name)
        for root, _, names in sorted(walk)
        for name in sorted(names)
        if name.lower().endswith(FORMATS)
    ]


def _batches(
    clips: VideoDataset, label_mode: str | None, names: list[str] | None, batch_size: int | None
) -> tf.data.Dataset:
    def pair(frames: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        if label_mode == "binary":
            return frames, tf.cast(label[tf.newaxis], tf.float32)
        return frames, tf.one_hot(label, len(names or ()))

    if names is None:
        dataset = clips.map(lambda clip: clip["frames"])
    else:
        dataset = clips.for_fit()
        if label_mode != "int":
            dataset = dataset.map(pair)
    return (dataset if batch_size is None else dataset.batch(batch_size)).prefetch(2)
