"""Inputs whose placeholders have other names, through what TF-TRT makes of a signature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from converters import ConversionSpec, convert
from converters.checks.runnable import signature_specs
from converters.checks.verify import verify
from converters.model.model_source import freeze
from converters.report.inspect_model import inspect_model
from converters.tftrt.graph_edits import keywords, placeholders
from converters.tftrt.save_converted import save_converted


def session_model(folder: Path, first: str, second: str) -> None:
    """y = "in0/x" - 10 * "a", by a session's save."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        with tf.name_scope("in0"):
            x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
        a = tf.compat.v1.placeholder(tf.float32, [None, 3], name="a")
        y = tf.subtract(x, 10 * a, name="out")
        inputs = {first: x, second: a}
        tf.compat.v1.saved_model.simple_save(session, str(folder), inputs, {"Scores": y})


def function_model(folder: Path, first: str, second: str) -> None:
    module = tf.Module()
    module.scale = tf.Variable(10.0)
    specs = [tf.TensorSpec([None, 3], tf.float32, name) for name in (first, second)]

    @tf.function(input_signature=specs)
    def serve(x: tf.Tensor, a: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"Scores": x - module.scale * a}

    module.serve = serve
    tf.saved_model.save(module, str(folder), signatures=serve.get_concrete_function())


def made_again(native: Any) -> Any:
    """As TF-TRT makes the function of a converted graph."""
    # TensorFlow after 2.17 has none.
    trt_convert = pytest.importorskip("tensorflow.python.compiler.tensorrt.trt_convert")
    frozen = freeze(native)
    return trt_convert._construct_function_from_graph_def(
        native, frozen.graph.as_graph_def(), frozen
    )


CASES = [
    (session_model, "Image", "other-one"),
    (session_model, "inputs", "a"),
    (session_model, "x", "in0/x"),
    (function_model, "image-in", "2d"),
    (function_model, "Image", "b"),
    (function_model, "a", "b"),
]


@pytest.mark.parametrize(("make", "first", "second"), CASES)
def test_what_is_saved_has_the_signatures_names(
    tmp_path: Path, make: Any, first: str, second: str
) -> None:
    source, out = tmp_path / "native", tmp_path / "out"
    make(source, first, second)
    loaded = tf.saved_model.load(str(source))
    native = loaded.signatures["serving_default"]
    assert set(placeholders(native)) == {first, second}
    function = made_again(native)
    called = keywords(native)
    batch = {first: np.full((2, 3), 7, np.float32), second: np.full((2, 3), 2, np.float32)}
    got = function(**{called.get(name, name): tf.constant(v) for name, v in batch.items()})
    np.testing.assert_array_equal(tf.nest.flatten(got)[0], np.full((2, 3), -13))

    save_converted(out, {"serving_default": function}, {}, [loaded], [], source, ["serve"])
    assert signature_specs(str(out)) == signature_specs(str(source))
    again = tf.saved_model.load(str(out)).signatures["serving_default"]
    assert set(again._arg_keywords) == {first, second}
    report = verify(str(source), str(out), batch, num_batches=1)
    assert report.passed, str(report)
    assert inspect_model(out, ask=False).converted_compute == 2  # seen through the calls


def test_names_that_are_kept_anyway_need_no_further_function(tmp_path: Path) -> None:
    function_model(tmp_path / "native", "a", "b")
    loaded = tf.saved_model.load(str(tmp_path / "native"))
    native = loaded.signatures["serving_default"]
    assert keywords(native) == {}
    from converters.tftrt.graph_edits import with_signature_names

    function = made_again(native)
    assert with_signature_names(function, native) is function


@pytest.mark.gpu
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_a_conversion_keeps_them(tmp_path: Path, mode: str) -> None:
    session_model(tmp_path / "native", "Image", "other-one")
    shapes = {"Image": (2, 3), "other-one": (2, 3)}
    spec = ConversionSpec(mode=mode, minimum_segment_size=1, input_shapes=shapes)
    report = convert(tmp_path / "native", tmp_path / "out", spec)
    assert report.verification.passed and [run.shapes for run in report.fresh.runs] == [shapes]
    # TF-TRT leaves the subtraction out, whose result is the output.
    assert inspect_model(tmp_path / "out").converted_compute == 1
    names = [signature_specs(str(tmp_path / model)).keys() for model in ("native", "out")]
    assert names[0] == names[1]
