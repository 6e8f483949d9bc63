"""Rules about models that were saved in training mode. TF-TRT converts inference only."""

from __future__ import annotations

from collections.abc import Iterator

from converters.model.flat_graph import FlatNode
from converters.report.advice_subject import TFTRT, Found, Subject
from converters.report.advised_graph import AdvisedGraph

_SAVE_FOR_INFERENCE = (
    "save the model for inference: model.export(FOLDER) in Keras, training=False in every call of "
    "a layer, keras.backend.set_learning_phase(0) before the model is made in TensorFlow 1"
)
_BATCH_NORMS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_RANDOM = ("RandomUniform", "StatelessRandomUniform", "StatelessRandomUniformV2")
# What dropout makes of random numbers before it compares them with the rate.
_SCALING = ("Mul", "Add", "AddV2", "Sub")
_COMPARING = ("GreaterEqual", "Greater", "Less", "LessEqual", "Floor")
_CHOICES = ("Switch", "If", "StatelessIf", "Select", "SelectV2", "Case", "StatelessCase")


def training_batch_norm(subject: Subject) -> Iterator[Found]:
    """Batch normalization with the statistics of the batch at hand."""
    for graph in subject.graphs:
        fused = [node.name for node in graph.computing(*_BATCH_NORMS) if _is_training(node)]
        moments = [node.name for node in graph.computing("Mean") if _is_batch_mean(node, graph)]
        for names, op in ((fused, "FusedBatchNorm"), (moments, "Mean over the batch")):
            if names:
                yield Found(
                    graph.signature,
                    tuple(names),
                    f"{op} normalizes with the statistics of each batch: an answer depends on what "
                    "else is in its batch, and TF-TRT takes is_training=false only",
                    _SAVE_FOR_INFERENCE,
                    f"{TFTRT}, its converter of FusedBatchNorm",
                )


def training_dropout(subject: Subject) -> Iterator[Found]:
    """Random numbers that decide which values are dropped."""
    for graph in subject.graphs:
        # They depend on no input if the shape is fixed, and are not folded away all the same.
        names = [
            node.name
            for node in graph.graph.nodes.values()
            if node.op in _RANDOM and _is_compared(node, graph)
        ]
        if names:
            yield Found(
                graph.signature,
                tuple(names),
                "dropout is active: each answer is another one, and TF-TRT converts no random op",
                _SAVE_FOR_INFERENCE,
                f"{TFTRT}, its table of ops",
            )


def learning_phase(subject: Subject) -> Iterator[Found]:
    """An input that says whether the model trains, and branches that go by it."""
    for graph in subject.graphs:
        phases = [node.name for node in graph.graph.nodes.values() if is_learning_phase(node)]
        for phase in phases:
            decided = graph.behind(lambda node, phase=phase: node.name == phase)  # type: ignore[misc]
            chosen = [n.name for n in graph.computing(*_CHOICES) if n.name in decided]
            if chosen:
                yield Found(
                    graph.signature,
                    (phase, *chosen),
                    "the learning phase is an input: both ways are in the graph, and the nodes "
                    "that choose one cut the engines",
                    _SAVE_FOR_INFERENCE,
                    f"{TFTRT}, its converter of FusedBatchNorm",
                )


def is_learning_phase(node: FlatNode) -> bool:
    """Whether the node is an input by the usual names of the learning phase."""
    name = node.name.lower()
    named = "learning_phase" in name or "is_training" in name
    return named and node.op.startswith("Placeholder")


def _is_training(node: FlatNode) -> bool:
    # The op's default is true, and a SavedModel leaves out attributes that have the default.
    attributes = node.definition.attr
    return attributes["is_training"].b if "is_training" in attributes else True


def _is_batch_mean(node: FlatNode, graph: AdvisedGraph) -> bool:
    """Whether the node is the mean of each channel over an unknown batch, as Keras 3 takes it."""
    if len(node.inputs) < 2:
        return False
    axes, shape = graph.integers(node.inputs[1]), graph.shape(node.inputs[0])
    if axes is None or not shape or shape[0] is not None or 0 not in axes:
        return False
    # The variance is taken from the squared differences from this mean.
    return any(reader.op == "SquaredDifference" for reader in graph.readers[node.name])


def _is_compared(node: FlatNode, graph: AdvisedGraph) -> bool:
    waiting, seen = [node.name], {node.name}
    while waiting:
        for reader in graph.readers[waiting.pop()]:
            if reader.op in _COMPARING:
                return True
            if reader.op in _SCALING and reader.name not in seen:
                seen.add(reader.name)
                waiting.append(reader.name)
    return False
