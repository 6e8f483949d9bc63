"""Writes tftrt_ops_2_17.txt: the op types that TF-TRT converts, asked of TensorFlow 2.17 itself.

    python scripts/make_tftrt_ops.py

The names come from TF-TRT's registry of converters. What each accepts is found by running TF-TRT's
segmenter (it needs no GPU and no TensorRT) on graphs of one node, for every type that the op and
TF-TRT have in common, with explicit and with implicit batch, and reading the reasons it logs.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ["TF_CPP_VMODULE"] = "segment=2"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2tensorrt import _pywrap_py_utils as tftrt
from tensorflow.core.framework import graph_pb2, types_pb2
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.compiler.tensorrt import trt_convert
from tensorflow.python.framework import op_def_registry
from tensorflow.python.grappler import tf_optimizer

TABLE = Path(__file__).resolve().parent.parent / "converters/segments/tftrt_ops_2_17.txt"
# TensorRT 8.6 has no other types that TF-TRT maps.
TYPES = ("float32", "float16", "int32", "int8", "bool")
RANKS = (4, 2, 5, 3, 1)
# How inputs are given: all data inputs as tensors, or all but the first as constants, of the first
# one's shape or scalar; inputs that are no data (axes, sizes) as a scalar or a number a dimension.
STYLES = tuple(itertools.product(("tensors", "weights", "scalars"), ("scalar", "vector")))
OF_TYPE = re.compile("[Dd]ata type|input dtypes")
EXPLICIT = re.compile(
    "is not supported in implicit batch mode|requires explicit batch|for explicit batch|"
    "Implicit batch mode not supported|not implemented in implicit"
)
REASON = re.compile(r"Not a TF-TRT candidate, .*\(Op name: probe\), \(Reason: (.*)\)$", re.M)
ACCEPTED = re.compile(r"Accepted as a TF-TRT candidate, .*\(Op name: probe$", re.M)
# Attributes without a default that matter to no converter's check of types.
FIXED = {
    "strides": [1, 1, 1, 1],
    "ksize": [1, 1, 1, 1],
    "padding": b"SAME",
    "equation": b"abcd,abcd->abcd",
    "output_type": types_pb2.DT_INT32,
}
HEADER = f"""\
# Op types that TF-TRT of TensorFlow {tf.__version__} converts. Made by scripts/make_tftrt_ops.py.
# op, then the types accepted for its data input ("?": could not be tried, taken to be all that
# TF-TRT maps); "explicit": with explicit batch only.
"""


def main() -> None:
    names = sorted(tftrt.get_registered_op_converters())
    lines = []
    for name in names:
        definition = op_def_registry.get(name)
        if definition is None:
            continue  # registered for TF-TRT's own tests
        resource = any(arg.type == types_pb2.DT_RESOURCE for arg in definition.input_arg)
        accepted, explicit_only = (["?"], False) if resource else probe(definition)
        words = [name, *accepted, *(["explicit"] if explicit_only else [])]
        lines.append(" ".join(words))
        print(lines[-1])
    TABLE.write_text(HEADER + "\n".join(lines) + "\n")
    print(f"{TABLE}: {len(lines)} ops")


def probe(definition: Any) -> tuple[list[str], bool]:
    """The types that the op's converter takes ("?" when none could be tried), and whether only
    with explicit batch."""
    accepted, implicit, tried = [], [], False
    for kind in possible(definition):
        reasons = ask(definition, kind, False)
        tried = tried or bool(reasons)
        if not reasons or any(OF_TYPE.search(reason) for reason in reasons):
            continue
        accepted.append(kind)
        # Every op is refused with implicit batch where its input has one dimension.
        said = [r for r in ask(definition, kind, True) if "at least two dimensions" not in r]
        if not said or not all(EXPLICIT.search(reason) for reason in said):
            implicit.append(kind)
    return accepted if tried else ["?"], bool(accepted) and not implicit


def possible(definition: Any) -> list[str]:
    attr = type_attr(definition)
    allowed = [a.allowed_values.list.type for a in definition.attr if a.name == attr]
    if attr is None:
        fixed = [arg.type for arg in definition.input_arg if arg.type]
        return [tf.dtypes.as_dtype(fixed[0]).name] if fixed else []
    return [
        kind
        for kind in TYPES
        if not allowed or not allowed[0] or tf.dtypes.as_dtype(kind).as_datatype_enum in allowed[0]
    ]


def type_attr(definition: Any) -> str | None:
    for arg in definition.input_arg:
        if arg.type_attr:
            return str(arg.type_attr)
    types = [attr.name for attr in definition.attr if attr.type == "type"]
    return types[0] if types else None


def ask(definition: Any, kind: str, implicit: bool) -> list[str]:
    """TF-TRT's reasons for leaving the node out, "" where it takes it; one for each rank that the
    op itself accepts."""
    reasons = []
    # Constant inputs of these end the process.
    fragile = definition.name.startswith("QuantizeAndDequantize")
    for rank in RANKS:
        for style in STYLES[:2] if fragile else STYLES:
            log = run(*one_node(definition, kind, rank, style), implicit)
            if ACCEPTED.search(log):
                reasons.append("")
            elif found := REASON.search(log):
                reasons.append(found.group(1))
    return reasons


def one_node(
    definition: Any, kind: str, rank: int, style: tuple[str, str]
) -> tuple[Any, list[str]]:
    """A graph of the op, called "probe", between placeholders and constants."""
    graph = graph_pb2.GraphDef()
    graph.versions.producer = tf.version.GRAPH_DEF_VERSION
    number = tf.dtypes.as_dtype(kind).as_datatype_enum
    probe_type = type_attr(definition)
    types = {probe_type: number}
    node = graph.node.add(name="probe", op=definition.name)
    for attr in definition.attr:
        value = node.attr[attr.name]
        if attr.name == probe_type:
            value.type = number
        elif attr.name in FIXED:
            set_attr(value, FIXED[attr.name], rank)
        elif attr.type == "tensor":
            value.tensor.CopyFrom(tf.make_tensor_proto(np.ones([4], as_numpy(number))))
        elif attr.type == "type" and not attr.HasField("default_value"):
            allowed = list(attr.allowed_values.list.type)
            liked = [t for t in (types_pb2.DT_INT32, types_pb2.DT_FLOAT) if t in allowed]
            value.type = types[attr.name] = (liked or allowed or [number])[0]
        elif attr.HasField("default_value"):
            value.CopyFrom(attr.default_value)
            types[attr.name] = value.type
        elif attr.type == "int":
            value.i = max(2, attr.minimum)
        elif attr.type == "list(type)":
            value.list.type.append(number)
        elif attr.type == "shape":
            value.shape.dim.add(size=4)
    placeholders: list[str] = []
    for at, arg in enumerate(definition.input_arg):
        for copy in range(2 if arg.number_attr else 1):
            name = f"in{at}_{copy}"
            if arg.name in ("scale", "offset", "mean", "variance"):
                statistics = np.ones(4, as_numpy(types[arg.type_attr]))
                put_constant(graph, name, statistics)
            elif arg.type_attr and arg.type_attr != probe_type:
                numbers = 1 if style[1] == "scalar" else np.arange(rank)
                put_constant(graph, name, np.array(numbers, as_numpy(types[arg.type_attr])))
            elif arg.type and arg.type != types_pb2.DT_BOOL:
                put_constant(graph, name, np.array(0, as_numpy(arg.type)))
            elif placeholders and style[0] != "tensors":
                shape = [] if style[0] == "scalars" else [4] * data_rank(arg, rank)
                put_constant(graph, name, np.ones(shape, as_numpy(arg.type or number)))
            else:
                source = graph.node.add(name=name, op="Placeholder")
                source.attr["dtype"].type = arg.type or number
                for _ in range(data_rank(arg, rank)):
                    source.attr["shape"].shape.dim.add(size=4)
                placeholders.append(name)
            node.input.append(name)
    return graph, placeholders


def data_rank(arg: Any, rank: int) -> int:
    return 1 if arg.name == "bias" else rank


def set_attr(value: Any, fixed: Any, rank: int) -> None:
    if isinstance(fixed, list):
        value.list.i.extend([1] * rank)
    elif isinstance(fixed, bytes):
        value.s = fixed
    elif fixed == types_pb2.DT_INT32:
        value.type = fixed


def as_numpy(number: int) -> Any:
    return tf.dtypes.as_dtype(number).as_numpy_dtype


def put_constant(graph: Any, name: str, value: Any) -> None:
    node = graph.node.add(name=name, op="Const")
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    node.attr["dtype"].type = node.attr["value"].tensor.dtype


def run(definition: Any, placeholders: list[str], implicit: bool) -> str:
    """What TF-TRT's segmenter logs of the graph; "" when the op itself refuses such inputs."""
    try:
        with tf.Graph().as_default() as checked:
            tf.import_graph_def(definition, name="")
    except ValueError:
        return ""
    # The node is left out if it is fetched itself.
    reader = definition.node.add(name="out", op="Identity", input=["probe"])
    reader.attr["T"].type = checked.get_tensor_by_name("probe:0").dtype.as_datatype_enum
    meta = tf.compat.v1.train.export_meta_graph(graph_def=definition, graph=checked)
    meta.collection_def["train_op"].node_list.value.extend([*placeholders, "out"])
    config = config_pb2.ConfigProto()
    config.graph_options.rewrite_options.CopyFrom(
        trt_convert._get_tensorrt_rewriter_config(
            trt_convert.TrtConversionParams(precision_mode="INT8", use_calibration=False),
            is_dynamic_op=True,
            use_implicit_batch=implicit,
        )
    )
    config.graph_options.rewrite_options.min_graph_nodes = -1
    # The others would fold the node away.
    config.graph_options.rewrite_options.optimizers[:] = ["pruning"]
    with tempfile.TemporaryFile() as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            tf_optimizer.OptimizeGraph(config, meta, graph_id=b"tf_graph")
        except Exception as error:  # a node the graph optimizer refuses tells nothing
            print(error, file=sys.stderr)
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
        file.seek(0)
        return file.read().decode("utf-8", "replace")


if __name__ == "__main__":
    main()
