"""Layers as TensorRT 8.6.0 tells them.

The names of layers are text in the plans of tests/golden/converted. The lines of the build log have
the form of real lines, which test_int8_proof.py has too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from converters.model.engine_file import read_engine_file
from converters.model.trt_graph import EngineNode, load_graph

CONVERTED = Path(__file__).resolve().parents[2] / "golden" / "converted"

OP = "2026-11-21 19:13:38.5: I tensorflow/compiler/tf2tensorrt/kernels/trt_engine_op.cc:1056] "
TRT = "2026-11-21 19:13:39.5: I tf2tensorrt/utils/trt_logger.cc:87] DefaultLogger "

# What a plan holds besides names of layers: of weights, and of tensors between layers.
_OTHERS = re.compile(r"Reformatted .*|.*( KERNEL| BIAS| SCALE| SHIFT|_output|l|:)$")
_NAME = re.compile(rb"[ -~]{10,}")


def plan_of(model: Path, engine: EngineNode) -> bytes:
    """The plan of an engine, the first if it has several."""
    if engine.static:
        return engine.plan
    path = load_graph(model).engine_file(engine)
    assert path is not None
    return read_engine_file(path)[0].plan


def layer_names(plan: bytes) -> list[str]:
    """The names of the layers, in their order, without those that TF-TRT did not name."""
    texts = (found.decode() for found in _NAME.findall(plan))
    return list(
        dict.fromkeys(
            text for text in texts if "TRTEngineOp_" in text and not _OTHERS.fullmatch(text)
        )
    )


def layer_line(name: str, kind: str, dtype: str) -> str:
    """A line of the build log. Copies read Float and write `dtype`."""
    copy = name.startswith("Reformatting CopyNode")
    reads, kind = ("Float", "Reformat") if copy else (dtype, kind)
    return (
        f"Layer({kind}): {name}, Tactic: 0x4037b478ce77e422, a ({reads}[-1,3:4,16,16]) -> "
        f"b ({dtype}[-1,16:4,8,8])\n"
    )


def build_log(
    names: Sequence[str], dtype: str, engine: str | None = None, shapes: str = "[]"
) -> str:
    """TensorFlow's log of one build. Without `engine` it does not tell the shapes."""
    begun = f"{OP}Building a new TensorRT engine for {engine} with input shapes: {shapes}\n"
    layers = "".join(layer_line(name, "CaskConvolution", dtype) for name in names)
    after = f"{TRT}Bindings:\nTensorRTInputPH_0\n"
    return f"{begun if engine else ''}{TRT}Engine Layer Information:\n{layers}{after}"
