"""Opens any model that a user has, as a SavedModel that TensorFlow 2 loads.

A SavedModel is used where it is. A frozen GraphDef, a MetaGraph with its checkpoint and a Keras
file are first exported into a folder that the caller gives. `freeze` turns a signature's variables
into constants.
"""

from __future__ import annotations

import contextlib
import io
import keyword
import os
import re
import types
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from converters.model.graph_file import KERAS_SUFFIXES
from converters.model.node_tensors import op_def, output_args
from converters.model.trt_graph import LoadedGraph, Signature, load_graph, refuse_checkpoint
from converters.util.custom_ops import unknown_op
from converters.util.errors import ModelError
from converters.util.paths import require_local
from converters.util.shapes import input_name

DEFAULT_SIGNATURE = "serving_default"
# Graphs of TensorFlow 1, which TrtGraphConverter takes.
GRAPH_KINDS = ("frozen_graph", "meta_graph")
# Signatures that TensorFlow writes for itself.
_INTERNAL = ("__saved_model_init_op", "__saved_model_train_op")


@dataclass(frozen=True)
class ModelSource:
    """`kind` is what the user gave: "saved_model", "frozen_graph", "meta_graph" or "keras".

    `renamed` has the inputs of a graph whose names ("import/x") no signature can have, with the
    names that the signature gives them ("import_x").
    """

    path: Path
    kind: str
    saved_model: Path
    tags: tuple[str, ...]
    signatures: Mapping[str, Signature]
    renamed: Mapping[str, str] = field(default_factory=dict)

    def signature(self, name: str) -> Signature:
        if name not in self.signatures:
            raise ModelError(
                f"{self.path} has no signature {name!r}; it has "
                f"{', '.join(map(repr, self.signatures)) or 'none'}"
            )
        return self.signatures[name]


def kind_by_name(path: Path) -> str | None:
    """The kind of model that a path with this name has; None if it cannot be converted."""
    if path.is_dir() or path.name in ("saved_model.pb", "saved_model.pbtxt"):
        return "saved_model"
    kinds = {".pb": "frozen_graph", ".pbtxt": "frozen_graph", ".meta": "meta_graph"}
    return kinds.get(path.suffix, "keras" if path.suffix in KERAS_SUFFIXES else None)


def kind_of(path: str | os.PathLike[str]) -> str:
    """The kind of model at `path`; ModelError if it does not exist or cannot be converted."""
    path = Path(path)
    require_local(path, ModelError)
    kind = kind_by_name(path)
    if kind == "saved_model" or (kind is not None and path.is_file()):
        return kind
    refuse_checkpoint(path)
    what = "does not exist" if not path.exists() else "is of no known kind"
    raise ModelError(
        f"{path} {what}: give a SavedModel folder, a frozen graph (.pb, .pbtxt), a MetaGraph "
        f"(.meta) beside its checkpoint, or a Keras file ({', '.join(KERAS_SUFFIXES)})"
    )


def open_source(
    path: str | os.PathLike[str],
    work: Path,
    *,
    tags: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
) -> ModelSource:
    """Opens the model at `path`; if it must be exported first, the export goes into `work`.

    Args:
      tags: the MetaGraph of a SavedModel; None takes "serve", or the only one.
      outputs: the output tensors or nodes of a graph. None takes a MetaGraph's signatures, and
        for a frozen graph all outputs of the nodes that nothing reads.

    Raises:
      ModelError: names the file, what is wrong with it, and the cure.
    """
    path = Path(path)
    kind = kind_of(path)
    saved = work / "source"
    renamed: dict[str, str] = {}
    if kind == "saved_model":
        saved = path.parent if path.is_file() else path
    elif outputs and kind == "keras":
        raise ModelError(f"outputs={tuple(outputs)}: {path} is a Keras file, which names its own")
    elif kind == "keras":
        export_keras(path, saved)
    elif kind == "frozen_graph":
        graph = load_graph(path).graph_def
        results = graph_outputs(graph, outputs, path)
        require_frozen(graph, results.values(), path, chosen=outputs is not None)
        renamed = export_graph(graph, _placeholders(graph, path), results, saved)
    else:
        renamed = _export_meta_graph(path, load_graph(path), outputs, saved)
    loaded = load_graph(saved, tags if kind == "saved_model" else None)
    signatures = {n: s for n, s in loaded.signatures.items() if n not in _INTERNAL and s.outputs}
    if not signatures:
        raise ModelError(
            f"{path} has no signature to convert: save it with signatures=..., or give a frozen "
            "graph with its outputs"
        )
    return ModelSource(path, kind, saved, loaded.tags, signatures, renamed)


def export_graph(
    graph_def: Any, inputs: Mapping[str, str], outputs: Mapping[str, str], folder: Path
) -> dict[str, str]:
    """Writes a frozen graph as a SavedModel with one signature, serving_default.

    `inputs` and `outputs` map the signature's names to tensors ("x:0"). Returns the inputs that
    got another name, with that name.
    """
    import tensorflow as tf

    module = tf.Module()
    keys = argument_names(inputs)
    try:
        serve = graph_function(graph_def, {keys[n]: t for n, t in inputs.items()}, outputs)
    except (ValueError, TypeError, tf.errors.OpError) as error:
        unknown = unknown_op("the graph", str(error))
        raise ModelError(unknown or f"the graph cannot be imported: {error}") from error
    tf.saved_model.save(module, str(folder), signatures={DEFAULT_SIGNATURE: serve})
    return {name: key for name, key in keys.items() if name != key}


def argument_names(names: Iterable[str]) -> dict[str, str]:
    """Valid names for a function's arguments, by the names given. They are those that TensorFlow
    makes, except that no two are the same. A name that is valid is kept."""
    names = list(names)
    keys = {name: name for name in names if _argument_name(name) == name}
    for name in names:
        if name not in keys:
            key, number = _argument_name(name), 0
            taken = set(keys.values())
            while key in taken:
                number += 1
                key = f"{_argument_name(name)}_{number}"
            keys[name] = key
    return {name: keys[name] for name in names}


def _argument_name(name: str) -> str:
    plain = re.sub(r"[^0-9A-Za-z_]", "_", name)
    if not plain[0].isalpha():
        plain = f"arg_{plain}"
    return f"{plain}_" if keyword.iskeyword(plain) or plain == "self" else plain


def graph_function(graph_def: Any, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> Any:
    """A concrete function of keyword tensors that runs the graph and gives a dict."""
    import tensorflow as tf

    nodes = {node.name: node for node in graph_def.node}
    specs = {}
    for name, tensor in inputs.items():
        attr = nodes[input_name(tensor)].attr
        shape = None
        if "shape" in attr and not attr["shape"].shape.unknown_rank:
            shape = [None if dim.size < 0 else dim.size for dim in attr["shape"].shape.dim]
        specs[name] = tf.TensorSpec(shape, tf.as_dtype(attr["dtype"].type), name)

    @tf.function(autograph=False)
    def serve(**tensors: Any) -> dict[str, Any]:
        results = tf.graph_util.import_graph_def(
            graph_def,
            input_map={inputs[name]: tensor for name, tensor in tensors.items()},
            return_elements=list(outputs.values()),
            name="",
        )
        # A signature cannot return one of its own inputs as it is.
        return {name: tf.identity(result) for name, result in zip(outputs, results)}

    return serve.get_concrete_function(**specs)


def _export_meta_graph(
    path: Path, loaded: LoadedGraph, outputs: Sequence[str] | None, folder: Path
) -> dict[str, str]:
    import tensorflow as tf

    v1 = tf.compat.v1
    checkpoint = path.with_suffix("")
    with tf.Graph().as_default() as graph:
        try:
            saver = v1.train.import_meta_graph(str(path), clear_devices=True)
        except (ValueError, KeyError, tf.errors.OpError) as error:
            unknown = unknown_op(path, str(error))
            raise ModelError(unknown or f"{path} cannot be imported: {error}") from error
        graph_def = graph.as_graph_def()
        inputs, results = _meta_graph_ends(loaded, graph_def, outputs, path)
        with v1.Session() as session:
            if saver is not None:
                try:
                    saver.restore(session, str(checkpoint))
                except (ValueError, tf.errors.OpError) as error:
                    raise ModelError(
                        f"{checkpoint}, the checkpoint of {path.name}, cannot be restored: "
                        f"{error}. Its .index and .data files belong beside the .meta file"
                    ) from error
            nodes = [input_name(tensor) for tensor in results.values()]
            to_constants = v1.graph_util.convert_variables_to_constants
            frozen = to_constants(session, graph_def, list(dict.fromkeys(nodes)))
    kept = {node.name for node in frozen.node}
    used = {name: tensor for name, tensor in inputs.items() if input_name(tensor) in kept}
    return export_graph(frozen, used, results, folder)


def _meta_graph_ends(
    loaded: LoadedGraph, graph_def: Any, outputs: Sequence[str] | None, path: Path
) -> tuple[dict[str, str], dict[str, str]]:
    if outputs is None and len(loaded.signatures) == 1:
        signature = next(iter(loaded.signatures.values()))
        return (
            {name: info.name for name, info in signature.inputs.items()},
            {name: info.name for name, info in signature.outputs.items()},
        )
    if outputs is None:
        raise ModelError(
            f"{path} has {len(loaded.signatures) or 'no'} signatures: name its outputs "
            '(outputs=["softmax"], --output softmax)'
        )
    return _placeholders(graph_def, path), graph_outputs(graph_def, outputs, path)


def _placeholders(graph_def: Any, path: Path) -> dict[str, str]:
    found = {node.name: f"{node.name}:0" for node in graph_def.node if node.op == "Placeholder"}
    if not found:
        raise ModelError(f"{path} has no Placeholder: it has no inputs to convert for")
    return found


def graph_outputs(graph_def: Any, wanted: Sequence[str] | None, path: Path) -> dict[str, str]:
    """The output tensors of a graph by name ("softmax" for "softmax:0", else "split:1"): those
    `wanted`, or else all of the nodes that no other node reads."""
    nodes = {node.name for node in graph_def.node}
    if wanted is None:
        # "^x" is a control input: it reads no tensor of x.
        read = {input_name(i) for node in graph_def.node for i in node.input if i[0] != "^"}
        passive = ("Placeholder", "Const", "NoOp", "Assert")
        ends = [n for n in graph_def.node if n.name not in read and n.op not in passive]
        wanted = [tensor for node in ends for tensor in _inferred(node)]
        if not wanted:
            raise ModelError(f"{path}: no node is an output; name the outputs (outputs=[...])")
    found = {}
    for name in wanted:
        if input_name(name) not in nodes:
            near = [node for node in nodes if node.split("/")[-1] == name.split("/")[-1]]
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ModelError(f"{path} has no node {input_name(name)!r} for the output{hint}")
        index = name.rpartition(":")[2] if input_name(name) != name else "0"
        found[input_name(name) if index == "0" else name] = f"{input_name(name)}:{index}"
    return found


# How ops name the outputs that only their gradients need.
_FOR_GRADIENTS = ("backprop", "batch_mean", "batch_variance", "host_reserved", "reserve_space")


def _inferred(node: Any) -> list[str]:
    """The tensors that a node computes for inference; its first one if TensorFlow does not know the
    op, which may be a user's."""
    if op_def(node.op) is None:
        return [node.name]
    found = []
    number = 0
    for argument, dtypes in output_args(node):
        if not argument.startswith(_FOR_GRADIENTS):
            found += [f"{node.name}:{index}" for index in range(number, number + len(dtypes))]
        number += len(dtypes)
    return found


def export_keras(path: Path, folder: Path) -> None:
    """Exports the model into `folder`; ModelError where it cannot be loaded or exported."""
    import tensorflow as tf

    _check_whole(path)
    try:
        model = tf.keras.models.load_model(path, compile=False)
    except Exception as error:  # Keras raises what its layers and h5py raise
        raise ModelError(
            f"{path} cannot be loaded by Keras {tf.keras.__version__}: {error}. Custom layers need "
            "their code: export the model with model.export(...) where it is and convert that"
        ) from error
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # Keras prints what it exported
            model.export(str(folder))
    except Exception as error:
        raise ModelError(
            f"{path} cannot be exported by Keras {tf.keras.__version__}: {error}. Build the model "
            "(keras.Input as its first layer, or a call on data), give its inputs names that "
            "Python's variables can have, and save it again"
        ) from error


def _check_whole(path: Path) -> None:
    if path.suffix == ".keras":
        whole = zipfile.is_zipfile(path)
    else:
        import h5py  # type: ignore[import-untyped]

        whole = bool(h5py.is_hdf5(path))
    if not whole:
        raise ModelError(
            f"{path} is no Keras file, or is cut off ({path.stat().st_size} bytes): copy it or "
            "save the model again"
        )


_VARIABLES = ("Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp")


def require_frozen(graph_def: Any, outputs: Iterable[str], path: Path, chosen: bool) -> None:
    """ModelError if the outputs depend on variables, whose values are in a checkpoint.

    `chosen` says whether the user named the outputs: the error's cure differs.
    """
    nodes = {node.name: node for node in graph_def.node}
    waiting = [input_name(name) for name in outputs]
    seen = set(waiting)
    found = []
    while waiting:
        node = nodes.get(waiting.pop())
        if node is None:
            continue
        if node.op in _VARIABLES:
            found.append(node.name)
        read = {name.lstrip("^").partition(":")[0] for name in node.input} - seen
        seen |= read
        waiting += read
    if found:
        found.sort()
        named = ", ".join(found[:3]) + (", ..." if len(found) > 3 else "")
        other = "" if chosen else "; or name the outputs (--output), if they need none of these"
        raise ModelError(
            f"{path} has variables ({named}): it is not frozen. Give its MetaGraph (.meta) beside "
            "its checkpoint, or freeze it (tf.compat.v1.graph_util.convert_variables_to_constants)"
            f"{other}"
        )


def freeze(function: Any) -> Any:
    """The concrete function with its variables as constants.

    A function may capture more than variables, such as the handle of a lookup table. TensorFlow's
    own conversion turns these into arguments that no caller can give; here they stay captures.
    """
    from tensorflow.python.eager import wrap_function
    from tensorflow.python.framework import convert_to_constants

    frozen = convert_to_constants.convert_variables_to_constants_v2(function)
    inside = {inner.name: outer for outer, inner in function.graph.captures}
    captures = {
        tensor.name.split(":")[0]: inside[tensor.name]
        for tensor in frozen.inputs
        if tensor.name in inside
    }
    if not captures:
        return frozen
    return wrap_function.function_from_graph_def(
        frozen.graph.as_graph_def(),
        [tensor.name for tensor in frozen.inputs],
        [tensor.name for tensor in frozen.outputs],
        captures,
    )


@contextlib.contextmanager
def converter_freezes_so() -> Iterator[None]:
    """Within the block, TrtGraphConverterV2.convert uses `freeze`."""
    from tensorflow.python.compiler.tensorrt import trt_convert

    module = trt_convert.convert_to_constants
    trt_convert.convert_to_constants = types.SimpleNamespace(
        **{**vars(module), "convert_variables_to_constants_v2": freeze}
    )
    try:
        yield
    finally:
        trt_convert.convert_to_constants = module
