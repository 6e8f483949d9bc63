"""The rules of ConversionSpec: each value by itself, then contradictions between values."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from converters.spec import values as values_of
from converters.spec.values import BadValueError
from converters.util.shapes import ShapeRange, batch_of, format_shape, format_shape_set

PRECISIONS = ("FP32", "FP16", "INT8")
MODES = ("dynamic", "static")
PROFILE_STRATEGIES = ("Range", "Optimal", "Range+Optimal")
# Fields that only INT8 has.
INT8_FIELDS = (
    *("calibration_batches", "calibration_table", "custom_ranges"),
    *("use_calibration", "require_int8"),
)
# TensorFlow's own default from TensorRT 8.4 on: no limit, short of overflow in its casts.
NO_WORKSPACE_LIMIT = sys.maxsize - 512
# Between two requests of a declared shape, requests have fewer different other shapes than this.
ROOM_FOR_OTHER_SHAPES = 1000


class Fault(NamedTuple):
    """One fault of a spec; `allowed` are the good values, () where the reason must explain."""

    field: str
    value: Any
    allowed: tuple[Any, ...]
    reason: str

    def __str__(self) -> str:
        allowed = ""
        if self.allowed:
            allowed = "; allowed: " + ", ".join(
                part if isinstance(part, str) else repr(part) for part in self.allowed
            )
        return f"{self.field}={_shown(self.value)}: {self.reason}{allowed}"


def message(faults: list[Fault]) -> str:
    """The text of a SpecError with these faults."""
    if len(faults) == 1:
        return f"the conversion spec has a fault: {faults[0]}"
    lines = "\n".join(f"  {fault}" for fault in faults)
    return f"the conversion spec has {len(faults)} faults:\n{lines}"


_PARSERS = {
    "precision": values_of.choice(PRECISIONS),
    "mode": values_of.choice(MODES),
    "input_shapes": values_of.shape_sets,
    "shape_ranges": values_of.shape_ranges,
    "profile_strategy": values_of.choice(PROFILE_STRATEGIES),
    "explicit_batch": values_of.flag,
    "max_batch_size": values_of.whole(1, 2**31 - 1),
    "max_workspace_size_bytes": values_of.whole(1, NO_WORKSPACE_LIMIT),
    "minimum_segment_size": values_of.whole(1, 2**31 - 1),
    "maximum_cached_engines": values_of.whole(1, 2**31 - 1),
    "op_denylist": values_of.op_types,
    "node_denylist": values_of.node_names,
    "use_calibration": values_of.flag,
    "calibration_batches": values_of.whole(1, 2**31 - 1),
    "calibration_table": values_of.path,
    "custom_ranges": values_of.number_ranges,
    "require_int8": values_of.flag,
    "allow_build_at_runtime": values_of.flag,
    "save_gpu_specific_engines": values_of.flag,
    "native_segments": values_of.flag,
    "signatures": values_of.names,
    "tags": values_of.names,
    "outputs": values_of.names,
    "imports": values_of.modules,
    "op_libraries": values_of.files,
    "thresholds": values_of.thresholds,
}


def normalised(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """Every value in one form, and the faults of single values; a faulty one becomes None."""
    result: dict[str, Any] = {}
    faults = []
    for name, value in values.items():
        result[name] = None
        if value is None:
            if name in ("op_denylist", "node_denylist", "imports", "op_libraries"):
                result[name] = ()
            continue
        try:
            result[name] = _PARSERS[name](value)
        except BadValueError as bad:
            faults.append(Fault(name, value, bad.allowed, bad.reason))
    return result, faults


def contradictions(values: Mapping[str, Any], bad: set[str]) -> list[Fault]:
    """Contradictions between values. Fields in `bad` have a faulty value already: rules about them
    are skipped, because what the user meant is not known."""
    faults: list[Fault] = []

    def unless_bad(fields: tuple[str, ...], found: list[Fault]) -> None:
        if not bad.intersection(fields):
            faults.extend(found)

    unless_bad(("mode",), _mode_faults(values))
    unless_bad(("mode", "precision", "use_calibration"), _int8_faults(values))
    shape_fields = ("mode", "input_shapes", "shape_ranges", "explicit_batch", "profile_strategy")
    unless_bad(shape_fields, _shape_faults(values))
    unless_bad(("mode", "input_shapes", "max_batch_size"), _batch_faults(values))
    unless_bad((*shape_fields, "maximum_cached_engines"), _cache_faults(values))
    unless_bad(("mode", "allow_build_at_runtime"), _building_faults(values))
    unless_bad(
        ("mode", "save_gpu_specific_engines", "allow_build_at_runtime"), _engine_file_faults(values)
    )
    unless_bad(("native_segments", "allow_build_at_runtime"), _native_faults(values))
    return faults


def with_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values without faults, with the defaults in place of None."""
    filled = dict(values)

    def default(name: str, value: Any) -> None:
        if filled[name] is None:
            filled[name] = value

    default("precision", "FP32")
    default("mode", "dynamic")
    default("explicit_batch", is_explicit(filled))
    if filled["explicit_batch"]:
        default("profile_strategy", _default_strategy(filled))
    if filled["mode"] == "static":
        default("max_batch_size", _largest_batch(filled))
    default("max_workspace_size_bytes", NO_WORKSPACE_LIMIT)
    default("minimum_segment_size", 3)
    default("maximum_cached_engines", _cache_size(filled))
    default("use_calibration", filled["precision"] == "INT8")
    default("require_int8", filled["precision"] == "INT8")
    default("allow_build_at_runtime", False)
    default("save_gpu_specific_engines", True)
    default("native_segments", True)
    default("tags", ("serve",))
    return filled


def is_explicit(values: Mapping[str, Any]) -> bool:
    """Whether engines get an explicit batch dimension."""
    if values["explicit_batch"] is not None:
        return bool(values["explicit_batch"])
    return values["shape_ranges"] is not None or values["profile_strategy"] is not None


def engines_needed(values: Mapping[str, Any]) -> int:
    """The most engines that the cache of each TRTEngineOp may have to hold.

    With explicit batch one engine holds all profiles, in static mode the graph holds one plan. With
    implicit batch, sets that differ in the batch alone share an engine.
    """
    if is_explicit(values) or values["mode"] == "static":
        return 1
    return max(len(values["input_shapes"] or ()), 1)


def _largest_batch(values: Mapping[str, Any]) -> int:
    return max((batch_of(shapes) for shapes in values["input_shapes"] or ()), default=1)


def _tuned(ranges: Mapping[str, ShapeRange]) -> list[str]:
    """The inputs whose opt is not their max."""
    return [name for name, found in ranges.items() if found.opt not in (None, found.max)]


def _default_strategy(values: Mapping[str, Any]) -> str:
    if values["shape_ranges"] is None:
        return "Optimal"
    return "Range+Optimal" if _tuned(values["shape_ranges"]) else "Range"


def _mode_faults(values: Mapping[str, Any]) -> list[Fault]:
    faults = []
    if values["mode"] == "static":
        for name, why in (
            ("shape_ranges", "a static plan holds one shape; ranges need mode='dynamic'"),
            ("profile_strategy", "a static plan has no profiles; they need mode='dynamic'"),
        ):
            if values[name] is not None:
                faults.append(Fault(name, values[name], (None,), why))
        if values["explicit_batch"]:
            why = "TrtGraphConverter (V1) builds static plans with an implicit batch only"
            faults.append(Fault("explicit_batch", True, (None, False), why))
    elif values["max_batch_size"] is not None:
        why = (
            "TF-TRT drops it in dynamic mode, where the shapes decide; give input_shapes, or "
            "mode='static'"
        )
        faults.append(Fault("max_batch_size", values["max_batch_size"], (None,), why))
    return faults


def _int8_faults(values: Mapping[str, Any]) -> list[Fault]:
    faults = []
    precision = values["precision"] or "FP32"
    if precision != "INT8":
        why = f"it has no effect with precision {precision}; it belongs to INT8"
        for name in ("calibration_batches", "calibration_table", "custom_ranges"):
            if values[name] is not None:
                faults.append(Fault(name, values[name], (None,), why))
        for name in ("use_calibration", "require_int8"):
            if values[name]:
                faults.append(Fault(name, True, (None, False), why))
        return faults
    if values["use_calibration"] is False:
        why = "there is no calibration with use_calibration=False"
        for name in ("calibration_batches", "calibration_table"):
            if values[name] is not None:
                faults.append(Fault(name, values[name], (None,), why))
    elif values["mode"] == "static":
        why = (
            "TF-TRT turns dynamic mode on to calibrate, and what calibrate() leaves has ranges but "
            "no plan: it would build at the first request; choose mode='dynamic', or "
            "use_calibration=False with quantize nodes in the graph or custom_ranges"
        )
        faults.append(Fault("mode", "static", ("dynamic",), why))
    return faults


def _shape_faults(values: Mapping[str, Any]) -> list[Fault]:
    faults = []
    ranges, strategy = values["shape_ranges"], values["profile_strategy"]
    if ranges is not None and values["input_shapes"] is not None:
        why = "give input_shapes or shape_ranges, not both"
        faults.append(Fault("shape_ranges", ranges, (None,), why))
    if values["explicit_batch"] is False:
        if ranges is not None:
            why = "ranges need explicit batch: with an implicit one only the batch may vary"
            faults.append(Fault("explicit_batch", False, (None, True), why))
        if strategy is not None:
            why = "there are no profiles with explicit_batch=False, TF-TRT drops the strategy"
            faults.append(Fault("profile_strategy", strategy, (None,), why))
    if ranges is not None and values["mode"] != "static":
        if strategy == "Optimal":
            why = (
                "Optimal builds for single shapes only: those within the range would run in "
                "TensorFlow; give input_shapes, or another strategy"
            )
            faults.append(Fault("profile_strategy", strategy, ("Range", "Range+Optimal"), why))
        elif strategy == "Range" and _tuned(ranges):
            why = (
                "Range tunes for max and drops the opt of "
                f"{', '.join(map(repr, _tuned(ranges)))}; leave opt out, or tune for it too"
            )
            faults.append(Fault("profile_strategy", strategy, ("Range+Optimal",), why))
    if values["mode"] == "static":
        faults += _static_shape_faults(values["input_shapes"] or ())
    return faults


def _static_shape_faults(sets: tuple[Mapping[str, tuple[int, ...]], ...]) -> list[Fault]:
    first: dict[tuple[frozenset[str], str], tuple[int, ...]] = {}
    for shapes in sets:
        for name, shape in shapes.items():
            known = first.setdefault((frozenset(shapes), name), shape)
            if known[1:] != shape[1:]:
                why = (
                    f"a static plan holds one shape of {name!r} beside its batch: "
                    f"{format_shape(known)} and {format_shape(shape)} need mode='dynamic'"
                )
                return [Fault("input_shapes", sets, (), why)]
    return []


def _batch_faults(values: Mapping[str, Any]) -> list[Fault]:
    limit = values["max_batch_size"]
    if values["mode"] != "static" or limit is None or limit >= _largest_batch(values):
        return []
    needed = _largest_batch(values)
    why = f"input_shapes has the batch {needed}, which would run in TensorFlow"
    return [Fault("max_batch_size", limit, (f"{needed} and more",), why)]


def _cache_size(values: Mapping[str, Any]) -> int:
    """The default size of each engine's cache.

    With an implicit batch, TF-TRT also keeps a note in the cache for each shape that no engine
    serves. A full cache throws out its oldest entry, which may be a built engine, and the process
    cannot get that back.
    """
    by_shape = values["mode"] == "dynamic" and not values["explicit_batch"]
    others = by_shape and not values["allow_build_at_runtime"]
    return engines_needed(values) + (ROOM_FOR_OTHER_SHAPES if others else 0)


def _cache_faults(values: Mapping[str, Any]) -> list[Fault]:
    cached, needed = values["maximum_cached_engines"], engines_needed(values)
    if cached is None or cached >= needed:
        return []
    why = f"{needed} shape sets may need an engine each, and a full cache throws engines away"
    return [Fault("maximum_cached_engines", cached, (f"{needed} and more",), why)]


def _building_faults(values: Mapping[str, Any]) -> list[Fault]:
    if values["mode"] != "static" or not values["allow_build_at_runtime"]:
        return []
    why = (
        "beside its static plan an engine builds no other: shapes that do not fit run in "
        "TensorFlow; mode='dynamic' builds at runtime"
    )
    return [Fault("allow_build_at_runtime", True, (None, False), why)]


def _engine_file_faults(values: Mapping[str, Any]) -> list[Fault]:
    if values["save_gpu_specific_engines"] is not False:
        return []
    if values["mode"] == "static":
        why = "a static plan is part of the graph and always saved"
        return [Fault("save_gpu_specific_engines", False, (None, True), why)]
    if not values["allow_build_at_runtime"]:
        why = (
            "without saved engines, and with allow_build_at_runtime=False, the model would "
            "always run in TensorFlow"
        )
        return [Fault("save_gpu_specific_engines", False, (None, True), why)]
    return []


def _native_faults(values: Mapping[str, Any]) -> list[Fault]:
    if values["native_segments"] is not False or not values["allow_build_at_runtime"]:
        return []
    why = "an engine is built at runtime from its native segment (allow_build_at_runtime=True)"
    return [Fault("native_segments", False, (None, True), why)]


def _is_shape_set(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(shape, (list, tuple)) for shape in value.values()
    )


def _shown(value: Any) -> str:
    """The value as the user wrote it, shortened."""
    if isinstance(value, tuple) and value and all(map(_is_shape_set, value)):
        text = "; ".join(format_shape_set(part) for part in value)
    elif isinstance(value, Mapping) and any(isinstance(v, ShapeRange) for v in value.values()):
        text = ", ".join(f"{name}: {found}" for name, found in value.items())
    else:
        text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."
