"""The real TF-TRT segments signatures, which needs no GPU. The tests build no engine."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import gpu_models
import pytest
import tensorflow as tf

import tf_nvcodec as nvc
from converters import ConversionSpec
from converters.int8.calibration_table import CalibrationTable, TablesBySignature
from converters.model.trt_graph import EngineNode, engine_nodes
from converters.segments.segmenter import tftrt_is_compiled_in
from converters.tftrt import engine_job
from converters.tftrt.signature_v2 import SignatureV2, serialize_engines
from converters.util.errors import EngineError
from converters.util.progress import Progress

pytestmark = pytest.mark.skipif(
    not tftrt_is_compiled_in(), reason="this TensorFlow has no TF-TRT inside"
)

HEADER = "TRT-8600-EntropyCalibration2"
SIGNATURES = ("scores", "features")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Saves a model with two signatures. Makes TF-TRT believe that there are TensorRT and a GPU."""
    from tensorflow.python.compiler.tensorrt import trt_convert

    class OnGpu:
        def __getattr__(self, name: str) -> Any:
            return getattr(array_ops, name)

        def zeros(self, *_: object) -> Any:
            return types.SimpleNamespace(device="/device:GPU:0")

    array_ops = trt_convert.array_ops
    monkeypatch.setattr(trt_convert, "array_ops", OnGpu())
    monkeypatch.setattr(trt_convert, "_check_trt_version_compatibility", lambda: None)
    library = trt_convert._pywrap_py_utils
    monkeypatch.setattr(library, "get_loaded_tensorrt_version", lambda: (8, 6, 1))
    return gpu_models.save_two_signatures(tmp_path / "model")


def converted(model: Path, name: str, precision: str = "FP32", tables: Any = None) -> SignatureV2:
    spec = ConversionSpec(
        precision,
        tags=("serve",),
        explicit_batch=False,
        minimum_segment_size=3,
        maximum_cached_engines=1,
        max_workspace_size_bytes=1 << 30,
        use_calibration=tables is not None,
    )
    made = SignatureV2(str(model), name, spec, Progress(False), tables=tables)
    made.convert(None, None)
    return made


def engine_of(signature: SignatureV2) -> EngineNode:
    (engine,) = engine_nodes(signature.graph_def)
    return engine


def scales_of(engine: EngineNode, scale: float) -> dict[str, float]:
    """Returns a scale for each node of the engine, and for one layer that TF-TRT's converter adds
    to a node. The name of such a layer begins with that of the engine."""
    added = f"{engine.canonical_name}/{engine.node_names[0]}-shuffle"
    return dict.fromkeys((*engine.node_names, added), scale)


def test_a_model_of_bytes_has_its_network_in_an_engine(model: Path, tmp_path: Path) -> None:
    network = gpu_models.save_cnn(tmp_path / "network")
    nvc.export_video_model(network, tmp_path / "bytes", clips_per_video=4)
    made = converted(tmp_path / "bytes", "serving_default")
    assert "VideoDecodeClips" in {node.op for node in made.graph_def.node}
    inside = [engine.node_names for engine in engine_nodes(made.graph_def)]
    network_ops = [name.rpartition("/")[2] for name in max(inside, key=len)]
    assert network_ops.count("Relu") == 3 and network_ops[-2:] == ["MatMul", "Softmax"]


def test_each_conversions_engines_have_names_of_their_own(model: Path) -> None:
    made = [converted(model, name) for name in SIGNATURES * 2]
    names = [engine_of(signature).canonical_name for signature in made]
    suffixes = {name.rpartition("_")[2] for name in names}
    assert len(suffixes) == 4, names
    for signature, name in zip(made, names):
        assert name in {node.name for node in signature.function.graph.as_graph_def().node}


def test_an_engine_that_never_ran_is_cured_by_build_data(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tensorflow.compiler.tf2tensorrt.ops import gen_trt_ops

    def not_there(**_: Any) -> None:
        raise tf.errors.NotFoundError(None, None, "Resource TF-TRT/TRTEngineOp does not exist")

    monkeypatch.setattr(gen_trt_ops, "serialize_trt_resource", not_there)
    signature = converted(model, "scores", "FP16")
    name = engine_of(signature).canonical_name
    with pytest.raises(EngineError, match=f"'scores': {name} was never run") as caught:
        serialize_engines(signature, str(tmp_path), save_plans=True)
    assert "give build_data (--build-data)" in str(caught.value)
    assert "calibration" not in str(caught.value)


def test_tables_of_an_earlier_conversion_go_to_their_engines(model: Path) -> None:
    tables = {}
    for scale, signature in enumerate(SIGNATURES, start=1):
        engine = engine_of(converted(model, signature))
        table = CalibrationTable(HEADER, scales_of(engine, float(scale)))
        tables[engine.canonical_name] = table
    given = TablesBySignature(tables, alone=False)
    for scale, name in enumerate(SIGNATURES, start=1):
        made = converted(
            model, name, "INT8", lambda graph, name=name: given.of(name, engine_nodes(graph))
        )
        engine = engine_of(made)
        found = CalibrationTable.parse(engine.calibration_table).scales
        assert found == scales_of(engine, float(scale))


def test_a_conversion_measures_within_another(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a GPU can measure: here the inner conversion gets a table of its own cut."""
    name = "scores"
    relu = next(n for n in engine_of(converted(model, name)).node_names if n.endswith("Relu"))
    spec = ConversionSpec("INT8", custom_ranges={relu: (0.0, 254.0)}, explicit_batch=False)
    job = engine_job._Job(str(model), spec.resolved(), Progress(False), tmp_path)

    def measured(signature: str, *_: Any) -> dict[str, CalibrationTable]:
        def table(graph_def: Any) -> dict[str, CalibrationTable]:
            (engine,) = engine_nodes(graph_def)
            scales = {**scales_of(engine, 1.0), relu: 3.0}
            return {engine.canonical_name: CalibrationTable(HEADER, scales)}

        inner = job._signature_v2(signature, table)
        inner.convert(None, None)
        return {engine: CalibrationTable.parse(text) for engine, text in inner.tables().items()}

    monkeypatch.setattr(job, "_measured", measured)
    made = job._signature_v2(name, job._with_custom_ranges(name, None, None, None))
    made.convert(None, None)
    engine = engine_of(made)
    found = CalibrationTable.parse(engine.calibration_table).scales
    assert found == {**scales_of(engine, 1.0), relu: 2.0}
