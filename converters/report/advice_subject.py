"""What the rules of advice look at and what they give, and the documents that they are from."""

from __future__ import annotations

from dataclasses import dataclass

from converters.report.advised_graph import AdvisedGraph
from converters.report.report_data import ReportData

# Where a rule is from, by the titles of sections: their numbers change from version to version.
TENSOR_CORES = "TensorRT Developer Guide 8.4, Optimizing for Tensor Cores"
LAYERS = "TensorRT Developer Guide 8.4, Optimizing Layer Performance"
BATCHING = "TensorRT Developer Guide 8.4, Batching"
TFTRT = "TF-TRT in TensorFlow 2.17"
GUIDE = "TF-TRT User Guide, best practices"


@dataclass(frozen=True)
class Subject:
    """A model to advise on; `precision` is FP32, FP16 or INT8."""

    graphs: tuple[AdvisedGraph, ...]
    report: ReportData
    precision: str


@dataclass(frozen=True)
class Found:
    """What one rule found at some nodes of a signature."""

    signature: str
    nodes: tuple[str, ...]
    reason: str
    cure: str
    source: str
