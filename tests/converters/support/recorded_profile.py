"""The report of a profile that was never run: an FP16 engine beside its FP32 one.

The names of layers are those of a real plan (recorded_layers.py). Times are made up; a profiler
reports them layer by layer, as `trtexec --exportProfile` of TensorRT 8.6 writes them.
"""

from __future__ import annotations

from typing import Any

from recorded_layers import CONVERTED, layer_names, plan_of

from converters.measure.profile import ProfileReport
from converters.measure.profile_data import EngineProfile, LayerProfile
from converters.model.engine_layers import is_copy, nodes_of
from converters.model.trt_graph import engine_nodes, load_graph


def engine(dtype: str, ms: float, model: str = "fp16_explicit") -> EngineProfile:
    """An engine whose layers take `ms` each. `dtype` "" is for types that are not known."""
    (node,) = engine_nodes(load_graph(CONVERTED / model).graph_def)
    names = layer_names(plan_of(CONVERTED / model, node))
    return EngineProfile(
        node.canonical_name,
        {"TensorRTInputPH_0": (8, 16, 16, 3)},
        "0" * 64,
        ms * len(names) * 0.9,
        tuple(
            LayerProfile(
                name,
                ms,
                1 / len(names),
                ("Reformat" if is_copy(name) else "CaskConvolution") if dtype else "",
                (f"Float -> {dtype}" if is_copy(name) else dtype) if dtype else "",
                is_copy(name),
                nodes_of(name, node.node_ops),
                tuple(node.node_ops[found] for found in nodes_of(name, node.node_ops)),
            )
            for name in names
        ),
    )


def recorded_profile(**changes: Any) -> ProfileReport:
    """The report. `changes` replace its fields."""
    fields: dict[str, Any] = {
        "model": "models/fast<er>",
        "original": "models/fp32",
        "kind": "model",
        "signature": "serving_default",
        "shapes": {"image": (8, 16, 16, 3)},
        "device": "a GPU",
        "library": "TensorRT 8.6.0",
        "runs": 20,
        "engines": (engine("Half", 0.01),),
        "original_engines": (engine("Float", 0.02, "fp32_two_shapes"),),
        "trace": ("trace/plugins/profile/1/host.xplane.pb",),
        "nsys": "nsys profile trt-convert profile models/fp16",
        "notes": ("it rained",),
    }
    return ProfileReport(**{**fields, **changes})
