"""Ranges that are in the graph: quantize-and-dequantize nodes, found, checked and inserted.

What TF-TRT 2.17 does with them (tensorflow/compiler/tf2tensorrt/convert/ops/quantization_ops.cc
and trt_optimization_pass.cc), for INT8 with use_calibration=False:

- "dynamic range" mode: QuantizeAndDequantizeV3, FakeQuantWithMinMaxVars and
  FakeQuantWithMinMaxArgs become no layer, but set the range of the tensor they take to
  [-amax, amax], amax = max(|min|, |max|). num_bits and narrow_range are not looked at: TensorRT
  has 8 bits, symmetric, with the step amax / 127. Weights get their ranges from TensorRT itself.
- "explicit" mode, as soon as the graph has one QuantizeAndDequantizeV2: V2 and V3 become Q/DQ
  layers with the step amax / 127, FakeQuant ops are not converted at all, and what is not between
  Q/DQ nodes stays in floating point, weights included. TF-TRT then also changes the precision to
  INT8 and turns calibration off, whatever was asked (precision_kept refuses that).

An engine whose segment has none of these nodes quietly becomes FP16. TF-TRT does not carry a range
over ops that keep it (it did until 2.3), so that insert_ranges puts it behind those too.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any

from converters.model.node_tensors import NodeTensors, shown
from converters.util.errors import CalibrationError, SpecError

EXPLICIT_OP = "QuantizeAndDequantizeV2"
FAKE_QUANT_OPS = ("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxArgs")
CONVERTED_OPS = (EXPLICIT_OP, "QuantizeAndDequantizeV3", *FAKE_QUANT_OPS)
_OTHER_OPS = (
    "QuantizeAndDequantize",
    "QuantizeAndDequantizeV4",
    "FakeQuantWithMinMaxVarsPerChannel",
)
# The values of the output are among those of the first input (Relu's besides 0, which every
# symmetric range has).
KEEP_RANGE_OPS = frozenset(
    (
        *("Identity", "StopGradient", "Snapshot", "Reshape", "Squeeze", "ExpandDims"),
        *("Transpose", "MaxPool", "MaxPool3D", "Relu", "Slice", "StridedSlice"),
    )
)
_DT_FLOAT = 1


@dataclasses.dataclass(frozen=True)
class QuantizeNode:
    """A node that gives a tensor its range. `problem` is empty when TF-TRT takes it."""

    name: str
    op: str
    function: str  # the function it is in; "" is the main graph
    tensor: str  # what it quantises
    low: float | None  # None: not a constant in the graph
    high: float | None
    num_bits: int
    narrow_range: bool
    problem: str = ""

    @property
    def amax(self) -> float | None:
        """TensorRT's range is [-amax, amax]."""
        if self.low is None or self.high is None:
            return None
        return max(abs(self.low), abs(self.high))


def quantize_nodes(graph_def: Any) -> list[QuantizeNode]:
    """Every quantize-and-dequantize node of the main graph and of the functions."""
    mode = quantize_mode(graph_def)
    found = nodes_of("", graph_def.node, mode)
    for function in graph_def.library.function:
        found += nodes_of(function.signature.name, function.node_def, mode)
    return found


def quantize_mode(graph_def: Any) -> str:
    """ "explicit", "dynamic_range" or, without any such node that TF-TRT takes, "none"."""
    functions = (function.node_def for function in graph_def.library.function)
    ops = {node.op for nodes in (graph_def.node, *functions) for node in nodes}
    if EXPLICIT_OP in ops:
        return "explicit"
    return "dynamic_range" if ops & set(CONVERTED_OPS) else "none"


def check_quantize_nodes(graph_def: Any) -> list[QuantizeNode]:
    """The nodes, if TF-TRT takes them all.

    CalibrationError names those it does not take with the reason, or says that there are none:
    INT8 would quietly be FP16.
    """
    found = quantize_nodes(graph_def)
    bad = [node for node in found if node.problem]
    if bad:
        lines = "\n  ".join(f"{node.op} {node.name!r}: {node.problem}" for node in bad)
        raise CalibrationError(f"TF-TRT does not take these quantize nodes:\n  {lines}")
    if not found:
        raise CalibrationError(
            "INT8 with use_calibration=False takes its ranges from quantize nodes, and the graph "
            "has none: TF-TRT would quietly make FP16. Give custom_ranges, or calibrate"
        )
    return found


def nodes_of(function: str, nodes: Iterable[Any], mode: str) -> list[QuantizeNode]:
    """The quantize nodes among `nodes`, those of one graph or function body."""
    graph = NodeTensors(nodes)
    return [
        _quantize_node(node, function, graph, mode)
        for node in graph.nodes.values()
        if node.op in CONVERTED_OPS or node.op in _OTHER_OPS
    ]


def insert_ranges(
    graph_def: Any, ranges: Mapping[str, tuple[float, float]], spread: bool = True
) -> Any:
    """A copy of a frozen GraphDef in which the named tensors have a range, for INT8 with
    use_calibration=False.

    Args:
      graph_def: tf.GraphDef; tensors are those of its main graph.
      ranges: (min, max) by tensor name, "node" or "node:1". TensorRT is symmetric: the range is
        [-amax, amax], amax = max(|min|, |max|), in steps of amax / 127.
      spread: also behind ops that keep a range (KEEP_RANGE_OPS, and ConcatV2 of tensors that all
        have one), up to the next op that does not; not in explicit mode.

    A node that TF-TRT's converter takes goes behind each tensor: FakeQuantWithMinMaxArgs, or
    QuantizeAndDequantizeV2 where the graph already has that (explicit mode). TensorFlow computes
    with the same steps, so that the native graph shows what the ranges cost.

    SpecError: no such tensor (with names that come near), not float32, a constant, a range that is
    empty, infinite or (0, 0), a tensor that has a quantize node already.
    """
    import tensorflow as tf

    result = tf.compat.v1.GraphDef()
    result.CopyFrom(graph_def)
    if not ranges:
        return result
    explicit = quantize_mode(result) == "explicit"
    graph = NodeTensors(result.node)
    existing = nodes_of("", result.node, "explicit" if explicit else "dynamic_range")
    wanted = amax_by_tensor(graph_def, ranges)
    for name, tensor in zip(ranges, wanted):
        _check_unquantized(name, tensor, graph, existing)
    if spread and not explicit:
        wanted = _spread(wanted, graph, existing)
    for tensor, amax in wanted.items():
        _insert(result, graph, tensor, amax, explicit)
    return result


def amax_by_tensor(graph_def: Any, ranges: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """The ranges of insert_ranges by NodeTensors' names, in their order; SpecError as there."""
    graph = NodeTensors(graph_def.node)
    found: dict[str, float] = {}
    for name, limits in ranges.items():
        tensor = _named_tensor(name, graph, graph_def)
        if tensor in found:
            raise SpecError(f"custom_ranges: {name!r} and {shown(tensor)!r} are one tensor")
        found[tensor] = _amax(name, limits)
    return found


def _quantize_node(node: Any, function: str, graph: NodeTensors, mode: str) -> QuantizeNode:
    inputs = graph.inputs(node)
    attr = {name: node.attr[name] for name in node.attr}
    num_bits = attr["num_bits"].i if "num_bits" in attr else 8
    low: float | None
    high: float | None
    if node.op == "FakeQuantWithMinMaxArgs":
        # The op's own defaults, which a graph may leave out.
        low = attr["min"].f if "min" in attr else -6.0
        high = attr["max"].f if "max" in attr else 6.0
    elif node.op == "QuantizeAndDequantize":
        low, high = attr["input_min"].f, attr["input_max"].f
    else:
        low, high = (_scalar(graph, tensor) for tensor in inputs[1:3])
        if node.op == "QuantizeAndDequantizeV3":
            bits = _scalar(graph, inputs[3])
            num_bits = 8 if bits is None else int(bits)
    found = QuantizeNode(
        name=node.name,
        op=node.op,
        function=function,
        tensor=shown(inputs[0]),
        low=low,
        high=high,
        num_bits=num_bits,
        narrow_range=attr["narrow_range"].b if "narrow_range" in attr else False,
    )
    # QuantizeAndDequantizeV2 takes its range from the data unless told otherwise, V3 does not.
    default = node.op != EXPLICIT_OP
    from_data = node.op.startswith("Quantize") and not (
        attr["range_given"].b if "range_given" in attr else default
    )
    constant = mode != "explicit" and graph.constant(inputs[0]) is not None
    return dataclasses.replace(found, problem=_problem(found, mode, from_data, constant))


def _problem(node: QuantizeNode, mode: str, from_data: bool, constant: bool) -> str:
    if node.op in _OTHER_OPS:
        return (
            f"TF-TRT converts only {', '.join(CONVERTED_OPS)}; this one stays in TensorFlow and "
            "splits the engine. Replace it by one of them"
        )
    if mode == "explicit" and node.op in FAKE_QUANT_OPS:
        return (
            f"the graph also has {EXPLICIT_OP}, which puts TF-TRT in explicit mode, where it "
            "converts no FakeQuant op. Use one kind throughout"
        )
    if from_data:
        return "range_given is false, so that the range follows the data; TF-TRT needs a fixed one"
    if node.low is None or node.high is None:
        return "min and max are no constants in the graph; freeze it, with min and max as scalars"
    if node.num_bits != 8:
        return f"num_bits is {node.num_bits}; TensorRT's INT8 has 8"
    if not (node.low <= node.high and math.isfinite(node.low) and math.isfinite(node.high)):
        return f"the range [{node.low:g}, {node.high:g}] is none"
    if not node.amax:
        return "the range is [0, 0]: the model was not trained long enough to find it"
    if constant:
        return (
            "it quantises a constant, which only explicit mode does; TensorRT finds the ranges of "
            "weights itself. Fold the node into the constant"
        )
    return ""


def _scalar(graph: NodeTensors, tensor: str) -> float | None:
    value = graph.constant(tensor)
    return float(value.reshape(())) if value is not None and value.size == 1 else None


def _named_tensor(name: str, graph: NodeTensors, graph_def: Any) -> str:
    tensor = graph.key(name)
    node = graph.producer(tensor)
    if node is None:
        near = difflib.get_close_matches(shown(tensor), list(graph.nodes), n=3, cutoff=0.4)
        hint = f"; near it are {', '.join(map(repr, near))}" if near else ""
        bare = tensor.rpartition(":")[0]
        for function in graph_def.library.function:
            if any(inner.name == bare for inner in function.node_def):
                hint = f"; the function {function.signature.name!r} has: inline it first"
        raise SpecError(f"custom_ranges: the frozen graph has no tensor {name!r}{hint}")
    dtype = graph.dtype(tensor)
    if dtype == 0:
        raise SpecError(f"custom_ranges: node {node.name!r} has no output {tensor.split(':')[1]}")
    if dtype not in (None, _DT_FLOAT):
        import tensorflow as tf

        raise SpecError(
            f"custom_ranges: {name!r} is {tf.as_dtype(dtype).name}; ranges are for float32"
        )
    if graph.constant(tensor) is not None:
        raise SpecError(
            f"custom_ranges: {name!r} is a constant; TensorRT finds the ranges of weights itself"
        )
    return tensor


def _amax(name: str, limits: tuple[float, float]) -> float:
    low, high = limits
    amax = max(abs(low), abs(high))
    if not (math.isfinite(low) and math.isfinite(high) and low <= high and amax > 0):
        raise SpecError(
            f"custom_ranges: the range of {name!r} is {tuple(limits)}; it is (min, max), finite, "
            "min not above max, and not (0, 0)"
        )
    return amax


def _check_unquantized(
    name: str, tensor: str, graph: NodeTensors, existing: list[QuantizeNode]
) -> None:
    by_name = {node.name: node for node in existing}
    takers = [node for node, index in graph.takers.get(tensor, ()) if index == 0]
    for node in (graph.producer(tensor), *takers):
        found = by_name.get(node.name) if node is not None else None
        if found is not None:
            raise SpecError(
                f"custom_ranges: {name!r} has a range already, [{found.low}, {found.high}] by the "
                f"{found.op} node {found.name!r}; leave it out, or drop that node"
            )


def _spread(
    wanted: dict[str, float], graph: NodeTensors, existing: list[QuantizeNode]
) -> dict[str, float]:
    """`wanted` and what follows from it, in an order in which each follows from those before."""
    known = dict(wanted)
    quantized: dict[str, float] = {}
    for quantize in existing:
        if quantize.amax and not quantize.problem:
            quantized[f"{quantize.name}:0"] = quantized[graph.key(quantize.tensor)] = quantize.amax
    waiting = list(known)
    while waiting:
        for node, index in graph.takers.get(waiting.pop(0), ()):
            output = f"{node.name}:0"
            if output in known or output in quantized or not graph.takers.get(output):
                continue
            if node.op in KEEP_RANGE_OPS and index == 0:
                sources = graph.inputs(node)[:1]
            elif node.op == "ConcatV2":
                sources = graph.inputs(node)[:-1]
            else:
                continue
            found = [known.get(source, quantized.get(source)) for source in sources]
            if None not in found and graph.dtype(output) in (None, _DT_FLOAT):
                known[output] = max(amax for amax in found if amax is not None)
                waiting.append(output)
    return known


def _insert(result: Any, graph: NodeTensors, tensor: str, amax: float, explicit: bool) -> None:
    """Puts a quantize node between `tensor` and all who take it."""
    producer = graph.producer(tensor)
    assert producer is not None  # as _named_tensor and _spread found it
    takers = graph.takers.get(tensor, ())
    if takers:
        name = _free_name(graph, f"{producer.name}/custom_range")
    elif producer.op.startswith("Placeholder"):
        raise SpecError(f"custom_ranges: nothing in the graph uses {shown(tensor)!r}")
    else:
        # An output of the graph: the quantize node takes over the name that callers ask for.
        name = producer.name
        del graph.nodes[name]
        producer.name = _free_name(graph, f"{name}/unquantized")
        graph.nodes[producer.name] = producer
    index = tensor.rpartition(":")[2]
    for node, position in takers:
        # Data inputs come before the control inputs, so that positions agree.
        node.input[position] = name
    node = result.node.add(name=name, device=producer.device)
    source = producer.name if index == "0" else f"{producer.name}:{index}"
    graph.nodes[name] = node
    graph.takers[f"{name}:0"] = [*takers]
    graph.takers[tensor] = [(node, 0)]
    node.input.append(source)
    if not explicit:
        node.op = "FakeQuantWithMinMaxArgs"
        node.attr["min"].f, node.attr["max"].f = -amax, amax
        node.attr["num_bits"].i = 8
        # 254 steps over 2 amax: TensorRT's, with 0 on the grid.
        node.attr["narrow_range"].b = True
        return
    node.op = EXPLICIT_OP
    for suffix, value in (("min", -amax), ("max", amax)):
        limit = result.node.add(name=_free_name(graph, f"{name}/{suffix}"), op="Const")
        graph.nodes[limit.name] = limit
        limit.attr["dtype"].type = _DT_FLOAT
        limit.attr["value"].tensor.dtype = _DT_FLOAT
        limit.attr["value"].tensor.tensor_shape.SetInParent()
        limit.attr["value"].tensor.float_val.append(value)
        node.input.append(limit.name)
    node.attr["T"].type = _DT_FLOAT
    node.attr["signed_input"].b = node.attr["range_given"].b = True
    node.attr["num_bits"].i = 8
    # What TF-TRT recommends for both; the step is amax / 127 all the same.
    node.attr["round_mode"].s = b"HALF_TO_EVEN"
    node.attr["narrow_range"].b = False


def _free_name(graph: NodeTensors, name: str) -> str:
    number, found = 0, name
    while found in graph.nodes:
        number += 1
        found = f"{name}_{number}"
    return found
