"""Converts models on a GPU with TensorRT: which engines are built, what they compute, and which
requests are refused."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import gpu_models
import numpy as np
import pytest
import tensorflow as tf
from combinations import SMALL, WAYS, chosen
from digits import accuracy, input_of, pictures_and_labels
from gpu_conversions import run, spec_of

from converters import ConversionSpec, ShapeRange, calibrate, convert, verify
from converters.checks.fresh_check import LOG_ENGINES, Request, events, fresh_check
from converters.int8.calibration_table import read_tables
from converters.model.trt_graph import engine_nodes, load_graph
from converters.report.inspect_model import inspect_model
from converters.spec.thresholds import Thresholds, default_thresholds
from converters.util.errors import CalibrationError, EngineError, VerificationError

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

RANDOM = np.random.default_rng(0)
# How much accuracy a converted model may lose against the native one.
MOST_LOST = {"FP32": 0.001, "FP16": 0.001, "INT8": 0.01}


@pytest.fixture(autouse=True)
def drawn_afresh() -> None:
    """Starts each test with the same random numbers, whichever tests this process ran before."""
    RANDOM.bit_generator.state = np.random.default_rng(0).bit_generator.state


def images(batch: int, side: int = 16) -> np.ndarray:
    return RANDOM.normal(size=(batch, side, side, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def digits(tmp_path_factory) -> tuple[Path, np.ndarray, np.ndarray, np.ndarray]:
    """Trains a network on digits. Returns its folder, training images, test images and labels."""
    training, known, pictures, labels = pictures_and_labels()
    with tf.device("CPU:0"):  # A GPU machine may lack cuDNN's libraries for training.
        model = gpu_models.classifier(16, 1, 10)
        model.compile(tf.keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
        model.fit(training, known, 64, epochs=30, verbose=0)
    folder = tmp_path_factory.mktemp("digits") / "model"
    model.export(str(folder), verbose=False)
    return folder, training, pictures, labels


# WAYS lacks static INT8, which test_static_int8_by_custom_ranges converts.
@pytest.mark.parametrize(("precision", "mode"), WAYS)
def test_accuracy_on_digits(digits, tmp_path, precision, mode) -> None:
    folder, training, pictures, labels = digits
    spec = spec_of(precision, mode, {input_of(folder): (100, 16, 16, 1)})
    options = {}
    if precision == "INT8":
        # For a network this small, TensorRT finds no INT8 kernel that is the fastest.
        spec = dataclasses.replace(spec, require_int8=False)
        # The batches are smaller than the one that is served. Stock TF-TRT would build the engine
        # again at the first request for that.
        options["calibration_data"] = (training[i : i + 50] for i in range(0, 1000, 50))
    report = convert(
        folder,
        tmp_path / "out",
        spec,
        verify_data=[pictures[i : i + 100] for i in range(0, 400, 100)],
        child=precision == "INT8",  # The proof of INT8 is in the log of a child.
        **options,
    )
    assert report.fresh.passed
    assert all(r.engines and not r.built and not r.native for r in report.fresh.runs)
    # Keras exports one function under two names, and one engine serves both.
    assert {s.engines for s in report.signatures} == {report.signatures[0].engines}
    assert len(report.signatures[0].engines) == 1
    native = accuracy(folder, pictures, labels)
    converted = accuracy(tmp_path / "out", pictures, labels)
    print(f"{precision} {mode}: {converted:.4f} of {native:.4f}")
    assert native > 0.95
    assert converted >= native - MOST_LOST[precision]
    record = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert record["spec"]["precision"] == precision
    if precision == "INT8":
        assert record["calibration"]["layers"] > 0


@pytest.mark.alone  # Other work on the GPU can make INT8's kernels look slow to TensorRT.
def test_int8_kernels_are_proved(tmp_path) -> None:
    """convert counts the layers that read INT8. If there are none, because TensorRT finds other
    kernels faster, the conversion fails."""
    with tf.device("CPU:0"):
        tf.keras.utils.set_random_seed(0)
        wide = tf.keras.Input((56, 56, 256), name="image")
        model = tf.keras.Model(wide, gpu_models.blocks(wide, 512, 512, 512))
        model.export(str(tmp_path / "wide"), verbose=False)
        gpu_models.classifier(16, 3, 5).export(str(tmp_path / "small"), verbose=False)
    shapes = {"wide": (32, 56, 56, 256), "small": (4, 16, 16, 3)}
    for name, shape in shapes.items():
        data = [RANDOM.normal(size=shape).astype(np.float32) for _ in range(3)]
        given = input_of(tmp_path / name)
        spec = ConversionSpec(
            "INT8",
            input_shapes={given: shape},
            signatures=["serving_default"],
            # The scores of an untrained classifier nearly tie.
            thresholds=default_thresholds("INT8", generated=True),
        )
        out = tmp_path / f"out_{name}"
        try:
            done = convert(tmp_path / name, out, spec, calibration_data=data, verify_data=data)
        except CalibrationError as error:
            assert name == "small"
            assert "none reads INT8" in str(error)
            assert not out.exists()
            continue
        assert done.calibration["int8_share"] > (0.5 if name == "wide" else 0)


def test_int8_table_is_written_and_used_again(digits, tmp_path) -> None:
    folder, training, pictures, _ = digits
    name = input_of(folder)
    data = [training[i : i + 50] for i in range(0, 500, 50)]
    spec = ConversionSpec("INT8", input_shapes={name: (50, 16, 16, 1)}, require_int8=False)
    table = tmp_path / "digits.calib_table"
    calibrate(folder, table, spec, calibration_data=data, child=False)
    (found,) = read_tables(table).values()
    assert found.algorithm == "EntropyCalibration2"
    assert len(found.scales) > 5
    used = dataclasses.replace(spec, calibration_table=str(table))
    convert(folder, tmp_path / "out", used, verify_data=[pictures[:50]], child=False)
    (engine,) = engine_nodes(load_graph(tmp_path / "out").graph_def)
    assert engine.calibration_table == found.serialize()
    with pytest.raises(CalibrationError, match="INT8 needs calibration data"):
        convert(folder, tmp_path / "none", spec, child=False)
    assert not (tmp_path / "none").exists()


def test_a_model_converted_twice_lives_in_one_process(tmp_path) -> None:
    """TF Serving loads the new version of a model beside the old one. TF-TRT keeps the engines of a
    process by name, so the two must not share names."""
    source = gpu_models.save_cnn(tmp_path / "model")
    data = images(8)
    want = run(source, image=data)["scores"]
    for name, batch in (("old", 4), ("new", 8)):
        # Without native segments, a request fails if it does not find its engine.
        spec = ConversionSpec(input_shapes={"image": (batch, 16, 16, 3)}, native_segments=False)
        # A child converts the model. In each child, TF-TRT counts the engines' names from zero.
        convert(source, tmp_path / name, spec)
    held = {name: tf.saved_model.load(str(tmp_path / name)) for name in ("old", "new")}
    for name, batch in (("old", 4), ("new", 8), ("old", 2), ("new", 1)):
        serve = held[name].signatures["serving_default"]
        got = serve(image=tf.constant(data[:batch]))["scores"].numpy()
        np.testing.assert_allclose(got, want[:batch], atol=1e-3)


# For each model, the input shapes of the signatures to convert.
MODELS = {
    "gap": {"serving_default": {"image": (4, 16, 16, 3)}},
    "two_inputs": {"serving_default": {"left": (4, 16, 16, 3), "right": (4, 8, 8, 3)}},
    "two_signatures": {
        "scores": {"image": (4, 16, 16, 3)},
        "features": {"picture": (2, 16, 16, 3)},
    },
    "frozen": {"serving_default": {"x": (4, 16, 16, 3)}},
}


@pytest.mark.parametrize(("model", "precision", "mode"), chosen(SMALL))
def test_every_model_precision_and_mode(tmp_path, model, precision, mode) -> None:
    make = {
        "gap": gpu_models.save_with_gap,
        "two_inputs": gpu_models.save_two_inputs,
        "two_signatures": gpu_models.save_two_signatures,
        "frozen": gpu_models.write_frozen_graph,
    }[model]
    source = make(tmp_path / ("frozen.pb" if model == "frozen" else "model"))
    inputs = MODELS[model]
    random = np.random.default_rng(0)
    data = {
        signature: [
            {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
            for _ in range(4)
        ]
        for signature, shapes in inputs.items()
    }
    spec = spec_of(precision, mode, *inputs.values())
    if model == "frozen":
        spec = dataclasses.replace(spec, outputs=["scores", "half"])
    options = {}
    bounds = default_thresholds(precision, generated=True)
    if precision == "INT8":
        # The bounds are loose, because the test of digits judges the accuracy of INT8.
        bounds = Thresholds(max_abs=0.5, cosine=0.9)
        spec = dataclasses.replace(spec, require_int8=False)
        options["calibration_data"] = data
    spec = dataclasses.replace(spec, thresholds=bounds)
    report = convert(source, tmp_path / "out", spec, verify_data=data, child=False, **options)
    assert report.fresh.passed and report.verification.passed and not report.verification.notes
    assert {run.signature for run in report.fresh.runs} == set(inputs)
    assert all(run.engines for run in report.fresh.runs)
    converter = "TrtGraphConverter" if mode == "static" else "TrtGraphConverterV2"
    converted = {s.name: s for s in report.signatures if s.converter != "native"}
    assert set(converted) == set(inputs)
    assert {s.converter for s in converted.values()} == {converter}
    if model == "gap":
        assert len(converted["serving_default"].engines) == 2
    if model == "two_signatures":  # It has a third signature, which takes strings.
        (words,) = (s for s in report.signatures if s.converter == "native")
        assert words.name == "words" and "'names' of type string" in words.reason
    for engine in engine_nodes(load_graph(tmp_path / "out").graph_def):
        assert engine.precision == precision
        assert bool(engine.plan) == engine.static == (mode == "static")
        assert engine.implicit_batch == (mode != "explicit")
        assert bool(engine.calibration_table) == (precision == "INT8")


def test_verify_notices_shapes_that_no_engine_serves(digits, tmp_path) -> None:
    folder, _, pictures, _ = digits
    one = {"signatures": ["serving_default"]}
    name = input_of(folder)
    spec = ConversionSpec("FP16", input_shapes={name: (100, 16, 16, 1)}, explicit_batch=True, **one)
    report = convert(folder, tmp_path / "out", spec, verify_data=[pictures[:100]], child=False)
    assert not report.verification.notes
    compared = verify(folder, tmp_path / "out", [pictures[:50]], **one)
    assert not compared.passed and not any(output.failures for output in compared.outputs)
    with pytest.raises(VerificationError, match="no engine serves .*:50x16x16x1"):
        compared.raise_if_failed()
    both = verify(folder, tmp_path / "out", [pictures[:100], pictures[:50]], **one)
    assert both.passed and "ran instead of engines for" in both.notes[0]


def test_an_op_that_tensorrt_does_not_have(tmp_path) -> None:
    source = gpu_models.save_with_gap(tmp_path / "model")
    spec = ConversionSpec(
        "FP16", input_shapes=[{"image": (4, 16, 16, 3)}, {"image": (9, 16, 16, 3)}]
    )
    report = convert(source, tmp_path / "out", spec, child=False)
    assert len(report.signatures[0].engines) == 2
    assert len(report.fresh.runs) == 2
    x = images(9)
    np.testing.assert_allclose(
        run(tmp_path / "out", image=x)["scores"], run(source, image=x)["scores"], atol=0.02
    )
    # A shape that was not declared runs in TensorFlow, and the check says so.
    undeclared = fresh_check(
        tmp_path / "out", [Request("serving_default", {"image": (16, 16, 16, 3)})]
    )
    assert not undeclared.passed
    with pytest.raises(EngineError, match="image:16x16x16x3.* ran in TensorFlow"):
        undeclared.raise_if_failed()


def test_two_inputs_with_ranges(tmp_path) -> None:
    source = gpu_models.save_two_inputs(tmp_path / "model")
    ranges = {
        "left": ShapeRange((1, 16, 16, 3), (8, 16, 16, 3), (4, 16, 16, 3)),
        "right": ShapeRange((1, 8, 8, 3), (8, 8, 8, 3), (4, 8, 8, 3)),
    }
    report = convert(source, tmp_path / "out", ConversionSpec(shape_ranges=ranges), child=False)
    assert [run.shapes["left"][0] for run in report.fresh.runs] == [8, 4, 1]
    left, right = images(3), images(3, 8)
    ours = run(tmp_path / "out", left=left, right=right)
    native = run(source, left=left, right=right)
    assert sorted(ours) == ["features", "mean"]
    for name, value in native.items():
        np.testing.assert_allclose(ours[name], value, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("precision", ["FP32", "INT8"])
@pytest.mark.parametrize("strategy", ["Optimal", "Range+Optimal"])
def test_profile_strategies(digits, tmp_path, strategy: str, precision: str) -> None:
    """Optimal serves single shapes. Range+Optimal serves a range, and tunes one shape of it."""
    folder, training, pictures, labels = digits
    name = input_of(folder)

    def images_of(batch: int) -> tuple[int, ...]:
        return (batch, 16, 16, 1)

    if strategy == "Optimal":
        shapes = {"input_shapes": [{name: images_of(100)}, {name: images_of(50)}]}
    else:
        shapes = {"shape_ranges": {name: ShapeRange(*map(images_of, (1, 100, 50)))}}
    spec = ConversionSpec(precision, profile_strategy=strategy, explicit_batch=True, **shapes)
    options = {}
    if precision == "INT8":
        spec = dataclasses.replace(spec, require_int8=False)
        options["calibration_data"] = (training[i : i + 50] for i in range(0, 1000, 50))
    report = convert(folder, tmp_path / "out", spec, verify_data=[pictures[:100]], **options)
    assert report.spec.profile_strategy == strategy
    assert {run.shapes[name][0] for run in report.fresh.runs} >= {100, 50}
    between = fresh_check(tmp_path / "out", [Request("serving_default", {name: images_of(75)})])
    assert between.passed == (strategy == "Range+Optimal")
    native = accuracy(folder, pictures, labels)
    assert accuracy(tmp_path / "out", pictures, labels, 50) >= native - MOST_LOST[precision]


def test_signatures_and_assets_are_kept(tmp_path) -> None:
    source = gpu_models.save_two_signatures(tmp_path / "model")
    sets = [{"image": (4, 16, 16, 3)}, {"picture": (2, 16, 16, 3)}]
    spec = ConversionSpec("FP16", input_shapes=sets, signatures=["scores", "features"])
    report = convert(source, tmp_path / "out", spec)  # A child process converts the model.
    assert {s.name: s.converter for s in report.signatures} == {
        "scores": "TrtGraphConverterV2",
        "features": "TrtGraphConverterV2",
        "words": "native",
    }
    source.with_suffix(".txt").unlink()
    # This process may hold other converted models: engines have names of their own.
    ids = run(tmp_path / "out", "words", names=np.array([b"dog", b"cow"]))["ids"]
    np.testing.assert_array_equal(ids, [1, -1])
    x = images(4)
    np.testing.assert_allclose(
        run(tmp_path / "out", "scores", image=x)["scores"],
        run(source, "scores", image=x)["scores"],
        atol=0.01,
    )
    assert (tmp_path / "out" / "repeat.sh").exists()
    assert (tmp_path / "out" / "conversion.log").stat().st_size > 0


@pytest.mark.parametrize("precision", ["FP32", "FP16"])
def test_frozen_graph_in_static_mode(tmp_path, precision) -> None:
    source = gpu_models.write_frozen_graph(tmp_path / "frozen.pb")
    spec = ConversionSpec(precision, max_batch_size=8, outputs=["scores", "half"])
    report = convert(source, tmp_path / "out", spec, child=False)
    assert report.spec.mode == "static"
    assert report.signatures[0].converter == "TrtGraphConverter"
    (engine,) = engine_nodes(load_graph(tmp_path / "out").graph_def)
    assert engine.static and engine.plan
    x = images(5)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        graph = tf.compat.v1.GraphDef.FromString(source.read_bytes())
        wanted = tf.graph_util.import_graph_def(
            graph, return_elements=["scores:0", "half:0"], name=""
        )
        scores, half = session.run(wanted, {"x:0": x})
    ours = run(tmp_path / "out", x=x)
    np.testing.assert_allclose(ours["scores"], scores, atol=0.02)
    np.testing.assert_allclose(ours["half"], half, rtol=0.05, atol=0.05)


def test_static_int8_by_custom_ranges(digits, tmp_path) -> None:
    """The test gives a range for every tensor, so TensorRT needs no calibration."""
    folder, _, pictures, labels = digits
    spec = ConversionSpec(
        "INT8",
        mode="static",
        max_batch_size=100,
        use_calibration=False,
        custom_ranges=ranges_of(folder, pictures[:100]),
    )
    convert(folder, tmp_path / "out", spec, verify_data=[pictures[:100]], child=False)
    native = accuracy(folder, pictures, labels)
    assert accuracy(tmp_path / "out", pictures, labels) >= native - 0.01


def ranges_of(folder: Path, pictures: np.ndarray) -> dict[str, tuple[float, float]]:
    """Runs the frozen graph on these pictures. Returns the range of each float tensor in it."""
    from converters.model.model_source import freeze

    model = tf.saved_model.load(str(folder))
    frozen = freeze(model.signatures["serving_default"])
    graph_def = frozen.graph.as_graph_def()
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        tf.graph_util.import_graph_def(graph_def, name="")
        tensors = [
            output
            for op in graph.get_operations()
            for output in op.outputs[:1]
            if output.dtype == tf.float32 and op.type not in ("Const", "Identity", "NoOp")
        ]
        values = session.run(tensors, {frozen.inputs[0].name: pictures})
    return {
        tensor.op.name: (float(min(v.min(), -1e-3)), float(max(v.max(), 1e-3)))
        for tensor, v in zip(tensors, values)
    }


def test_why_a_saved_engine_is_built_again(tmp_path) -> None:
    """A signature loses its engines when the model that it was loaded with is freed. The next
    request builds them again, which is the slow first request of stock TF-TRT models."""
    source = gpu_models.save_cnn(tmp_path / "model")
    shapes = {"image": (4, 16, 16, 3)}
    spec = ConversionSpec(input_shapes=shapes, allow_build_at_runtime=True)
    report = convert(source, tmp_path / "out", spec, child=False)
    assert report.fresh.passed
    load = f"tf.saved_model.load({str(tmp_path / 'out')!r})"
    built = {}
    for kept, lines in (
        ("model", (f"model = {load}", "function = model.signatures['serving_default']")),
        ("signature", (f"function = {load}.signatures['serving_default']",)),
    ):
        script = (
            "import sys, tensorflow as tf",
            *lines,
            "print('trt-convert:', file=sys.stderr, flush=True)",
            "function(image=tf.zeros([4, 16, 16, 3]))",
        )
        done = subprocess.run(
            [sys.executable, "-c", "\n".join(script)],
            env={**os.environ, **LOG_ENGINES},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        (request,) = events(done.stderr)
        built[kept] = len(request["built"])
    assert built == {"model": 0, "signature": 1}


@pytest.mark.parametrize("mode", ["implicit", "explicit", "static"])
def test_without_native_segments_other_shapes_are_an_error(tmp_path: Path, mode: str) -> None:
    """Requests with a declared shape run by their engines, which `convert` proves. Requests with
    another shape raise."""
    source = gpu_models.save_with_gap(tmp_path / "model")
    given = {"image": (4, 16, 16, 3)}
    spec = dataclasses.replace(
        spec_of("FP32", mode, given),
        native_segments=False,
        thresholds=default_thresholds("FP32", generated=True),
    )
    report = convert(source, tmp_path / "out", spec)
    assert report.fresh.passed and report.verification.passed
    for engine in engine_nodes(load_graph(tmp_path / "out").graph_def):
        assert engine.ops and not engine.has_segment
    inspected = inspect_model(tmp_path / "out")
    assert inspected.share_converted > 0.5
    model = tf.saved_model.load(str(tmp_path / "out"))  # The engines live as long as this object.
    function = model.signatures["serving_default"]
    assert next(iter(function(image=tf.zeros(given["image"])).values())).shape[0] == 4
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no engine for these shapes"):
        function(image=tf.zeros((9, 16, 16, 3)))
    assert next(iter(function(image=tf.zeros(given["image"])).values())).shape[0] == 4


def test_node_denylist_splits_the_engine(digits, tmp_path) -> None:
    folder, _, pictures, _ = digits
    spec = ConversionSpec(
        op_denylist=["Softmax"], input_shapes={input_of(folder): (100, 16, 16, 1)}
    )
    convert(folder, tmp_path / "out", spec, verify_data=[pictures[:100]], child=False)
    graph = load_graph(tmp_path / "out").graph_def
    inside = {op for engine in engine_nodes(graph) for op in engine.ops}
    assert "Conv2D" in inside
    assert "Softmax" not in inside
