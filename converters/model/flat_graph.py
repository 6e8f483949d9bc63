"""One signature's graph with every function call inlined, as protobuf: the graph TF-TRT sees.

Nodes inside a called function are named caller/inner, as TensorFlow's own inlining names them. A
tensor is "node:0", or "node:indices:0" where a function names an output of several. Bodies of
control flow (If, While, Case and their kin) and of data sets stay inside their node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from converters.model.trt_graph import ENGINE_OP, LoadedGraph, Signature, is_left_out
from converters.util.errors import ModelError

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
# Inlining a function at each of its calls can explode; no model meant for TensorRT comes near.
_MOST_NODES = 250_000


@dataclass(frozen=True)
class FlatNode:
    """A node; `inputs` are tensors in order, `controls` names of nodes."""

    name: str
    op: str
    inputs: tuple[str, ...]
    controls: tuple[str, ...]
    definition: Any  # its NodeDef; the inputs in there are those before inlining


@dataclass(frozen=True)
class FlatGraph:
    """`nodes` in topological order; `inputs` and `outputs` are the signature's, as tensors."""

    signature: str  # "" for a graph without signatures
    nodes: Mapping[str, FlatNode]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


def flatten(loaded: LoadedGraph, native: bool = False) -> list[FlatGraph]:
    """A FlatGraph for each signature, or one of the whole graph where there are none.

    `native` puts the native segment in the place of each engine that still has one.
    """
    if loaded.signatures:
        return [flatten_signature(loaded, name, native) for name in loaded.signatures]
    inliner = _Inliner(loaded, native)
    names = [node.name for node in loaded.graph_def.node]
    inliner.add_main(names)
    inputs = {n.name: f"{n.name}:0" for n in inliner.nodes.values() if _is_input(n)}
    read = {node_of(tensor) for node in inliner.nodes.values() for tensor in node.inputs}
    ends = [n for n in inliner.nodes.values() if n.inputs and n.name not in read]
    outputs = {node.name: f"{node.name}:0" for node in ends if node.op not in ("NoOp", "Assert")}
    return [FlatGraph("", _in_order(inliner.nodes), inputs, outputs)]


def flatten_signature(loaded: LoadedGraph, name: str, native: bool = False) -> FlatGraph:
    """What computes the signature's outputs; nothing else (saving, restoring) is in it."""
    signature = loaded.signatures[name]
    inliner = _Inliner(loaded, native)
    wanted = {key: info.name for key, info in signature.outputs.items()}
    for tensor in wanted.values():
        if _main_name(tensor) not in inliner.main:
            raise ModelError(
                f"{loaded.path}: the signature {name!r} gives {tensor}, which its graph has not. "
                "The model is damaged; export it again."
            )
    # A signature of TensorFlow 2 is one call; its function's own names are those TF-TRT sees.
    calls = {_main_name(tensor) for tensor in wanted.values()}
    only = next(iter(calls)) if len(calls) == 1 else ""
    inliner.unprefixed = only if only and inliner.is_call(inliner.main[only]) else ""
    inliner.add_main(_ancestors(inliner.main, calls))
    outputs = {key: inliner.given(tensor) for key, tensor in wanted.items()}
    nodes = _reached(inliner, outputs.values())
    return FlatGraph(name, _in_order(nodes), _signature_inputs(signature), outputs)


def node_of(tensor: str) -> str:
    """The node that gives `tensor`: "a/b" of "a/b:0"."""
    return tensor.partition(":")[0]


def index_of(tensor: str) -> int:
    """Which output of its node `tensor` is; exact for nodes whose outputs are one list.

    Raises:
      ModelError: The name ends with no number.
    """
    index = tensor.rpartition(":")[2]
    if not index.isdecimal():
        raise ModelError(
            f"{tensor!r} names no output of a node. The model is damaged; export it again."
        )
    return int(index)


class _Inliner:
    """Gathers nodes; `prefix` below is "" in the main graph and ends with "/" elsewhere."""

    def __init__(self, loaded: LoadedGraph, native: bool) -> None:
        self._path = loaded.path
        self._native = native
        self._functions = {f.signature.name: f for f in loaded.graph_def.library.function}
        self.main = {node.name: node for node in loaded.graph_def.node}
        self.nodes: dict[str, FlatNode] = {}
        self._calls = 0
        self.unprefixed = ""
        self.kept: set[str] = set()  # nodes that run for their effect
        self._returned: dict[str, list[str]] = {}  # of the main graph's calls
        self._effects: dict[str, list[str]] = {}  # what to wait for in place of a call

    def is_call(self, node: Any) -> bool:
        function = self._function(node)
        # An argument that stands for several tensors is not told apart here.
        return function is not None and not any(
            arg.number_attr or arg.type_list_attr for arg in function.signature.input_arg
        )

    def add_main(self, names: Iterable[str]) -> None:
        """Adds nodes of the main graph and what they call."""
        with self._damage_reported():
            self._add_main(names)

    def given(self, tensor: str) -> str:
        """An output of the main graph, as the tensor that gives it."""
        with self._damage_reported():
            return self._main_tensor(tensor)

    @contextmanager
    def _damage_reported(self) -> Iterator[None]:
        try:
            yield
        except RecursionError:
            raise ModelError(
                f"{self._path}: a function calls itself, or calls are nested too deeply to be "
                "inlined. Give the part of the model that serves."
            ) from None
        except (IndexError, KeyError, ValueError) as error:
            raise ModelError(
                f"{self._path}: a call and the function it calls do not fit together ({error!r}). "
                "The model is damaged; export it again."
            ) from error

    def _add_main(self, names: Iterable[str]) -> None:
        chosen = {name: self.main[name] for name in names}
        order = _sorted({name: _main_inputs(node) for name, node in chosen.items()})
        for name in order:
            node = chosen[name]
            data = [self._main_tensor(i) for i in node.input if not i.startswith("^")]
            if self.is_call(node):
                bare = name == self.unprefixed and not self._collides(node, chosen)
                prefix = "" if bare else f"{name}/"
                self._returned[name] = self._expand(self._function(node), prefix, data, name)
            else:
                self._put("", node, data, {})

    def _main_tensor(self, name: str) -> str:
        node, _, port = name.partition(":")
        if node in self._returned:
            return self._returned[node][int(port or 0)]
        return f"{node}:{port or 0}"

    def _expand(self, function: Any, prefix: str, args: list[str], call: str) -> list[str]:
        """Adds the nodes of the function that `call` calls with `args`; returns its results."""
        self._calls += 1
        self._check_size()
        known = {arg.name: args[i] for i, arg in enumerate(function.signature.input_arg)}
        body = {node.name: node for node in function.node_def}
        returned: dict[str, list[str]] = {}

        def tensor(name: str) -> str:
            node, _, port = name.partition(":")
            if node in known and node not in body:
                return known[node]
            if node in returned:
                return returned[node][int(port.rpartition(":")[2] or 0)]
            # "output:0" and the like of one-output ops become plain "0".
            out, _, number = port.rpartition(":")
            return (
                f"{prefix}{node}:{number}"
                if _is_first_output(body.get(node), out)
                else (f"{prefix}{node}:{port}")
            )

        order = _sorted({name: _body_inputs(node) for name, node in body.items()})
        for name in order:
            node = body[name]
            data = [tensor(i) for i in node.input if not i.startswith("^")]
            if self.is_call(node):
                inner = prefix + name
                returned[name] = self._expand(self._function(node), inner + "/", data, inner)
            else:
                self._put(prefix, node, data, known)
        waited = (e for n in function.control_ret.values() for e in self._waited(prefix + n))
        effects = list(dict.fromkeys(waited))
        self.kept.update(effects)
        self._effects[call] = effects
        # Protobuf's map would give "" for a name it lacks.
        results = dict(function.ret)
        return [tensor(results[arg.name]) for arg in function.signature.output_arg]

    def _put(self, prefix: str, node: Any, inputs: list[str], arguments: Mapping[str, str]) -> None:
        self._check_size()
        waited = [
            node_of(arguments[name[1:]]) if name[1:] in arguments else prefix + name[1:]
            for name in node.input
            if name.startswith("^")
        ]
        controls = dict.fromkeys(c for name in waited for c in self._waited(name))
        name = prefix + node.name
        self.nodes[name] = FlatNode(name, node.op, tuple(inputs), tuple(controls), node)

    def _check_size(self) -> None:
        # A function may hold nothing but calls.
        if len(self.nodes) + self._calls > _MOST_NODES:
            raise ModelError(
                f"{self._path} has more than {_MOST_NODES} nodes once its functions are inlined. "
                "Give the part of it that serves."
            )

    def _waited(self, name: str) -> list[str]:
        return self._effects.get(name, [name])

    def _function(self, node: Any) -> Any:
        if node.op in CALLS:
            return self._functions.get(node.attr["f"].func.name)
        if node.op == ENGINE_OP:
            segment = self._functions.get(node.attr["segment_func"].func.name)
            gone = segment is None or is_left_out(segment)
            return segment if self._native and not gone else None
        return self._functions.get(node.op)

    def _collides(self, call: Any, chosen: Mapping[str, Any]) -> bool:
        others = chosen.keys() - {call.name}
        return any(node.name in others for node in self._function(call).node_def)


def _is_first_output(node: Any, output: str) -> bool:
    """Whether the outputs of `node` are one list, or `output` is the only one it has."""
    if node is None or not output:
        return True
    from tensorflow.python.framework import op_def_registry

    definition = op_def_registry.get(node.op)
    if definition is None:
        return True
    return len(definition.output_arg) == 1


def _is_input(node: FlatNode) -> bool:
    return node.op.startswith("Placeholder")


def _main_name(tensor: str) -> str:
    return tensor.lstrip("^").partition(":")[0]


def _main_inputs(node: Any) -> list[str]:
    return [_main_name(name) for name in node.input]


def _body_inputs(node: Any) -> list[str]:
    return [name.lstrip("^").partition(":")[0] for name in node.input]


def _signature_inputs(signature: Signature) -> dict[str, str]:
    return {
        key: f"{_main_name(info.name)}:{info.name.partition(':')[2] or 0}"
        for key, info in signature.inputs.items()
    }


def _ancestors(main: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    found = dict.fromkeys(names)
    waiting = list(found)
    while waiting:
        for name in _main_inputs(main[waiting.pop()]):
            if name in main and name not in found:
                found[name] = None
                waiting.append(name)
    return list(found)


def _reached(inliner: _Inliner, outputs: Iterable[str]) -> dict[str, FlatNode]:
    """The nodes that the outputs need, or that run for their effect."""
    found = {node_of(tensor) for tensor in outputs} | (inliner.kept & inliner.nodes.keys())
    waiting = list(found)
    while waiting:
        node = inliner.nodes.get(waiting.pop())
        if node is None:
            continue
        for name in (*map(node_of, node.inputs), *node.controls):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return {name: node for name, node in inliner.nodes.items() if name in found}


def _in_order(nodes: Mapping[str, FlatNode]) -> dict[str, FlatNode]:
    before = {n.name: [*map(node_of, n.inputs), *n.controls] for n in nodes.values()}
    return {name: nodes[name] for name in _sorted(before)}


def _sorted(before: Mapping[str, list[str]]) -> list[str]:
    """Names in topological order; those of a loop, which has none, come last as they were."""
    after: dict[str, list[str]] = {name: [] for name in before}
    missing = dict.fromkeys(before, 0)
    for name, needed in before.items():
        for other in set(needed):
            if other in after and other != name:
                after[other].append(name)
                missing[name] += 1
    order = [name for name, count in missing.items() if count == 0]
    for name in order:
        for other in after[name]:
            missing[other] -= 1
            if missing[other] == 0:
                order.append(other)
    done = set(order)
    return order + [name for name in before if name not in done]
