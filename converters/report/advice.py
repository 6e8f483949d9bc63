"""What would make a model faster in TensorRT: node, reason and cure, from the graph alone.

RULES has the rules by name. Each is a function that looks at a Subject and yields what it Found. A
rule that would need a shape or a value that the graph does not state says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from converters.model.flat_graph import FlatGraph
from converters.report import engine_advice, layer_advice, mode_advice
from converters.report.advice_subject import Found, Subject
from converters.report.advised_graph import AdvisedGraph
from converters.report.report_data import Advice, ReportData

Rule = Callable[[Subject], Iterator[Found]]

RULES: Mapping[str, Rule] = {
    "less-than-90-percent": engine_advice.little_converted,
    "engines-cut": engine_advice.engines_cut,
    "control-flow": engine_advice.control_flow,
    "data-types": engine_advice.data_types,
    "small-segments": engine_advice.small_segments,
    "small-engines": engine_advice.small_engines,
    "engine-limit": engine_advice.engine_limit,
    "training-batch-norm": mode_advice.training_batch_norm,
    "training-dropout": mode_advice.training_dropout,
    "learning-phase": mode_advice.learning_phase,
    "tensor-core-channels": layer_advice.channels,
    "tensor-core-matrices": layer_advice.matrices,
    "batch-of-one": layer_advice.batch_of_one,
    "gather-axis": layer_advice.gather_axis,
    "large-top-k": layer_advice.large_top_k,
    "reduced-axes": layer_advice.reduced_axes,
}


def advise(graphs: Sequence[FlatGraph], report: ReportData, precision: str) -> tuple[Advice, ...]:
    """What the rules find in a model.

    Args:
      graphs: its signatures, with the native segments of engines in the engines' place.
      report: what is in engines and what is not.
      precision: of the engines, or the one that a forecast is for.
    """
    subject = Subject(tuple(map(AdvisedGraph, graphs)), report, precision)
    return tuple(
        Advice(name, found.signature, found.nodes, found.reason, found.cure, found.source)
        for name, rule in RULES.items()
        for found in rule(subject)
    )
