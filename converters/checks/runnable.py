"""Models as functions of named NumPy arrays, one for each signature, so that they can be compared.

TensorRT makes a plan for one compute capability. TensorFlow finds out only while it loads the model
or at a request, with a line in the log or by ending the process. The conversion's record tells
before: `require_same_gpu` compares it with the GPUs here.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, Union

import numpy as np
import numpy.typing as npt

from converters.environment.facts import cuda
from converters.inputs.calibration_data import Batch, InputSpec
from converters.model.model_source import argument_names, graph_outputs, require_frozen
from converters.model.trt_graph import LoadedGraph, Signature, engine_nodes, load_graph
from converters.segments.segmenter import tftrt_is_compiled_in
from converters.util.custom_ops import unknown_op
from converters.util.errors import (
    ConverterError,
    ModelError,
    PlanError,
    UnavailableError,
    VerificationError,
)
from converters.util.record import RECORD, read_record
from converters.util.shapes import input_name

DEFAULT_SIGNATURE = "serving_default"
# The name of the output of a function that returns a bare array.
UNNAMED = "output"


@dataclasses.dataclass(frozen=True)
class FrozenGraph:
    """A frozen GraphDef in a .pb file, with its output tensors ("softmax" or "split:1").

    `outputs` None takes all outputs of the nodes that no other node reads, as `convert` does;
    `inputs` None takes every Placeholder. The graph has one signature, serving_default, with the
    tensors' names without ":0". With `as_arguments`, inputs have the names that `convert` gives
    them ("import_x" for "import/x").
    """

    path: str | os.PathLike[str]
    outputs: Sequence[str] | None = None
    inputs: Sequence[str] | None = None
    as_arguments: bool = False


# A SavedModel's folder, a frozen graph, or a function of keyword arrays.
Model = Union[str, "os.PathLike[str]", FrozenGraph, Callable[..., Any]]


@dataclasses.dataclass(frozen=True)
class Runnable:
    """One signature that can be called. A batch given as a tuple follows the order of `specs`: by
    name, or as a FrozenGraph lists its inputs. None if a function does not tell its inputs."""

    name: str
    specs: dict[str, InputSpec] | None
    call: Callable[[Batch], Mapping[str, Any]]

    def __call__(self, batch: Batch) -> dict[str, npt.NDArray[Any]]:
        # Sorted, because TensorFlow's order differs from process to process.
        return {name: _array(name, value) for name, value in sorted(self.call(batch).items())}


def signature_specs(
    model: Model, tags: Sequence[str] | None = None
) -> dict[str, dict[str, InputSpec]]:
    """Inputs of every signature, read without running or loading anything."""
    if isinstance(model, FrozenGraph):
        graph = load_graph(os.fspath(model.path))
        specs = _placeholder_specs(graph, model.inputs)
        keys = _keys(model, specs)
        return {DEFAULT_SIGNATURE: {keys[name]: specs[name] for name in specs}}
    if callable(model):
        return {}
    return _saved_specs(_saved_model(model, tags))


def load_signatures(model: Model, tags: Sequence[str] | None = None) -> dict[str, Runnable]:
    """Every signature of the model, ready to be called.

    Raises:
      ModelError: no such model, it is damaged, or has no signature.
      UnavailableError: it has TensorRT engines and this TensorFlow has no TF-TRT.
      PlanError: its engines are for another kind of GPU.
    """
    if isinstance(model, FrozenGraph):
        return {DEFAULT_SIGNATURE: _load_frozen(model)}
    if callable(model):
        return {DEFAULT_SIGNATURE: _from_callable(model)}
    return _load_saved(_saved_model(model, tags))


def run_batch(model: Runnable, batch: Batch, role: str, index: int) -> dict[str, Any]:
    """The model's outputs; a VerificationError says which model failed at which batch."""
    try:
        return model(batch)
    except ModelError:
        raise
    except Exception as error:
        unavailable = _engines_cannot_run(f"the {role} model", error)
        if unavailable is not None:
            raise unavailable from error
        shapes = ", ".join(f"{name} {list(value.shape)}" for name, value in batch.items())
        raise VerificationError(
            f"the {role} model failed in signature {model.name!r} at batch {index + 1} "
            f"({shapes}): {error}"
        ) from error


def _saved_model(path: str | os.PathLike[str], tags: Sequence[str] | None) -> LoadedGraph:
    graph = load_graph(os.fspath(path), tags)
    if graph.kind != "saved_model":
        raise ModelError(
            f"{graph.path} is no SavedModel folder; give a frozen graph with its outputs, as "
            "FrozenGraph(path, outputs)"
        )
    if not graph.signatures:
        raise ModelError(f"{graph.path} has no signature, so it cannot be called by input names")
    return graph


def _saved_specs(graph: LoadedGraph) -> dict[str, dict[str, InputSpec]]:
    return {name: input_specs(signature) for name, signature in graph.signatures.items()}


def input_specs(signature: Signature) -> dict[str, InputSpec]:
    return {
        name: InputSpec(info.shape, numpy_dtype(info.dtype))
        for name, info in signature.inputs.items()
    }


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's type for TensorFlow's name; strings are objects, bfloat16 is TensorFlow's own."""
    import tensorflow as tf

    return np.dtype(tf.as_dtype(name).as_numpy_dtype)


def _load_saved(graph: LoadedGraph) -> dict[str, Runnable]:
    require_same_gpu(graph)
    import tensorflow as tf

    try:
        loaded = tf.saved_model.load(str(graph.path), tags=list(graph.tags))
    except Exception as error:
        raise load_error(graph.path, error) from error
    specs = _saved_specs(graph)

    def runnable(name: str) -> Runnable:
        function = loaded.signatures[name]

        def call(batch: Batch) -> Mapping[str, Any]:
            # Using `loaded` here keeps it alive: signatures do not hold their variables.
            assert loaded is not None
            return function(**{key: tf.constant(value) for key, value in batch.items()})

        return Runnable(name, specs[name], call)

    return {name: runnable(name) for name in specs if name in loaded.signatures}


def load_error(path: str | os.PathLike[str], error: Exception) -> ConverterError:
    """The error to raise if TensorFlow cannot load a model."""
    return _engines_cannot_run(str(path), error) or ModelError(
        unknown_op(path, str(error))
        or f"{path} cannot be loaded: {error}. A file of it may be missing or cut off: export it "
        "again"
    )


def _engines_cannot_run(model: str, error: Exception) -> UnavailableError | None:
    """A clearer error for TensorFlow's errors about engines; None for other errors."""
    if "TRTEngineOp" not in str(error):
        return None
    if not tftrt_is_compiled_in():
        return UnavailableError(
            f"{model} holds TensorRT engines, which this TensorFlow cannot run: it was built "
            "without TF-TRT. Use TensorFlow 2.17 on a machine with a GPU"
        )
    if "No OpKernel" not in str(error):
        return None
    return UnavailableError(
        f"{model} holds TensorRT engines, which need a GPU, and TensorFlow finds none here. "
        "`trt-convert doctor` says what is missing"
    )


def _placeholder_specs(graph: LoadedGraph, inputs: Sequence[str] | None) -> dict[str, InputSpec]:
    from converters.model.trt_graph import dtype_name, partial_shape

    nodes = {node.name: node for node in graph.graph_def.node}
    if inputs is None:
        inputs = [node.name for node in nodes.values() if node.op == "Placeholder"]
        if not inputs:
            raise ModelError(f"{graph.path} has no Placeholder; name its inputs")
    specs = {}
    for name in map(input_name, inputs):
        if name not in nodes:
            raise ModelError(f"{graph.path} has no node {name!r} to be an input")
        attr = nodes[name].attr
        shape = partial_shape(attr["shape"].shape) if "shape" in attr else None
        specs[name] = InputSpec(shape, numpy_dtype(dtype_name(attr["dtype"].type)))
    return specs


def _load_frozen(model: FrozenGraph) -> Runnable:
    import tensorflow as tf

    graph = load_graph(os.fspath(model.path))
    if graph.kind != "frozen_graph":
        raise ModelError(f"{graph.path} is no frozen graph but a {graph.kind}; give its path alone")
    specs = _placeholder_specs(graph, model.inputs)
    keys = _keys(model, specs)
    outputs = model.outputs
    if outputs is None:
        outputs = list(graph_outputs(graph.graph_def, None, Path(graph.path)))
    if not outputs:
        raise ModelError(f"{graph.path}: name the outputs of the frozen graph")
    names = {node.name for node in graph.graph_def.node}
    for name in outputs:
        if input_name(name) not in names:
            raise ModelError(f"{graph.path} has no node {input_name(name)!r} to be an output")
    require_frozen(graph.graph_def, outputs, graph.path, chosen=model.outputs is not None)
    try:
        wrapped = tf.compat.v1.wrap_function(
            lambda: tf.import_graph_def(graph.graph_def, name=""), []
        )
        tensor = wrapped.graph.as_graph_element
        pruned = wrapped.prune(
            [tensor(f"{name}:0") for name in specs],
            {_output_name(name): tensor(_tensor_name(name)) for name in outputs},
        )
    except Exception as error:
        raise load_error(graph.path, error) from error

    def call(batch: Batch) -> Mapping[str, Any]:
        return pruned(*(tf.constant(batch[keys[name]]) for name in specs))

    return Runnable(DEFAULT_SIGNATURE, {keys[name]: specs[name] for name in specs}, call)


def _keys(model: FrozenGraph, names: Iterable[str]) -> dict[str, str]:
    """The names that a batch uses for the graph's inputs `names`."""
    return argument_names(names) if model.as_arguments else {name: name for name in names}


def _tensor_name(name: str) -> str:
    return name if name != input_name(name) else f"{name}:0"


def _output_name(name: str) -> str:
    return input_name(name) if name.endswith(":0") else name


def _from_callable(function: Callable[..., Any]) -> Runnable:
    specs = None
    signature = getattr(function, "structured_input_signature", None)
    if signature is not None:  # a tf.function's ConcreteFunction
        specs = {name: InputSpec.of(spec) for name, spec in sorted(signature[1].items())}

    def call(batch: Batch) -> Mapping[str, Any]:
        result = function(**_tensors(batch) if signature is not None else batch)
        if isinstance(result, Mapping):
            return result
        if isinstance(result, (tuple, list)):
            raise ModelError(
                f"the model {function!r} returned a {type(result).__name__}; it must return an "
                "array or a dict of arrays by output name"
            )
        return {UNNAMED: result}

    return Runnable(DEFAULT_SIGNATURE, specs or None, call)


def _tensors(batch: Batch) -> dict[str, Any]:
    import tensorflow as tf

    return {name: tf.constant(value) for name, value in batch.items()}


def _array(name: str, value: Any) -> npt.NDArray[Any]:
    value = value.numpy() if hasattr(value, "numpy") else value
    if not isinstance(value, (np.ndarray, np.generic, int, float, bool, bytes, str, list)):
        raise ModelError(
            f"output {name!r} is a {type(value).__name__}, which cannot be compared as an array"
        )
    return np.asarray(value)


def require_same_gpu(model: LoadedGraph) -> None:
    """PlanError if the record names other compute capabilities than the GPUs here have. Without a
    record, a saved plan or a GPU nothing is checked: other errors cover that."""
    built = recorded_gpus(model)
    here = cuda().get("gpus") or []
    if not built or not here or not _has_plans(model):
        return
    if {gpu["compute_capability"] for gpu in built} & {gpu["compute_capability"] for gpu in here}:
        return
    raise PlanError(
        f"{model.path} has engines for {_text(built)}, as its {RECORD} says, and here is "
        f"{_text(here)}, which cannot run them: convert the model again on this kind of GPU"
    )


def recorded_gpus(model: LoadedGraph) -> list[Mapping[str, Any]]:
    """The GPUs of the machine that converted the model; none if no readable record tells."""
    if model.kind != "saved_model":
        return []
    try:
        environment = read_record(model.path)["environment"]
        return [dict(gpu) for gpu in environment["gpus"] if "compute_capability" in gpu]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _has_plans(model: LoadedGraph) -> bool:
    return any(engine.plan or model.engine_file(engine) for engine in engine_nodes(model.graph_def))


def _text(gpus: list[Mapping[str, Any]]) -> str:
    """Each kind once: the GPUs of one machine are alike."""
    kinds = {f"{gpu['name']} (compute capability {gpu['compute_capability']})" for gpu in gpus}
    return ", ".join(sorted(kinds))
