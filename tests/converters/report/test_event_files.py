"""The event files for TensorBoard hold both graphs, even if TensorFlow does not know their ops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trt_graphs import SEGMENTED, GraphMaker, with_plans

from converters.report.event_files import write_event_files
from converters.report.inspect_model import inspect_model
from converters.util.errors import OutputError


def graph_of(path: Path) -> Any:
    """The one graph of an event file, read by TensorFlow."""
    import tensorflow as tf
    from tensorflow.core.framework import graph_pb2

    first, second = tf.compat.v1.train.summary_iterator(str(path))
    assert first.file_version == "brain.Event:2"
    assert second.wall_time == pytest.approx(first.wall_time)
    graph = graph_pb2.GraphDef.FromString(second.graph_def)
    names = {node.name for node in graph.node}
    assert len(names) == len(graph.node)
    for node in graph.node:
        for name in node.input:
            assert name.lstrip("^").split(":")[0] in names
    return graph


def ops(graph: Any) -> list[str]:
    return [node.op for node in graph.node]


def test_both_graphs_of_a_converted_model_are_written(tmp_path: Path) -> None:
    model = with_plans("two_engines", tmp_path)
    paths = write_event_files(model, tmp_path / "events")
    runs = [path.parent.relative_to(tmp_path / "events").as_posix() for path in paths]
    assert runs == ["converted/serving_default", "original/serving_default"]
    assert all(path.name.startswith("events.out.tfevents.") for path in paths)
    converted, original = map(graph_of, paths)
    assert ops(converted).count("TRTEngineOp") == 2
    assert {function.signature.name for function in converted.library.function} == {
        "TRTEngineOp_000_000_native_segment",
        "TRTEngineOp_000_001_native_segment",
    }
    assert ops(original).count("TRTEngineOp") == 0
    assert ops(original).count("Conv2D") == 3
    # The nodes of each engine have a name scope of their own.
    assert any("TRTEngineOp_000_001/" in node.name for node in original.node)


def test_the_original_is_written_where_it_is_given(tmp_path: Path) -> None:
    _, path = write_event_files(
        SEGMENTED / "two_engines", tmp_path, original=SEGMENTED / "two_engines_native"
    )
    assert ops(graph_of(path)).count("ReadVariableOp") == 8


def test_a_model_that_is_not_converted_has_one_graph(tmp_path: Path) -> None:
    (path,) = write_event_files(SEGMENTED / "frozen_native.pb", tmp_path)
    assert path.parent == tmp_path / "original" / "graph"
    assert "Cumsum" in ops(graph_of(path))


def test_a_report_stands_for_its_model(tmp_path: Path) -> None:
    report = inspect_model(SEGMENTED / "whole", ask=False)
    assert len(write_event_files(report, tmp_path)) == 2


def test_unknown_ops_and_large_values_are_no_obstacle(tmp_path: Path) -> None:
    import tensorflow as tf

    maker = GraphMaker()
    maker.node("Placeholder", "x")
    maker.node("Const", "w", shape=(1000,))
    maker.graph.node[1].attr["value"].tensor.CopyFrom(tf.make_tensor_proto([1.5] * 1000))
    plan = bytes(100_000)
    maker.engine("e", ["x"], {"a": "Relu"}, static_engine=True, serialized_segment=plan)
    maker.node("OpOfNobody", "o", ["e", "w"])
    maker.node("Identity", "y", ["o"])
    model = maker.write(tmp_path / "model.pb")
    before = model.read_bytes()
    converted, _ = write_event_files(model, tmp_path / "events")
    assert converted.stat().st_size < 5000
    graph = graph_of(converted)
    assert "OpOfNobody" in ops(graph)
    nodes = {node.name: node for node in graph.node}
    assert nodes["w"].attr["value"].tensor.tensor_shape.dim[0].size == 1000
    assert nodes["e"].attr["serialized_segment"].s == b"100000 bytes of serialized_segment"
    assert model.read_bytes() == before


def test_older_files_stay(tmp_path: Path) -> None:
    first = write_event_files(SEGMENTED / "whole", tmp_path)
    second = write_event_files(SEGMENTED / "whole", tmp_path)
    assert len({*first, *second}) == 4
    assert all(path.is_file() for path in first)
    assert not [path for path in tmp_path.rglob(".*")]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="file cannot be written"):
        write_event_files(SEGMENTED / "whole", tmp_path / "file")
