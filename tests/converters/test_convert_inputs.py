"""Tests which signatures, shapes and names a conversion takes, and its errors for the others.
copied_tftrt.py replaces TF-TRT, as in test_convert.py."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from copied_models import SHAPES, X, here, keras_file, left_in, save, session_graph

from converters import ConversionSpec, ShapeRange
from converters.checks import fresh_check as engine_use
from converters.checks.fresh_check import FreshReport, ShapeRun
from converters.util.errors import ModelError, SpecError, VerificationError

pytest_plugins = ["copied_tftrt"]  # fixture tftrt


class Words(tf.Module):
    """Has three signatures: "scores" takes x, "pair" takes x and a mask, "words" takes strings."""

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
    def scores(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": 2 * x}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 3], tf.float32, "x"),
            tf.TensorSpec([None, 3], tf.float32, "mask"),
        ]
    )
    def pair(self, x: tf.Tensor, mask: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x * mask}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "names")])
    def words(self, names: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"lengths": tf.strings.length(names)}


def test_what_cannot_be_converted_stays_native(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    module = Words()
    signatures = {name: getattr(module, name) for name in ("scores", "pair", "words")}
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=signatures)
    ranges = {"x": ShapeRange((1, 3), (4, 3))}
    for spec in (ConversionSpec(shape_ranges=ranges), ConversionSpec(input_shapes=SHAPES)):
        report = here(tmp_path / "model", tmp_path / "out", spec, overwrite=True)
        assert {s.name: s.converter for s in report.signatures} == {
            "scores": "copy",
            "pair": "native",
            "words": "native",
        }
        assert sorted(tftrt["calls"][-1]["kept"]) == ["pair", "words"]
        text = str(report)
        assert "pair: kept as it is, since signature 'pair' has open shapes" in text
        assert "words: kept as it is, since signature 'words' has the input 'names'" in text
        record = json.loads((tmp_path / "out" / "conversion.json").read_text())
        reasons = {s["name"]: s["reason"] for s in record["signatures"]}
        assert "type string" in reasons["words"] and not reasons["scores"]
    # With a range for the mask too, "pair" is converted as well.
    both = {**ranges, "mask": ShapeRange((1, 3), (4, 3))}
    report = here(tmp_path / "model", tmp_path / "two", ConversionSpec(shape_ranges=both))
    assert [s.converter for s in report.signatures] == ["copy", "copy", "native"]
    # If the user names a signature that cannot be converted, the error tells the cure.
    for name, given, text in (
        ("words", ranges, "'names' of type string.*pass some as build_data"),
        ("pair", ranges, r"shape_ranges: \['x'\] are not the inputs of a signature to convert"),
    ):
        named = ConversionSpec(shape_ranges=given, signatures=["scores", name][name == "pair" :])
        with pytest.raises(SpecError, match=text):
            here(tmp_path / "model", tmp_path / "no", named)
    with pytest.raises(SpecError, match="'pair' has open shapes.*not named stay native"):
        named = ConversionSpec(shape_ranges=ranges, signatures=["scores", "pair"])
        here(tmp_path / "model", tmp_path / "no", named)


def test_strings_with_data_to_build_with(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    module = Words()
    signatures = {name: getattr(module, name) for name in ("scores", "words")}
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=signatures)
    clips = tmp_path / "clips"
    clips.mkdir()
    for name, contents in {"a.mp4": b"a", "b.mp4": b"bbb", "c.png": b"cc"}.items():
        (clips / name).write_bytes(contents)
    # A folder's files are examples; each declared shape gets a batch of them.
    spec = ConversionSpec(input_shapes=[SHAPES, {"names": (4,)}, {"names": (2,)}])
    report = here(tmp_path / "model", tmp_path / "out", spec, build_data=str(clips))
    assert {s.name: s.converter for s in report.signatures} == {"scores": "copy", "words": "copy"}
    (scores,) = [run.shapes for run in report.fresh.runs if run.signature == "scores"]
    words = [run.shapes for run in report.fresh.runs if run.signature == "words"]
    assert scores == SHAPES and words == [{"names": (4,)}, {"names": (2,)}]
    compared = {output.signature: output.difference for output in report.verification.outputs}
    assert compared["words"].count == 6 and compared["words"].equal == 1
    # A dict by signature leaves the words to what they were built with.
    scores: dict[str, Any] = {"scores": [np.ones((1, 3), np.float32)]}
    report = here(
        tmp_path / "model", tmp_path / "both", spec, build_data=str(clips), verify_data=scores
    )
    assert report.verification.batches == {"scores": 1, "words": 2}
    record = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert sorted(map(Path, record["data_hash"]["build_data"])) == sorted(clips.iterdir())
    script = (tmp_path / "out" / "repeat.sh").read_text()
    assert f"--build-data {clips}" in script
    # Without declared shapes, the data's own; by signature, too; calibration data serves as well.
    own = {"words": [np.array([b"x", b"yy"]), np.array([b"z"]), np.array([b"w", b"v"])]}
    spec = ConversionSpec(input_shapes=SHAPES)
    report = here(tmp_path / "model", tmp_path / "own", spec, build_data=own)
    words = [run.shapes for run in report.fresh.runs if run.signature == "words"]
    assert words == [{"names": (2,)}, {"names": (1,)}]
    spec = ConversionSpec("INT8", signatures=["words"], require_int8=False)
    files = [str(clips / "*.mp4"), str(clips / "c.png")]
    report = here(tmp_path / "model", tmp_path / "int8", spec, calibration_data=files)
    assert [run.shapes for run in report.fresh.runs] == [{"names": (1,)}]
    (spool,) = tftrt["calls"][-1]["calibration"].values()
    assert spool.endswith("calibration_0")
    # A dict of calibration data: one batch by input, or by signature.
    by_input = {"names": np.array([b"x", b"y"])}
    report = here(tmp_path / "model", tmp_path / "batch", spec, calibration_data=by_input)
    assert [run.shapes for run in report.fresh.runs] == [{"names": (2,)}]
    spec = ConversionSpec("INT8", input_shapes=SHAPES, require_int8=False)
    scores = {"scores": [np.ones(SHAPES["x"], np.float32)]}
    report = here(tmp_path / "model", tmp_path / "scores", spec, calibration_data=scores)
    assert {s.name: s.converter for s in report.signatures} == {"scores": "copy", "words": "native"}
    for options, text in (
        ({"build_data": {"words": own["words"], "pair": []}}, "signature 'pair', which is not"),
        ({"build_data": []}, "build_data: the data is empty"),
        ({"build_data": str(tmp_path / "no.mp4")}, "no.mp4: no such file"),
        ({"build_data": [np.zeros(3)]}, "is float64, the model takes string"),
    ):
        with pytest.raises(SpecError, match=text):
            spec = ConversionSpec(input_shapes=SHAPES)
            here(tmp_path / "model", tmp_path / "no", spec, **options)


def frozen_graph(path: Path, shape: list[int | None], scope: str = "") -> Path:
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, shape, name=f"{scope}x")
        tf.matmul(x, np.ones((3, 2), np.float32), name=f"{scope}y")
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


def test_a_batch_that_the_graph_fixes(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    fixed = frozen_graph(tmp_path / "fixed.pb", [7, 3])
    report = here(fixed, tmp_path / "out", ConversionSpec())
    assert report.spec.mode == "static" and report.spec.max_batch_size == 7
    assert [run.shapes for run in report.fresh.runs] == [{"x": (7, 3)}]
    assert tftrt["calls"][-1]["spec"]["max_batch_size"] == 7
    with pytest.raises(SpecError, match="max_batch_size=4: .* has the batch 7 in its graph"):
        here(fixed, tmp_path / "no", ConversionSpec(max_batch_size=4))
    here(fixed, tmp_path / "more", ConversionSpec(max_batch_size=9))
    assert tftrt["calls"][-1]["spec"]["max_batch_size"] == 9
    open_batch = frozen_graph(tmp_path / "open.pb", [None, 3])
    assert here(open_batch, tmp_path / "one", ConversionSpec()).spec.max_batch_size == 1


def test_a_batch_of_the_data_to_build_with(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    source = frozen_graph(tmp_path / "open.pb", [None, 3])
    report = here(source, tmp_path / "out", ConversionSpec(), build_data=[X[:2], X[:6]])
    assert report.spec.mode == "static" and report.spec.max_batch_size == 6
    assert [run.shapes for run in report.fresh.runs] == [{"x": (6, 3)}, {"x": (2, 3)}]
    with pytest.raises(SpecError, match="max_batch_size=4: .* has the batch 6 in build_data"):
        here(source, tmp_path / "no", ConversionSpec(max_batch_size=4), build_data=[X[:6]])
    # Declared shapes decide alone.
    spec = ConversionSpec(input_shapes=SHAPES)
    report = here(source, tmp_path / "declared", spec, build_data=[X[:6]])
    assert report.spec.max_batch_size == 4


def test_the_cache_has_room_for_the_shapes_of_the_data(
    tmp_path: Path, tftrt: Mapping[str, Any]
) -> None:
    source, data = save(tmp_path / "model"), [X[:1], X[:2], X[:4], X[:2]]
    spec = ConversionSpec(allow_build_at_runtime=True)
    here(source, tmp_path / "out", spec, build_data=data)
    assert tftrt["calls"][-1]["spec"]["maximum_cached_engines"] == 3
    here(source, tmp_path / "more", ConversionSpec(), build_data=data)
    assert tftrt["calls"][-1]["spec"]["maximum_cached_engines"] == 1003
    here(source, tmp_path / "as_asked", ConversionSpec(maximum_cached_engines=4), build_data=data)
    assert tftrt["calls"][-1]["spec"]["maximum_cached_engines"] == 4
    with pytest.raises(SpecError, match="maximum_cached_engines=2: build_data has 3 shapes"):
        here(source, tmp_path / "no", ConversionSpec(maximum_cached_engines=2), build_data=data)
    explicit = ConversionSpec(profile_strategy="Optimal")
    here(source, tmp_path / "one", explicit, build_data=data)
    assert tftrt["calls"][-1]["spec"]["maximum_cached_engines"] == 1


def test_a_graph_of_open_shapes(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    """A graph is converted in static mode, which needs declared shapes. If it may build engines at
    runtime, it is converted in dynamic mode, by V2."""
    source = frozen_graph(tmp_path / "open.pb", [None, None])
    cure = "or mode='dynamic' with shape_ranges, .*; or mode='dynamic' with allow_build_at_runtime"
    with pytest.raises(SpecError, match=cure):
        here(source, tmp_path / "no", ConversionSpec(outputs=["y"]))
    spec = ConversionSpec(input_shapes=SHAPES, outputs=["y"], allow_build_at_runtime=True)
    report = here(source, tmp_path / "out", spec)
    assert (report.spec.mode, report.spec.allow_build_at_runtime) == ("dynamic", True)
    assert "what static mode cannot do" in report.reason


def test_names_that_no_signature_can_have(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    source = frozen_graph(tmp_path / "scoped.pb", [None, 3], "import/")
    spec = ConversionSpec(input_shapes={"import/x:0": (4, 3)}, outputs=["import/y"])
    report = here(source, tmp_path / "out", spec)
    assert [run.shapes for run in report.fresh.runs] == [{"import_x": (4, 3)}]
    assert report.renamed_inputs == {"import/x": "import_x"}
    assert "import/x as import_x" in str(report)
    record = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert record["renamed_inputs"] == {"import/x": "import_x"}
    again = ConversionSpec.from_json(record["spec"])
    here(source, tmp_path / "again", again)


def test_a_keras_file(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    source = keras_file(tmp_path / "model.keras")
    report = here(source, tmp_path / "out", ConversionSpec(input_shapes=SHAPES))
    assert (report.kind, report.spec.mode) == ("keras", "dynamic")
    assert "the source is a keras" in report.reason
    assert {s.name for s in report.signatures} == {"serve", "serving_default"}
    assert report.verification.passed and len(report.verification.outputs) == 2
    # The conversion gets the SavedModel that the source was exported as.
    assert str(tftrt["calls"][-1]["saved_model"]) != str(source)
    record = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert record["kind"] == "keras" and list(record["source_hash"]) == ["model.keras"]
    repeat = (tmp_path / "out" / "repeat.sh").read_text()
    assert f'-m converters convert \\\n  {source} "$1" \\\n' in repeat
    assert left_in(tmp_path) == ["model.keras", "out"]


def test_a_meta_graph_and_its_checkpoint(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    source = session_graph(tmp_path)[1]
    spec = ConversionSpec(max_batch_size=4, outputs=["y"])
    report = here(source, tmp_path / "out", spec)
    assert (report.kind, report.spec.mode) == ("meta_graph", "static")
    assert "the source is a meta graph" in report.reason
    assert [run.shapes for run in report.fresh.runs] == [SHAPES]
    assert [o.difference.name for o in report.verification.outputs] == ["y"]
    record = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert record["kind"] == "meta_graph" and record["spec"]["outputs"] == ["y"]
    assert {name.partition("-")[0] for name in record["source_hash"]} == {
        f"model.ckpt.{end}" for end in ("meta", "index", "data")
    }
    repeat = (tmp_path / "out" / "repeat.sh").read_text()
    assert f'-m converters convert \\\n  {source} "$1" \\\n' in repeat
    with pytest.raises(ModelError, match="has no signatures: name its outputs"):
        here(source, tmp_path / "no", ConversionSpec(max_batch_size=4))


class Engines:
    """Pretends that the converted model has one engine, which serves the shapes given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *served: tuple[int, ...]) -> None:
        self.asked: list[Any] = []
        self.served = served
        monkeypatch.setattr(engine_use, "engine_nodes", lambda graph: ["one"])
        monkeypatch.setattr(engine_use, "fresh_check", self.check)

    def check(self, folder: Path, requests: Any, tags: Any) -> FreshReport:
        self.asked += requests
        runs = []
        for name, shapes, _ in requests:
            ran = shapes["x"] in self.served
            engines, native = (("one",), ()) if ran else ((), ("one",))
            runs.append(ShapeRun(name, shapes, 0.1, engines, (), native))
        return FreshReport(0.1, 0.1, tuple(runs))


def test_data_that_no_engine_serves(
    tmp_path: Path, tftrt: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorFlow computes both sides then, so their agreement proves nothing about the engines."""
    source = save(tmp_path / "model")
    spec = ConversionSpec(input_shapes=SHAPES)
    engines = Engines(monkeypatch)
    with pytest.raises(VerificationError, match="proves nothing of the engines"):
        here(source, tmp_path / "out", spec, verify_data=[X[:5], X[:6]], bisect=True)
    assert [shapes["x"] for _, shapes, _ in engines.asked] == [(5, 3), (6, 3)]
    assert len(tftrt["calls"]) == 1  # There was no bisection.
    assert left_in(tmp_path) == ["model"]
    # The fresh process has run the declared shapes, so the comparison does not run them again.
    engines.asked.clear()
    report = here(source, tmp_path / "out", spec, verify_data=[X[:4], X[:4]])
    assert report.verification.passed and not engines.asked
    report = here(source, tmp_path / "some", spec, verify_data=[X[:4], X[:5]])
    assert report.verification.passed
    assert report.verification.notes == (
        "signature 'serving_default': TensorFlow ran instead of engines for x:5x3",
    )
    assert "note: signature 'serving_default'" in str(report)
