"""The child process of segmenter.py: freezes a model and runs TF-TRT's graph pass on it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from converters.model.trt_graph import ENGINE_OP


def main(argument: str) -> None:
    """Does the job that `argument` describes as JSON, and writes the cut GraphDef."""
    job = json.loads(argument)
    read = _saved_model if Path(job["path"]).is_dir() else _frozen_graph
    meta = read(job)
    denied = meta.collection_def["train_op"].node_list.value
    # TF-TRT takes no fetched node: that is how its own nodes_denylist works.
    denied.extend(job["options"]["node_denylist"])
    cut = _segment(meta, job["options"])
    Path(job["result"]).write_bytes(cut.SerializeToString())


def _saved_model(job: dict[str, Any]) -> Any:
    import tensorflow as tf
    from tensorflow.python.framework import convert_to_constants

    model = tf.saved_model.load(job["path"], tags=job["tags"])
    names = sorted(model.signatures)
    name = job["signature"] or (names[0] if len(names) == 1 else None)
    if name not in names:
        raise SystemExit(f"no signature {name!r}; the model has: {', '.join(names) or 'none'}")
    # Frozen as TrtGraphConverterV2 does, so that the nodes are the ones it will see.
    frozen = convert_to_constants.convert_variables_to_constants_v2(model.signatures[name])
    graph_def = frozen.graph.as_graph_def()
    for node in graph_def.node:
        node.device = ""
    meta = tf.compat.v1.train.export_meta_graph(graph_def=graph_def, graph=frozen.graph)
    _fetch(meta, [tensor.name for tensor in frozen.inputs + frozen.outputs])
    return meta


def _frozen_graph(job: dict[str, Any]) -> Any:
    import tensorflow as tf

    from converters.model.graph_file import read_graph_def

    graph_def = read_graph_def(Path(job["path"]))
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    meta = tf.compat.v1.train.export_meta_graph(
        graph_def=graph.as_graph_def(add_shapes=True), graph=graph
    )
    inputs = [node.name for node in graph_def.node if node.op.startswith("Placeholder")]
    _fetch(meta, [*inputs, *_unread(graph_def)])
    return meta


def _unread(graph_def: Any) -> list[str]:
    read = {name.lstrip("^").split(":")[0] for node in graph_def.node for name in node.input}
    return [
        node.name
        for node in graph_def.node
        if node.name not in read and node.op not in ("Const", "NoOp", "Placeholder")
    ]


def _fetch(meta: Any, names: list[str]) -> None:
    """Tells the graph optimizer what to keep."""
    meta.collection_def["train_op"].node_list.value[:] = names


def _segment(meta: Any, options: dict[str, Any]) -> Any:
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.compiler.tensorrt import trt_convert
    from tensorflow.python.grappler import tf_optimizer

    parameters = trt_convert.TrtConversionParams(
        precision_mode=options["precision"],
        minimum_segment_size=options["minimum_segment_size"],
        # Calibrating would build an engine while cutting.
        use_calibration=False,
    )
    config = config_pb2.ConfigProto()
    config.graph_options.rewrite_options.CopyFrom(
        trt_convert._get_tensorrt_rewriter_config(
            parameters, is_dynamic_op=True, use_implicit_batch=options["implicit_batch"]
        )
    )
    config.graph_options.rewrite_options.min_graph_nodes = -1
    cut = tf_optimizer.OptimizeGraph(config, meta, graph_id=b"tf_graph")
    if any(node.op == ENGINE_OP and not node.input for node in cut.node):
        raise SystemExit("an engine without inputs was cut: constant folding failed")
    return cut


if __name__ == "__main__":
    main(sys.argv[1])
