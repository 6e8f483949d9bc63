"""Tests the stages of a conversion around TF-TRT: inputs, data, proofs, and an output that is
complete or absent. copied_tftrt.py replaces TF-TRT; test_convert_gpu.py uses the real one."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from copied_models import SHAPES, Model, X, here, keras_file, left_in, save

from converters import (
    ConversionSpec,
    ShapeRange,
    __version__,
    calibrate,
    convert,
    inspect_model,
)
from converters.checks.fresh_check import FreshReport, ShapeRun
from converters.denylist_search import Denylist
from converters.inputs.batch_files import read_spool, write_spool
from converters.inputs.calibration_data import VideoFiles
from converters.model.model_source import freeze
from converters.model.trt_graph import engine_nodes, load_graph
from converters.tftrt import engine_job
from converters.tftrt.save_converted import save_converted
from converters.util.errors import (
    CalibrationError,
    ConverterError,
    ModelError,
    OutputError,
    SpecError,
    VerificationDataError,
    VerificationError,
)
from converters.util.record import file_hash

pytest_plugins = ["copied_tftrt"]  # fixture tftrt

CONVERTED = Path(__file__).resolve().parents[1] / "golden" / "converted"


def test_what_is_left(tmp_path: Path, tftrt: Mapping[str, Any], in_a_fresh_process: None) -> None:
    source = save(tmp_path / "model")
    report = here(source, tmp_path / "out", ConversionSpec("FP16", input_shapes=SHAPES))
    assert report.verification.passed
    assert [run.shapes for run in report.fresh.runs] == [SHAPES]
    record = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert record["spec"]["precision"] == "FP16"
    assert record["kind"] == "saved_model"
    assert record["signatures"][0]["name"] == "serving_default"
    assert "saved_model.pb" in record["source_hash"]
    assert {step["step"] for step in record["timings"]} >= {
        "looking for TensorRT and the GPU, reading the model",
        "copying",  # The child reports this step.
        "running every shape in a fresh process",
    }
    script = tmp_path / "out" / "repeat.sh"
    subprocess.run(["sh", "-n", str(script)], check=True)
    assert str(source) in script.read_text()
    assert "serving_default" in str(report)
    assert left_in(tmp_path) == ["model", "out"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fp16_explicit", "1 engine with 9 of 9 compute nodes (100 %), by "),
        ("fp16_gap", "2 engines with 19 of 20 compute nodes (95 %), by "),
    ],
)
def test_the_summary_counts_compute_nodes(
    name: str, said: str, tmp_path: Path, tftrt: dict[str, Any]
) -> None:
    """Constants and identities are in no engine, even if TensorRT runs the whole model."""
    tftrt["model"] = CONVERTED / name
    tftrt["engines"] = [
        engine.canonical_name for engine in engine_nodes(load_graph(CONVERTED / name).graph_def)
    ]
    source = CONVERTED / "native" / {"fp16_explicit": "cnn", "fp16_gap": "gap"}[name]
    spec = ConversionSpec(
        "FP16", shape_ranges={"image": ShapeRange((1, 16, 16, 3), (8, 16, 16, 3))}
    )
    report = here(source, tmp_path / "out", spec, verify=False)
    assert f"serving_default: {said}" in str(report)
    seen = inspect_model(tmp_path / "out", ask=False)
    (signature,) = report.signatures
    assert signature.compute_nodes_in_engines == seen.converted_compute
    assert signature.compute_nodes == seen.converted_compute + len(seen.left_out)


def test_a_graph_is_converted_in_static_mode(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
        tf.matmul(x, np.ones((3, 2), np.float32), name="y")
    (tmp_path / "frozen.pb").write_bytes(graph.as_graph_def().SerializeToString())
    spec = ConversionSpec(max_batch_size=4, outputs=["y"])
    with pytest.raises(SpecError, match="max_batch_size"):
        here(save(tmp_path / "model"), tmp_path / "no", spec)
    only_outputs = ConversionSpec(input_shapes=SHAPES, outputs=["y"])
    with pytest.raises(SpecError, match="is a Keras file, whose signatures name their outputs"):
        here(keras_file(tmp_path / "a.keras"), tmp_path / "no", only_outputs)
    with pytest.raises(SpecError, match="is a SavedModel, whose signatures name their outputs"):
        here(tmp_path / "model", tmp_path / "no", only_outputs)
    report = here(tmp_path / "frozen.pb", tmp_path / "out", spec)
    assert report.spec.mode == "static"
    assert "frozen graph" in report.reason
    assert [run.shapes for run in report.fresh.runs] == [SHAPES]


def test_outputs_that_differ_leave_nothing(tmp_path: Path, tftrt: dict[str, Any]) -> None:
    source = save(tmp_path / "model")
    tftrt["model"] = save(tmp_path / "other", Model(offset=0.5))
    spec = ConversionSpec(input_shapes=SHAPES)
    with pytest.raises(VerificationError, match="output 'y'"):
        here(source, tmp_path / "out", spec)
    assert left_in(tmp_path) == ["model", "other"]
    assert here(source, tmp_path / "out", spec, verify=False).verification is None


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_stops_leave_nothing(tmp_path: Path, tftrt: dict[str, Any], error: BaseException) -> None:
    source = save(tmp_path / "model")
    tftrt["raise"] = error
    kind = OutputError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(kind):
        here(source, tmp_path / "out", ConversionSpec(input_shapes=SHAPES))
    assert left_in(tmp_path) == ["model"]


def test_the_source_is_not_overwritten(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    source = save(tmp_path / "a" / "model")
    for output in (source, tmp_path / "a", source / ".." / "model", source / "out"):
        with pytest.raises(OutputError, match="and the source .* overlap"):
            here(source, output, ConversionSpec(input_shapes=SHAPES), overwrite=True)
    assert left_in(source) == ["assets", "fingerprint.pb", "saved_model.pb", "variables"]


def test_the_other_signatures_are_kept(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    source = save(tmp_path / "model", a="serve", b="twice")
    spec = ConversionSpec(input_shapes=SHAPES, signatures=["b"])
    report = here(source, tmp_path / "out", spec)
    assert {s.name: s.converter for s in report.signatures} == {"b": "copy", "a": "native"}
    assert tftrt["calls"][-1]["kept"] == ["a"]
    with pytest.raises(ModelError, match="no signature 'c'; it has 'a', 'b'"):
        here(source, tmp_path / "no", ConversionSpec(input_shapes=SHAPES, signatures=["c"]))


def test_shapes_must_be_declared_and_fit(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    source = save(tmp_path / "model")
    for spec, text in (
        (ConversionSpec(), "open shapes .x:.x3. and no declared shapes.*, or shape_ranges, to"),
        (ConversionSpec(input_shapes={"x": (4, 5)}), "x:4x5 does not fit .*whose input is .x3"),
        (ConversionSpec(input_shapes={"image": (4, 3)}), "'image'. are not the inputs"),
    ):
        with pytest.raises(SpecError, match=text):
            here(source, tmp_path / "out", spec)
    assert not tftrt["calls"]


def raises_later() -> Iterator[np.ndarray]:
    yield X[:4]
    raise RuntimeError("the disk is gone")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (lambda: iter(()), "the data is empty"),
        (raises_later, "calibration batch 2: .*the disk is gone"),
        (lambda: [X[:4], X[:3]], "calibration batch 2"),
        (lambda: [X[:4] * np.nan], "calibration batch 1"),
        (lambda: [{"z": X[:4]}], "unknown input z"),
        (None, "INT8 needs calibration data"),
    ],
    ids=["empty", "raises", "changes shape", "nan", "unknown input", "none"],
)
def test_bad_calibration_data(
    tmp_path: Path, tftrt: Mapping[str, Any], data: Any, text: str
) -> None:
    source = save(tmp_path / "model")
    with pytest.raises(CalibrationError, match=text):
        here(
            source,
            tmp_path / "out",
            ConversionSpec("INT8", input_shapes=SHAPES),
            calibration_data=data,
        )
    assert not tftrt["calls"]
    assert left_in(tmp_path) == ["model"]


def test_calibrating_writes_a_table(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    source = save(tmp_path / "model")
    table = tmp_path / "x.calib_table"
    data = [X[i : i + 4] for i in range(0, 40, 4)]
    # Calibrating does not check require_int8. The conversions that use the table do.
    proved = ConversionSpec(require_int8=True)
    calibrate(source, table, proved, calibration_data=data, child=False, progress=False)
    assert table.read_text() == "TRT-8600-EntropyCalibration2\nx: 3c010a14\n"
    with pytest.raises(OutputError, match="exists"):
        calibrate(source, table, calibration_data=data, child=False, progress=False)
    # A conversion reads the table and needs no data.
    spec = ConversionSpec("INT8", input_shapes=SHAPES, calibration_table=str(table))
    with pytest.raises(ConverterError, match="precision"):
        here(source, tmp_path / "no", ConversionSpec("FP16", calibration_table=str(table)))
    here(source, tmp_path / "out", spec)
    assert tftrt["calls"][-1]["tables"] == {"": table.read_text()}
    table.write_text(table.read_text().replace("8600", "8501"))
    with pytest.raises(CalibrationError, match=r"made by TensorRT 8\.5\.1, and 8\.6\.0 is loaded"):
        here(source, tmp_path / "no", spec)


def test_a_table_is_found_again_from_another_folder(
    tmp_path: Path,
    tftrt: Mapping[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = save(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    spec = ConversionSpec("INT8", input_shapes=SHAPES, calibration_table="x.calib_table")
    convert(source, "out", spec, calibration_data=[X[:4]], child=False)
    record = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert record["spec"]["calibration_table"] == str(tmp_path / "x.calib_table")
    # repeat.sh cannot pass a Python object as data, but it can pass the table.
    assert "cannot be repeated" not in (tmp_path / "out" / "repeat.sh").read_text()
    assert "is not read" not in capsys.readouterr().err
    convert(source, "again", spec, calibration_data=[X[:4]], child=False)
    assert "x.calib_table has the ranges: the calibration data is not read" in (
        capsys.readouterr().err
    )


def test_what_was_asked_for_is_repeated_from_another_folder(
    tmp_path: Path, tftrt: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Any] = []
    load = "converters.conversion_plan.load_custom_ops"
    monkeypatch.setattr(load, lambda imports, libraries: loaded.append(libraries))
    source = save(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    spec = ConversionSpec(input_shapes=SHAPES, op_libraries=[Path("ops.so")], tags={"serve"})
    here(source, tmp_path / "out", spec)
    record = json.loads((tmp_path / "out" / "conversion.json").read_text())
    monkeypatch.chdir("/")
    again = ConversionSpec.from_json(record["asked"])
    assert again.tags == ("serve",) and again.precision is None
    here(source, tmp_path / "again", again)
    assert loaded == [(str(tmp_path / "ops.so"),)] * 2


def test_the_record_has_data_settings_and_version(
    tmp_path: Path, tftrt: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, table = save(tmp_path / "model"), tmp_path / "x.calib_table"
    for index in range(2):
        np.save(tmp_path / f"batch{index}.npy", X[4 * index :][:4])
    monkeypatch.setenv("TF_TRT_MAX_ALLOWED_ENGINES", "5")
    spec = ConversionSpec("INT8", input_shapes=SHAPES, calibration_table=str(table))
    seen = str(tmp_path / "batch1.npy")
    options = {"calibration_data": [str(tmp_path / "batch*.npy")], "verify_data": seen}

    def recorded(name: str, spec: ConversionSpec, **options: Any) -> Any:
        here(source, tmp_path / name, spec, **options)
        return json.loads((tmp_path / name / "conversion.json").read_text())

    record = recorded("out", spec, **options)
    files = {str(tmp_path / f"batch{i}.npy"): file_hash(tmp_path / f"batch{i}.npy") for i in (0, 1)}
    assert record["data_hash"] == {
        "calibration_data": files,
        "verify_data": {seen: files[seen]},
        "calibration_table": {str(table): file_hash(table)},
    }
    assert record["settings"] == {"TF_TRT_MAX_ALLOWED_ENGINES": "5"}
    assert record["package_version"] == __version__
    # The table exists now, so the conversion does not read the data.
    again = recorded("again", spec, calibration_data=options["calibration_data"], verify=False)
    assert again["data_hash"] == {"calibration_table": {str(table): file_hash(table)}}
    # A Python object has no file to hash. The record has the hash of the ranges measured on it.
    other = recorded("other", ConversionSpec("INT8"), calibration_data=[X[:4]])
    assert other["data_hash"] == {"calibration_table": {"measured": file_hash(table)}}
    videos = VideoFiles([str(tmp_path / "batch0.npy"), "rtsp://camera"], lambda path: X[:4])
    other = recorded("videos", ConversionSpec("INT8"), calibration_data=videos)
    assert list(other["data_hash"]["calibration_data"]) == [str(tmp_path / "batch0.npy")]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("none/x.calib_table", "folder .*none does not exist"),
        ("model/saved_model.pb/x.calib_table", "is no folder"),
        ("model", "is a folder: name a file"),
    ],
)
def test_a_table_that_cannot_be_written_is_told_first(
    tmp_path: Path, tftrt: Mapping[str, Any], place: str, text: str
) -> None:
    source = save(tmp_path / "model")
    table = str(tmp_path / place)

    def data() -> Iterator[np.ndarray]:
        raise AssertionError("the data was read")

    spec = ConversionSpec("INT8", input_shapes=SHAPES, calibration_table=table)
    with pytest.raises(OutputError, match=text):
        here(source, tmp_path / "out", spec, calibration_data=data)
    with pytest.raises(OutputError):
        calibrate(source, table, calibration_data=data, child=False, progress=False)
    assert left_in(tmp_path) == ["model"]


def test_calibration_by_signature(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    source = save(tmp_path / "model", a="serve", b="twice")
    spec = ConversionSpec("INT8", input_shapes=SHAPES)
    # Two signatures with the same inputs share one generator, which can be read only once.
    here(source, tmp_path / "out", spec, calibration_data=(X[i : i + 4] for i in (0, 4)))
    spools = tftrt["calls"][-1]["calibration"]
    assert spools["a"] == spools["b"]
    by_name = {"a": [X[:4]], "b": [X[4:8]] * 2}
    here(source, tmp_path / "by_name", spec, calibration_data=by_name)
    spools = tftrt["calls"][-1]["calibration"]
    assert spools["a"] != spools["b"]
    with pytest.raises(CalibrationError, match="has nothing for signature 'b'"):
        here(source, tmp_path / "no", spec, calibration_data={"a": [X[:4]]})


def test_data_for_another_precision_is_an_error(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    source = save(tmp_path / "model")
    with pytest.raises(SpecError, match="calibration_data has no effect"):
        here(
            source, tmp_path / "out", ConversionSpec(input_shapes=SHAPES), calibration_data=[X[:4]]
        )


def test_spool_keeps_names_and_values(tmp_path: Path) -> None:
    half = tf.constant(X[:4], tf.bfloat16).numpy()  # NumPy's files cannot hold this type.
    given = [{"scope/x": X[:4], "file": np.arange(i), "b": half} for i in range(1, 4)]
    assert write_spool(tmp_path / "s", given) == 3
    for batch, again in zip(given, read_spool(str(tmp_path / "s"))()):
        assert list(again) == list(batch)
        for name, value in batch.items():
            np.testing.assert_array_equal(again[name], value)
            assert again[name].dtype == value.dtype


def test_a_damaged_model(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    source = save(tmp_path / "model")
    (source / "saved_model.pb").write_bytes(b"\xff\xfe no model")
    with pytest.raises(ModelError, match=r"saved_model\.pb"):
        here(source, tmp_path / "out", ConversionSpec(input_shapes=SHAPES))
    assert left_in(tmp_path) == ["model"]


def test_damaged_variables(tmp_path: Path) -> None:
    source = save(tmp_path / "model")
    (data,) = (source / "variables").glob("variables.data*")
    data.write_bytes(data.read_bytes()[:10])
    spec = ConversionSpec(input_shapes=SHAPES).resolved().to_json()
    with pytest.raises(ModelError, match=r"model cannot be loaded: .*export it again"):
        engine_job.convert_signatures(
            str(source), str(tmp_path), spec, ["serving_default"], [], {}, None, False
        )


def test_the_report_tells_what_the_fresh_process_built(
    tmp_path: Path, tftrt: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(folder: Path, requests: Any, tags: Any) -> FreshReport:
        runs = tuple(ShapeRun(n, shapes, 9.0, ("e",), ("e",), ()) for n, shapes, _ in requests)
        return FreshReport(0.1, 0.1, runs)

    monkeypatch.setattr("converters.conversion_stages.fresh_check", built)
    spec = ConversionSpec(
        input_shapes=SHAPES, save_gpu_specific_engines=False, allow_build_at_runtime=True
    )
    report = here(save(tmp_path / "model"), tmp_path / "out", spec)
    assert "of 1 shapes 1 built an engine, 0 ran in TensorFlow" in str(report)
    assert "no engine built" not in str(report)


def test_lookup_tables_of_another_load_are_saved(tmp_path: Path) -> None:
    """TF-TRT's converter loads the model a second time. The converted functions use the lookup
    tables of that load, so these must be saved too."""
    words = tmp_path / "words.txt"
    words.write_text("cat\ndog\n")

    class Words(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            line = tf.lookup.TextFileIndex
            self.table = tf.lookup.StaticHashTable(
                tf.lookup.TextFileInitializer(
                    str(words), tf.string, line.WHOLE_LINE, tf.int64, line.LINE_NUMBER
                ),
                -1,
            )

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "names")])
        def ids(self, names: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"ids": self.table.lookup(names)}

    module = Words()
    signatures = {"a": module.ids, "b": module.ids}
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=signatures)
    words.unlink()
    first, second = (tf.saved_model.load(str(tmp_path / "model")) for _ in range(2))
    for kept in ([], ["b"]):
        out = tmp_path / f"out{len(kept)}"
        functions = {"a": freeze(second.signatures["a"])}
        functions["a"].graph.structured_outputs = {"ids": functions["a"].graph.outputs[0]}
        source, tags = tmp_path / "model", ("serve", "gpu")
        save_converted(out, functions, {}, [first, second], kept, source, tags)
        again = tf.saved_model.load(str(out), tags=list(tags))
        assert sorted(again.signatures) == ["a", *kept]
        for function in again.signatures.values():
            ids = next(iter(function(names=tf.constant(["dog", "cow"])).values()))
            np.testing.assert_array_equal(ids, [1, -1])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (lambda: "typo.npz", "typo.npz: no such file"),
        (lambda: [{"z": X[:4]}], "unknown input z"),
        (lambda: [X[:4].astype(np.float64)], "float64, the model takes float32"),
        (lambda: [], "the data is empty"),
        (lambda: (batch for batch in [X[:4], X[:4, :2]]), "verification batch 2: .* shape 4x2"),
        (lambda: {"serving_default": [X[:4, 0]]}, "has shape 4, the model takes"),
    ],
    ids=["no file", "unknown input", "dtype", "empty", "generator", "by signature"],
)
def test_bad_data_to_compare_on_is_told_before_the_build(
    tmp_path: Path, tftrt: Mapping[str, Any], data: Any, text: str
) -> None:
    source = save(tmp_path / "model")
    spec = ConversionSpec(input_shapes=SHAPES)
    with pytest.raises(VerificationDataError, match=text):
        here(source, tmp_path / "out", spec, verify_data=data())
    assert not tftrt["calls"] and left_in(tmp_path) == ["model"]


def test_one_generator_is_compared_in_every_signature(
    tmp_path: Path, tftrt: Mapping[str, Any]
) -> None:
    source = save(tmp_path / "model", a="serve", b="twice")
    spec = ConversionSpec(input_shapes=SHAPES)
    data = (X[i : i + 4] for i in (0, 4, 8))
    report = here(source, tmp_path / "out", spec, verify_data=data)
    assert report.verification.batches == {"a": 3, "b": 3}
    assert not report.verification.generated
    data = {"b": (X[i : i + 4] for i in (0, 4))}
    report = here(source, tmp_path / "b", spec, verify_data=data)
    assert report.verification.batches == {"a": 4, "b": 2}  # 4 random batches for a


@pytest.mark.parametrize("options", [{"bisect": True}, {"verify_data": [X[:4]]}], ids=" ".join)
def test_checks_that_are_left_out(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=f"{next(iter(options))} has no effect with verify=False"):
        here(tmp_path, tmp_path / "out", ConversionSpec(), verify=False, **options)


def test_a_spec_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="spec is a dict: give a ConversionSpec"):
        convert(tmp_path, tmp_path / "out", {"precision": "FP16"})


def test_int8_cannot_be_proved_without_a_child(tmp_path: Path, tftrt: Mapping[str, Any]) -> None:
    source = save(tmp_path / "model")
    asked = ConversionSpec("INT8", input_shapes=SHAPES, require_int8=True)
    with pytest.raises(SpecError, match="require_int8=True is proved by TensorRT's build log"):
        here(source, tmp_path / "out", asked, calibration_data=[X[:4]])
    assert not tftrt["calls"] and left_in(tmp_path) == ["model"]
    left_out = dataclasses.replace(asked, require_int8=None)
    np.save(tmp_path / "x.npy", X[:4])
    report = here(source, tmp_path / "out", left_out, calibration_data=[tmp_path / "x.npy"])
    assert report.spec.require_int8 is False and report.asked.require_int8 is None
    assert "--no-child" in (tmp_path / "out" / "repeat.sh").read_text()
    # A spec with another fault gets the error for that one.
    for wrong in ({"precision": "FP16"}, {"require_int8": "no"}):
        with pytest.raises(SpecError, match="require_int8=") as error:
            here(source, tmp_path / "none", dataclasses.replace(asked, **wrong))
        assert "build log" not in str(error.value)


def test_bisect_converts_without_what_differs(
    tmp_path: Path, tftrt: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, other = save(tmp_path / "model"), save(tmp_path / "other", Model(offset=0.5))
    nodes = {"one": "Conv2D", "two": "Conv2D", "three": "Relu"}
    monkeypatch.setattr("converters.denylist_search.nodes_in_engines", lambda graph_def: nodes)

    def converted(spec: ConversionSpec) -> Path | None:
        agrees = "two" in spec.node_denylist or "Conv2D" in spec.op_denylist
        return None if agrees else other

    tftrt["model"] = converted
    spec = ConversionSpec("FP16", input_shapes=SHAPES, node_denylist=["four"])
    # Each trial reads the data again.
    report = here(source, tmp_path / "out", spec, bisect=True, verify_data=iter([X[:4]]))
    assert report.verification.passed and report.verification.batches == {"serving_default": 1}
    assert report.spec.node_denylist == ("four", "two") and report.spec.op_denylist == ()
    assert "kept out of TensorRT by bisection: two" in str(report)
    record = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert record["spec"]["node_denylist"] == ["four", "two"]
    found = Denylist.read(tmp_path / "out" / "denylist.json")
    assert found.node_denylist == ("two",) and found.provenance["op_types"] == {"two": "Conv2D"}
    trials = tftrt["calls"][1:-1]
    assert len(trials) == found.provenance["conversions"]
    assert all(call["allow_none"] for call in trials) and not tftrt["calls"][-1]["allow_none"]
    assert left_in(tmp_path) == ["model", "other", "out"]
