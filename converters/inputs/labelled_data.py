"""Examples with their classes, from files, as batches for a network.

There are three forms:
- a folder with a subfolder for each class, whose sorted names are the labels 0, 1, 2 and so on;
- TFRecord files of tf.Example with an encoded picture and its label, as TensorFlow's ImageNet
  scripts write them;
- .npz files with an array for each input and an array `labels`.

A network of pictures gets them by the rule of labelled_images. A network of one input of strings
gets the bytes of each file or record, so folders may hold videos.
"""

from __future__ import annotations

import dataclasses
import glob
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from converters.inputs.calibration_data import Batch, InputSpec, batches
from converters.inputs.labelled_images import SUFFIXES, ImageOptions, ImageReader, no_effect
from converters.util.errors import VerificationDataError

IMAGE_KEY, LABEL_KEY = "image/encoded", "image/class/label"
LABELS = "labels"
_ARRAYS, _CLASSES, _RECORDS = "arrays", "folders of classes", "TFRecord files"
_THREADS = 8


class LabelledBatch(NamedTuple):
    """`labels` are int64 [n]. The inputs have n rows, too, or more: the last row is repeated to
    fill the batch, so that all batches have one shape."""

    inputs: Batch
    labels: npt.NDArray[np.int64]


class _Example(NamedTuple):
    where: str  # for errors
    contents: bytes | Path
    label: int


@dataclasses.dataclass(frozen=True)
class LabelledData:
    """Where labelled examples are, and how they are read.

    Args:
      paths: folders with a subfolder for each class, or files, folders or patterns of TFRecord or
        .npz files.
      label_offset: is added to each label. 1 for a network whose class 0 is the background, if the
        data has none; -1 the other way round.
      image_key: the feature of tf.Example with the encoded picture, in TFRecord files.
      label_key: the feature with its label.
      images: how pictures become values.
    """

    paths: tuple[str, ...]
    label_offset: int = 0
    image_key: str = IMAGE_KEY
    label_key: str = LABEL_KEY
    images: ImageOptions = dataclasses.field(default_factory=ImageOptions)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> LabelledData:
        """From the values of dataclasses.asdict."""
        given = values["images"].items()
        images: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given}
        made = {"paths": tuple(values["paths"]), "images": ImageOptions(**images)}
        return cls(**{**values, **made})

    def files(self) -> list[Path]:
        """The files and folders of classes that the paths name. VerificationDataError: none."""
        if not self.paths:
            raise VerificationDataError("there is no path of labelled data")
        return [file for given in self.paths for file in _files(given)]

    def check(self, specs: Mapping[str, InputSpec]) -> None:
        """Refuses options that have no effect on this data or these inputs, and pictures for inputs
        that take none, by a VerificationDataError. No example is read."""
        forms = {_form(given, _files(given)) for given in self.paths}
        where = ", ".join(self.paths)
        defaults = {"image_key": IMAGE_KEY, "label_key": LABEL_KEY}
        keys = [name for name, default in defaults.items() if getattr(self, name) != default]
        if keys and _RECORDS not in forms:
            there = " and ".join(sorted(forms))
            why = f"only TFRecord files have such features, and {where} has {there}"
            raise no_effect(keys, why, "give TFRecord files")
        shaping = self.images.given()
        if forms == {_ARRAYS}:
            if shaping:
                why = f"only pictures are cut and scaled, and {where} has arrays"
                raise no_effect(shaping, why, "give pictures")
            return
        name, spec = _only_input(specs)
        if not spec.is_string:
            ImageReader(name, spec, self.images)
        elif shaping:
            why = f"the input {name!r} takes strings, which are the bytes of the files as they are"
            raise no_effect(shaping, why, "give a model that takes pictures")

    def batches(
        self, specs: Mapping[str, InputSpec], batch_size: int, limit: int | None = None
    ) -> Iterator[LabelledBatch]:
        """The data as batches of `batch_size` for a signature's inputs; `limit` is of batches.

        VerificationDataError: no data, or it does not fit the inputs; the message names the file.
        Or an option has no effect.
        """
        if batch_size < 1 or (limit is not None and limit < 1):
            raise VerificationDataError("the batch size and the number of batches are at least 1")
        self.check(specs)
        empty = True
        for batch in islice(self._batches(specs, batch_size), limit):
            empty = False
            yield LabelledBatch(_filled(batch.inputs, batch_size), batch.labels)
        if empty:
            raise VerificationDataError(f"{', '.join(self.paths)}: there is no labelled example")

    def _batches(self, specs: Mapping[str, InputSpec], batch_size: int) -> Iterator[LabelledBatch]:
        for given in self.paths:
            files = _files(given)
            if _form(given, files) == _ARRAYS:
                yield from self._of_arrays(files, specs, batch_size)
            else:
                yield from self._of_examples(self._examples(given, files, specs), specs, batch_size)

    def _of_arrays(
        self, files: list[Path], specs: Mapping[str, InputSpec], batch_size: int
    ) -> Iterator[LabelledBatch]:
        # The last batch may be short here: it is filled later, where the signature fixes the batch.
        open_specs = {
            name: dataclasses.replace(spec, shape=spec.shape and (None, *spec.shape[1:]))
            for name, spec in specs.items()
        }
        for file in files:
            arrays = _read_npz(file)
            labels = arrays.pop(LABELS, None)
            if labels is None or labels.ndim != 1 or labels.dtype.kind not in "iu":
                found = "none" if labels is None else f"{labels.dtype} {list(labels.shape)}"
                raise VerificationDataError(
                    f"{file}: needs an array {LABELS!r} of one whole number for each example; "
                    f"there is {found}. Write it with numpy.savez(FILE, labels=..., INPUT=...)"
                )
            if len(specs) == len(arrays) == 1:  # there is nothing to mix up
                arrays = {next(iter(specs)): next(iter(arrays.values()))}
            for name, array in arrays.items():
                if array.shape[:1] != labels.shape:
                    raise VerificationDataError(
                        f"{file}: {name!r} has the shape {list(array.shape)}, and there are "
                        f"{len(labels)} labels: its first dimension counts the examples"
                    )
            made = batches(
                arrays,
                list(specs),
                specs=open_specs,
                batch_size=batch_size,
                same_shape=False,
                check_finite=False,
                error=VerificationDataError,
                purpose=str(file),
            )
            for start, batch in zip(range(0, len(labels), batch_size), made):
                own = labels[start : start + batch_size].astype(np.int64)
                yield LabelledBatch(batch, own + self.label_offset)

    def _of_examples(
        self, examples: Iterable[_Example], specs: Mapping[str, InputSpec], batch_size: int
    ) -> Iterator[LabelledBatch]:
        name, spec = _only_input(specs)
        reader = None if spec.is_string else ImageReader(name, spec, self.images)
        waiting = iter(examples)

        def value(example: _Example) -> Any:
            contents = example.contents
            if isinstance(contents, Path):
                contents = _bytes(contents)
            return contents if reader is None else reader.read(contents, example.where)

        with ThreadPoolExecutor(_THREADS) as pool:
            while group := list(islice(waiting, batch_size)):
                values = list(pool.map(value, group))
                made = np.array(values, object) if reader is None else np.stack(values)
                labels = np.array([example.label for example in group], np.int64)
                yield LabelledBatch({name: made}, labels + self.label_offset)

    def _examples(
        self, given: str, files: list[Path], specs: Mapping[str, InputSpec]
    ) -> Iterator[_Example]:
        if _form(given, files) == _CLASSES:
            return _of_class_folders(Path(given), any_file=_only_input(specs)[1].is_string)
        return self._of_records(files)

    def _of_records(self, files: list[Path]) -> Iterator[_Example]:
        import tensorflow as tf

        for file in files:
            number = -1
            try:
                for number, record in enumerate(tf.data.TFRecordDataset(str(file))):
                    where = f"{file}: record {number}"
                    yield self._of_record(record.numpy(), where)
            except tf.errors.OpError as error:
                raise VerificationDataError(
                    f"{file}: record {number + 1} cannot be read as TFRecord "
                    f"({str(error).splitlines()[0]}). The file is damaged or no TFRecord; other "
                    "data is a folder with a subfolder for each class, or .npz files"
                ) from error

    def _of_record(self, record: bytes, where: str) -> _Example:
        from google.protobuf.message import DecodeError
        from tensorflow.core.example import example_pb2

        try:
            features = dict(example_pb2.Example.FromString(record).features.feature)
        except DecodeError as error:
            raise VerificationDataError(f"{where}: is no tf.Example") from error
        for key, option in ((self.image_key, "--image-key"), (self.label_key, "--label-key")):
            if key not in features:
                raise VerificationDataError(
                    f"{where}: has no feature {key!r}; there are {', '.join(sorted(features))}. "
                    f"Name it by {option}"
                )
        image = features[self.image_key].bytes_list.value
        label = features[self.label_key].int64_list.value
        if len(image) != 1 or len(label) != 1:
            raise VerificationDataError(
                f"{where}: has {len(image)} strings in {self.image_key!r} and {len(label)} whole "
                f"numbers in {self.label_key!r}; it needs one of each"
            )
        return _Example(where, image[0], label[0])


def _files(given: str) -> list[Path]:
    """The files of a path or pattern, sorted; a folder's own, without those of subfolders."""
    path = Path(given)
    found = [path] if path.exists() else [Path(name) for name in sorted(glob.glob(given))]
    if not found:
        raise VerificationDataError(f"{given}: no such file or folder, and no file fits it")
    inside = [_visible(file) if file.is_dir() else [file] for file in found]
    files = [file for own in inside for file in own if file.is_file()]
    if path.is_dir():
        # An archive of arrays, whatever notes lie beside it.
        files = [file for file in files if file.suffix == ".npz"] or files
        if any(map(Path.is_dir, _visible(path))):
            return [path]  # read by its subfolders
    if not files:
        raise VerificationDataError(f"{given}: the folder is empty")
    return files


def _form(given: str, files: list[Path]) -> str:
    """What the files of a path are."""
    if all(file.suffix == ".npz" for file in files):
        return _ARRAYS
    path = Path(given)
    return _CLASSES if path.is_dir() and any(map(Path.is_dir, _visible(path))) else _RECORDS


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _of_class_folders(folder: Path, any_file: bool) -> Iterator[_Example]:
    """The files of each class, sorted; of the subfolders' subfolders too."""
    classes = [path for path in _visible(folder) if path.is_dir()]
    for label, own in enumerate(classes):
        files = [
            file
            for file in sorted(own.rglob("*"))
            if file.is_file()
            and not file.name.startswith(".")
            and (any_file or file.suffix.lower() in SUFFIXES)
        ]
        if not files:
            raise VerificationDataError(
                f"{own}: the class has no picture ({', '.join(SUFFIXES)}); files of another kind, "
                "such as videos, fit a model whose one input is their bytes"
            )
        for file in files:
            yield _Example(str(file), file, label)


def _only_input(specs: Mapping[str, InputSpec]) -> tuple[str, InputSpec]:
    if len(specs) != 1:
        raise VerificationDataError(
            f"pictures and files fit a model with one input; this has {len(specs)}: "
            f"{', '.join(specs)}. Give .npz files with an array for each, and {LABELS!r}"
        )
    return next(iter(specs.items()))


def _read_npz(file: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:
        raise VerificationDataError(
            f"{file}: cannot be read as a numpy file ({error}); write it with numpy.savez"
        ) from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise VerificationDataError(f"{path}: cannot be read: {error.strerror}") from error


def _filled(batch: Batch, size: int) -> Batch:
    """The batch with its last row repeated up to `size` rows: another shape may have no engine."""
    return {
        name: np.concatenate([value, np.repeat(value[-1:], size - len(value), axis=0)])
        if value.ndim and len(value) < size
        else value
        for name, value in batch.items()
    }
