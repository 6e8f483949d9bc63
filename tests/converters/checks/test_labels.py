"""verify_labels counts what Keras counts, in every form of data, and sees a drop."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

import digits
import numpy as np
import pytest
import served_models

import tf_nvcodec as nvc
from converters.checks import labels
from converters.checks.label_report import Hits, LabelReport
from converters.checks.labels import ranks_of, verify_labels
from converters.cli.app import main
from converters.inputs.calibration_data import InputSpec
from converters.inputs.labelled_data import LabelledData
from converters.inputs.labelled_images import ImageOptions
from converters.util.errors import (
    ModelError,
    SpecError,
    VerificationDataError,
    VerificationError,
)

tf = pytest.importorskip("tensorflow")
TESTED = 1000


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs both models in this process, with what a child would get."""

    def run(job: Callable[..., Any], kwargs: Mapping[str, Any]) -> Any:
        return json.loads(json.dumps(job(**json.loads(json.dumps(kwargs)))))

    monkeypatch.setattr(labels, "run_in_child", run)


class Trained:
    """A network of digits, its copy, one with damaged weights, and 1000 labelled digits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        known, classes, self.pictures, self.labels = digits.pictures_and_labels(797)
        model = digits.train(known, classes)
        self.native, self.copy, self.damaged = (folder / n for n in ("native", "copy", "damaged"))
        self.scores = model.predict(self.pictures, verbose=0)
        for path in (self.native, self.copy):
            model.export(str(path), verbose=False)
        kernel, *rest = model.layers[-1].get_weights()
        noise = np.random.default_rng(0).normal(size=kernel.shape, scale=0.4)
        model.layers[-1].set_weights([kernel + noise, *rest])
        self.damaged_scores = model.predict(self.pictures, verbose=0)
        model.export(str(self.damaged), verbose=False)
        self.npz = folder / "digits.npz"
        np.savez(self.npz, labels=self.labels, **{digits.input_of(self.native): self.pictures})

    def right(self, scores: np.ndarray, k: int) -> np.ndarray:
        """Returns for each digit whether its class is among the best k, by sorting the scores."""
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return (best == self.labels[: len(scores), None]).any(axis=1)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return Trained(tmp_path_factory.mktemp("digits"))


def test_a_copy_differs_by_exactly_nothing(trained: Trained, here: None) -> None:
    report = verify_labels(trained.native, trained.copy, trained.npz, batch_size=300)
    assert report.passed and report.examples == TESTED
    assert report.native_hits == report.converted_hits
    assert report.native_hits.top1 == trained.right(trained.scores, 1).sum() > 0.95 * TESTED
    assert report.native_hits.top5 == trained.right(trained.scores, 5).sum()
    assert (report.difference("top1"), report.difference("top5")) == (0.0, 0.0)
    assert (report.lost, report.gained) == (0, 0)
    report.raise_if_failed()


def test_damaged_weights_are_seen(trained: Trained, here: None) -> None:
    report = verify_labels(trained.native, trained.damaged, trained.npz, precision="int8")
    before, after = (trained.right(s, 1) for s in (trained.scores, trained.damaged_scores))
    assert report.native_hits.top1 - report.converted_hits.top1 == (before.sum() - after.sum())
    assert (report.lost, report.gained) == ((before & ~after).sum(), (after & ~before).sum())
    assert before.sum() - after.sum() > 20  # two points
    fifth = [int(trained.right(trained.damaged_scores, k).sum()) for k in (4, 5)]
    assert report.converted_hits.top5 == fifth[1] > fifth[0]
    assert report.max_drop == 1.0 and not report.passed
    with pytest.raises(VerificationError, match="top1 drops by .* 1 are allowed"):
        report.raise_if_failed()
    allowed = verify_labels(trained.native, trained.damaged, trained.npz, max_drop=math.inf)
    assert allowed.passed and json.dumps(allowed.to_json(), allow_nan=False)
    # The other way round it gains, and that is no failure.
    gains = verify_labels(trained.damaged, trained.native, trained.npz)
    assert gains.passed and (gains.difference("top1") or 0) > 2


@pytest.mark.slow
def test_the_command_in_processes_of_their_own(
    trained: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    native, damaged = str(trained.native), str(trained.damaged)
    options = ["--labels", str(trained.npz), "--batch-size", "250", "--quiet", "--json"]
    assert main(["verify", native, damaged, *options, "--max-drop", "0.5"]) == 1
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["native_top1"] == 100 * trained.right(trained.scores, 1).mean()
    assert found["converted_top1"] == 100 * trained.right(trained.damaged_scores, 1).mean()
    assert "trt-convert: top1 drops by" in err and "0.5 are allowed" in err


FORMS = ("npz", "folder", "tfrecord", "other keys", "offset")


@pytest.fixture(scope="module")
def forms(trained: Trained) -> dict[str, LabelledData]:
    """The first 60 digits, exactly, in each form of data; PNG keeps sixteen levels of grey."""
    folder = trained.folder / "forms"
    count = 60
    pictures = (trained.pictures[:count] * 255).round().astype(np.uint8)
    encoded = [tf.io.encode_png(picture).numpy() for picture in pictures]
    found = {"npz": LabelledData((str(folder / "some.npz"),))}
    for number, (label, png) in enumerate(zip(trained.labels, encoded)):
        place = folder / "classes" / f"digit {label}" / f"{number:03d}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(png)
        (place.parent / "notes.txt").write_text("is no picture")
    found["folder"] = LabelledData((str(folder / "classes"),))
    name = digits.input_of(trained.native)
    as_read = (pictures / 255).astype(np.float32)
    np.savez(folder / "some.npz", labels=trained.labels[:count], **{name: as_read})
    for form, image, label, offset in (
        ("tfrecord", "image/encoded", "image/class/label", 0),
        ("other keys", "png", "digit", 0),
        ("offset", "image/encoded", "image/class/label", 1),
    ):
        (folder / form).mkdir()
        for part in range(2):
            path = str(folder / form / f"validation-{part:05d}-of-00002")
            with tf.io.TFRecordWriter(path) as writer:
                for own, png in list(zip(trained.labels, encoded))[30 * part : 30 * part + 30]:
                    writer.write(record({image: png, label: int(own) + offset}))
        found[form] = LabelledData(
            (str(folder / form),), label_offset=-offset, image_key=image, label_key=label
        )
    return found


def record(features: Mapping[str, bytes | int]) -> bytes:
    made = tf.train.Example()
    for key, value in features.items():
        if isinstance(value, int):
            made.features.feature[key].int64_list.value.append(value)
        else:
            made.features.feature[key].bytes_list.value.append(value)
    return bytes(made.SerializeToString())


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_data_has_the_same_digits(
    trained: Trained, forms: dict[str, LabelledData], form: str, here: None
) -> None:
    data = forms[form]
    report = verify_labels(trained.native, trained.damaged, data, batch_size=16, max_drop=math.inf)
    # A picture of 8 bits is not exactly the digit, but its class hardly changes.
    count = trained.right(trained.scores[:60], 1).sum()
    assert report.examples == 60 and report.native_hits.top1 == count
    assert report.converted_hits.top1 == trained.right(trained.damaged_scores[:60], 1).sum()
    part = verify_labels(trained.native, trained.copy, data, batch_size=16, num_batches=2)
    assert part.examples == 32


@pytest.mark.parametrize("batch", [None, 300])  # open in the signature, or fixed
def test_the_last_batch_is_filled(trained: Trained, batch: int | None) -> None:
    (spec,) = labels.signature_specs(trained.native)["serving_default"].values()
    name = digits.input_of(trained.native)
    specs = {name: dataclasses.replace(spec, shape=(batch, *spec.shape[1:]))}
    *_, last = LabelledData((str(trained.npz),)).batches(specs, 300)
    assert last.inputs[name].shape == (300, 16, 16, 1) and len(last.labels) == 100
    np.testing.assert_array_equal(last.inputs[name][100:], last.inputs[name][99:100].repeat(200, 0))


IMAGE, VALUES, BYTES = (
    InputSpec((None, *shape), np.dtype(kind))
    for shape, kind in (((16, 16, 1), np.uint8), ((16, 16, 1), np.float32), ((), object))
)


@pytest.mark.parametrize(
    ("form", "spec", "options", "said"),
    [
        ("npz", VALUES, {"center_crop": 0.5, "mean": (1.0,)}, "center_crop .*mean .* has arrays"),
        ("npz", VALUES, {"image_key": "png"}, "image_key .* TFRecord files .* has arrays"),
        ("folder", VALUES, {"label_key": "digit"}, "label_key .* has folders of classes"),
        ("folder", IMAGE, {"std": (2.0,)}, "std .* 'x' is uint8"),
        ("folder", BYTES, {"center_crop": 0.5}, "center_crop .* 'x' takes strings"),
        ("tfrecord", BYTES, {"value_range": (-1.0, 1.0)}, "value_range .* 'x' takes strings"),
    ],
)
def test_options_without_effect_are_refused(
    forms: dict[str, LabelledData], form: str, spec: InputSpec, options: Any, said: str
) -> None:
    keys = {name: options[name] for name in options if name.endswith("key")}
    images = ImageOptions(**{name: options[name] for name in options if name not in keys})
    data = dataclasses.replace(forms[form], images=images, **keys)
    with pytest.raises(VerificationDataError, match=rf"{said}.*\. Leave (it|them) out, or give"):
        next(data.batches({"x": spec}, 2))
    # One place where it has an effect is enough.
    if keys or spec is VALUES:
        more = dataclasses.replace(data, paths=(*data.paths, *forms["tfrecord"].paths))
        more.check({"x": VALUES})


def test_options_without_effect_start_no_process(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "run_in_child", None)
    data = LabelledData((str(trained.npz),), images=ImageOptions(center_crop=0.5))
    with pytest.raises(VerificationDataError, match="center_crop .*has no effect"):
        verify_labels(trained.native, trained.copy, data)


class Sizes(tf.Module):
    """Takes files as bytes. Its best class is the length of the file; it gives other outputs."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="contents")])
    def serve(self, contents: Any) -> Any:
        scores = tf.one_hot(tf.strings.length(contents), 8)
        pts = tf.zeros([tf.shape(contents)[0], 16])
        return {"scores": scores, "pts": pts, "status": contents}


def test_a_model_of_bytes_gets_files_of_any_kind(tmp_path: Path, here: None) -> None:
    module = Sizes()
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=module.serve)
    sizes = {"a": [0, 0, 1], "b": [1, 1, 3], "c": [2, 9]}  # label 0, 1, 2
    for name, own in sizes.items():
        (tmp_path / "videos" / name / "more").mkdir(parents=True)
        for number, size in enumerate(own):
            (tmp_path / "videos" / name / "more" / f"{number}.mp4").write_bytes(b"x" * size)
    model, data = tmp_path / "model", tmp_path / "videos"
    with pytest.raises(ModelError, match="2 outputs can be scores .*--scores"):
        verify_labels(model, model, data)
    report = verify_labels(model, model, data, scores="scores", batch_size=3)
    # Nine bytes are no class: all scores are zero, which recognises nothing.
    assert (report.examples, report.native_hits) == (8, Hits(2 + 2 + 1, 7, silent=1))


def test_ranks() -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 6, size=(500, 9)).astype(np.float32)  # with many ties
    own = rng.integers(0, 9, size=500)
    order = np.argsort(-scores, axis=1, kind="stable")
    np.testing.assert_array_equal(ranks_of(scores, own), np.argmax(order == own[:, None], axis=1))
    odd = np.array([[0, 0, 0], [1, np.nan, 0], [2, 1, 2]], np.float32)
    assert ranks_of(odd, np.array([0, 0, 2])).tolist() == [3, 3, 1]
    for label in (-1, 3):
        with pytest.raises(VerificationDataError, match=f"label {label} .* 0 to 2.*--label-offset"):
            ranks_of(odd[:1], np.array([label]))


def test_report_as_text() -> None:
    report = LabelReport("a", "b", "INT8", "s", "y", 400, Hits(392, 400), Hits(390, 400), 3, 1, 0.4)
    lines = str(report).splitlines()
    assert lines[2].split() == ["a", "native", "98.00", "100.00"]
    assert lines[3].split() == ["b", "INT8", "97.50", "100.00", "-0.50", "0.00"]
    assert "native model only: 3, in the converted one only: 1" in lines[4]
    assert lines[5:] == [
        "failed:",
        "  top1 drops by 0.5 points, from 98.00 to 97.50 % of 400 examples; 0.4 are allowed",
    ]
    few = LabelReport("a", "b", "FP16", "s", "y", 9, Hits(9, None), Hits(9, None), 0, 0, 0.1)
    assert few.passed and few.difference("top5") is None and few.to_json()["native_top5"] is None
    served = LabelReport(
        "a", "b", "FP16", "s", "y", 9, Hits(9, None), Hits(9, None), 0, 0, 0.1, ("no engine",)
    )
    assert served.failures() == ["no engine"]
    with pytest.raises(VerificationError, match="prove nothing of the engines of b:\n  no engine"):
        served.raise_if_failed()
    worse = dataclasses.replace(served, converted_hits=Hits(5, None))
    with pytest.raises(VerificationError, match="b recognises fewer .*\n  no engine\n  top1 drops"):
        worse.raise_if_failed()


def test_labels_that_do_not_fit_prove_nothing() -> None:
    """Where the native model recognises nothing, nothing can be lost."""
    by_chance = LabelReport(
        "a", "b", "INT8", "s", "y", 250, Hits(25, 100), Hits(24, 100), 1, 0, 1.0, classes=10
    )
    assert not by_chance.passed
    with pytest.raises(VerificationError, match=r"a recognises 10.00 % .*\n.*--label-offset"):
        by_chance.raise_if_failed()
    assert dataclasses.replace(by_chance, native_hits=Hits(26, 100), max_drop=1.0).passed
    assert dataclasses.replace(by_chance, max_drop=math.inf).passed


def test_examples_without_an_answer_are_lost() -> None:
    silent = LabelReport(
        "a", "b", "INT8", "s", "y", 500, Hits(400, 500, 2), Hits(398, 500, 9), 2, 0, 1.0
    )
    assert silent.failures() == [
        "7 more of 500 examples have no answer: all scores are equal, or one is NaN"
    ]
    assert dataclasses.replace(silent, converted_hits=Hits(398, 500, 1)).passed


def bad_npz(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def test_data_that_cannot_be_used(trained: Trained, tmp_path: Path, here: None) -> None:
    x, name = trained.pictures[:4], digits.input_of(trained.native)
    (tmp_path / "empty").mkdir()
    (tmp_path / "classes" / "a").mkdir(parents=True)
    (tmp_path / "classes" / "a" / "film.mp4").write_bytes(b"x")
    (tmp_path / "broken" / "a").mkdir(parents=True)
    (tmp_path / "broken" / "a" / "1.png").write_bytes(b"x")
    (tmp_path / "text").write_text("is no record, but long enough to be read as one")
    with tf.io.TFRecordWriter(str(tmp_path / "record")) as writer:
        writer.write(record({"image": b"x", "image/class/label": 1}))
    cases: list[tuple[Any, str]] = [
        (tmp_path / "none", "no such file or folder"),
        (tmp_path / "empty", "the folder is empty"),
        (tmp_path / "classes", "a: the class has no picture .*their bytes"),
        (tmp_path / "broken", r"1\.png: is no picture"),
        (tmp_path / "text", "record 0 cannot be read as TFRecord"),
        (tmp_path / "record", "no feature 'image/encoded'; there are image, .*--image-key"),
        (bad_npz(tmp_path / "1.npz", **{name: x}), "an array 'labels' .* there is none"),
        (bad_npz(tmp_path / "2.npz", labels=np.ones(4), **{name: x}), r"there is float64 \[4\]"),
        (bad_npz(tmp_path / "3.npz", labels=[1, 2, 3], **{name: x}), "there are 3 labels"),
        (bad_npz(tmp_path / "4.npz", labels=[1, 2], **{name: x[:2, :8]}), "the model takes"),
        (
            bad_npz(tmp_path / "5.npz", labels=[1, 12], **{name: x[:2]}),
            "the label 12 .*is no class",
        ),
    ]
    for data, said in cases:
        with pytest.raises(VerificationDataError, match=f"(?s){said}"):
            verify_labels(trained.native, trained.copy, data)
    with pytest.raises(VerificationDataError, match="max_drop is -1"):
        verify_labels(trained.native, trained.copy, trained.npz, max_drop=-1)
    with pytest.raises(VerificationDataError, match="the batch is 8 and 16"):
        shapes = {name: (16, 16, 16, 1)}
        verify_labels(trained.native, trained.copy, trained.npz, batch_size=8, shapes=shapes)
    with pytest.raises(VerificationDataError, match="does not fit the inputs"):
        verify_labels(trained.native, trained.copy, trained.npz, shapes={name: (16, 8, 8, 1)})
    with pytest.raises(SpecError, match="'FP8' is none of FP32, FP16, INT8"):
        verify_labels(trained.native, trained.copy, trained.npz, precision="fp8")
    with pytest.raises(ModelError, match="no signature 'other'"):
        verify_labels(trained.native, trained.copy, trained.npz, signature="other")
    with pytest.raises(ModelError, match="'other' has no scores"):
        verify_labels(trained.native, trained.copy, trained.npz, scores="other")
    with pytest.raises(VerificationError, match="cannot run in another process"):
        verify_labels(lambda x: x, trained.copy, trained.npz)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--max-drop", "1"], "--max-drop: it is of --labels"),
        (["--mean", "0.5"], "--mean: it is of --labels"),
        (["--labels", "a", "--data", "b"], "--data: not allowed with --labels"),
        (["--labels", "a", "--threshold", "top1=1"], "--threshold: not allowed with --labels"),
        (["--labels", "a", "--seed", "0"], "--seed: not allowed with --labels"),
        (["--labels", "a", "--signature", "s", "--signature", "t"], "--signature: --labels takes"),
        (["--labels", "a", "--max-drop", "-1"], "'-1' is no number of points"),
        (["--labels", "a", "--std", "x"], "'x' is no list of numbers"),
    ],
)
def test_options_that_contradict(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "native", "converted", *options]) == 2
    assert said in capsys.readouterr().err


def test_videos_with_labels(tmp_path: Path, here: None) -> None:
    model = served_models.export(tmp_path / "model")
    for label, name in enumerate(("1 red", "2 green", "3 blue")):
        for number in range(2):
            frames = np.zeros([4, 32, 48, 3], np.uint8)
            frames[..., label] = 200 + 20 * number
            video = tmp_path / "videos" / name / f"{number}.mp4"
            video.parent.mkdir(parents=True, exist_ok=True)
            video.write_bytes(nvc.encode_video(frames, fps=25).numpy())
    (tmp_path / "videos" / "3 blue" / "broken.mp4").write_bytes(b"this is no video")
    data = tmp_path / "videos"
    report = verify_labels(model, model, data, scores="color", batch_size=2)
    # The model gives zeros for the broken one.
    assert (report.examples, report.native_hits) == (7, Hits(6, None, silent=1))
