"""ConversionSpec: all settings of a conversion, checked together before anything runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from converters.spec import rules
from converters.util.errors import SpecError
from converters.util.shapes import Shape, ShapeRange, ShapeSet, batch_of, volume_of

if TYPE_CHECKING:
    from converters.spec.thresholds import Thresholds


@dataclass(frozen=True)
class ConversionSpec:
    """What to convert to. None means the default; `resolved()` fills the defaults in and checks.

    Shapes are full shapes, the batch first, by the name of the signature's input (for a frozen
    graph, of its placeholder: "x:0" is "x").

    Attributes:
      precision: "FP32" (default), "FP16" or "INT8", in any case.
      mode: "dynamic": engines by shape, in files beside the graph. "static": one plan for each
        engine inside the graph, as TrtGraphConverter (V1) makes it. Default: "static" for frozen
        graphs and MetaGraphs where the rest of the spec allows it, else "dynamic".
      input_shapes: one set of shapes, or several. Engines are built that serve all of them: with
        implicit batch one for the largest of the sets that differ in the batch alone, with explicit
        batch one with a profile for each set.
      shape_ranges: a range for each input, instead of input_shapes; takes explicit batch.
      profile_strategy: "Range", "Optimal" or "Range+Optimal"; only with explicit batch. Default:
        "Optimal" for input_shapes; for shape_ranges "Range", or "Range+Optimal" where an `opt`
        differs from `max`.
      explicit_batch: TensorFlow's use_dynamic_shape. Default: whether shape_ranges or
        profile_strategy is given.
      max_batch_size: static mode only. Default: the largest batch of input_shapes, of the data to
        build with and of graphs whose inputs fix it, or 1.
      max_workspace_size_bytes: default: no limit (TensorFlow's sys.maxsize - 512).
      minimum_segment_size: the fewest nodes that an engine may have. Default 3.
      maximum_cached_engines: default: one for each shape set, declared or of the data to build
        with, and 1000 more in dynamic mode with an implicit batch, unless engines are built at
        runtime: TF-TRT notes other shapes in the same cache. Fewer than the shape sets is an error.
      op_denylist: op types, such as "Relu", to keep out of engines.
      node_denylist: names of nodes to keep out of engines.
      use_calibration: INT8 only. Default True. False takes the ranges from quantize nodes in the
        graph and from custom_ranges alone.
      calibration_batches: how many batches of the data to use. Default: all.
      calibration_table: a file to read the ranges from if it exists, else to write them to.
      custom_ranges: INT8 only: (min, max) by tensor name. With calibration they take the place of
        what is measured for these tensors, or read from calibration_table.
      require_int8: INT8 only: whether it is an error if TensorRT takes no INT8 kernel. (TensorRT
        takes the fastest kernel of any precision.) Default True. The build log tells, and only a
        child process has one: without a child the default is False, and True is an error.
      allow_build_at_runtime: whether the saved model may build engines for shapes that were not
        declared. Default False: such shapes run in TensorFlow.
      save_gpu_specific_engines: whether the built engines are saved. Default True.
      native_segments: whether the saved model keeps TensorFlow's own ops, with their weights, for
        shapes that no engine serves. Default True. Without them such a shape, or an engine that
        was lost, is an InvalidArgumentError; a large model loads faster.
      signatures: the signatures to convert. Default: all.
      tags: the MetaGraph of a SavedModel. Default ("serve",).
      outputs: the output tensors or nodes of a frozen graph.
      imports: Python modules that register ops of the model, such as "tf_nvcodec".
      op_libraries: files that `tf.load_op_library` loads for that.
      thresholds: the differences that verification allows. Default:
        `converters.compare.default_thresholds(precision)`.
    """

    precision: str | None = None
    mode: str | None = None
    input_shapes: Sequence[ShapeSet] | ShapeSet | None = None
    shape_ranges: Mapping[str, ShapeRange] | None = None
    profile_strategy: str | None = None
    explicit_batch: bool | None = None
    max_batch_size: int | None = None
    max_workspace_size_bytes: int | None = None
    minimum_segment_size: int | None = None
    maximum_cached_engines: int | None = None
    op_denylist: Sequence[str] = ()
    node_denylist: Sequence[str] = ()
    use_calibration: bool | None = None
    calibration_batches: int | None = None
    calibration_table: str | None = None
    custom_ranges: Mapping[str, tuple[float, float]] | None = None
    require_int8: bool | None = None
    allow_build_at_runtime: bool | None = None
    save_gpu_specific_engines: bool | None = None
    native_segments: bool | None = None
    signatures: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    outputs: Sequence[str] | None = None
    imports: Sequence[str] = ()
    op_libraries: Sequence[str] = ()
    thresholds: Thresholds | None = None

    def resolved(self) -> ConversionSpec:
        """A copy with the defaults filled in and all values in one form: precision in capitals,
        input_shapes a tuple of dicts (or None), names without ":0", sequences as tuples.

        What stays None: input_shapes and shape_ranges that were not given, profile_strategy
        without explicit batch, max_batch_size in dynamic mode, calibration_batches (all),
        calibration_table, custom_ranges, signatures (all), outputs, thresholds.

        Raises:
          SpecError: lists every fault: the field, its value, the allowed values and the reason.
        """
        values, faults = rules.normalised(
            {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        )
        faults += rules.contradictions(values, {fault.field for fault in faults})
        if faults:
            raise SpecError(rules.message(faults))
        return ConversionSpec(**rules.with_defaults(values))

    def build_order(self, inputs: Iterable[str] | None = None) -> list[dict[str, Shape]]:
        """The shape sets to build, the largest first: by batch, then by number of elements.

        In implicit batch mode an engine also serves smaller batches, so this order builds the
        fewest. For shape_ranges, the sets are all inputs' max, opt and min. `inputs` limits the
        result to sets of exactly these inputs, and ranges to these inputs.
        """
        spec = self.resolved()
        names = None if inputs is None else set(inputs)
        if spec.shape_ranges is not None:
            sets = _ends(spec.shape_ranges, names)
        else:
            given = spec.input_shapes or ()
            assert not isinstance(given, Mapping)  # resolved() makes it a tuple
            sets = [dict(shapes) for shapes in given if names is None or set(shapes) == names]
        return sorted(sets, key=lambda shapes: (-batch_of(shapes), -volume_of(shapes)))

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values; from_json reads them."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ConversionSpec:
        """The spec that to_json described; a field that is left out has its default.

        Raises:
          SpecError: for a field that does not exist or cannot be read; `resolved()` finds the
            other faults.
        """
        if not isinstance(values, Mapping):
            raise SpecError(f"a spec is an object of fields, not a {type(values).__name__}")
        known = {field.name for field in dataclasses.fields(cls)}
        faults = [
            rules.Fault(name, values[name], tuple(sorted(known)), "there is no such field")
            for name in values
            if name not in known
        ]
        # JSON has lists only; a spec is made of tuples.
        found = {name: _tuples(value) for name, value in values.items() if name in known}
        for name, parse in (("shape_ranges", _ranges), ("thresholds", _thresholds)):
            if found.get(name) is not None:
                try:
                    found[name] = parse(found[name])
                except (AttributeError, KeyError, TypeError) as error:
                    reason = f"it cannot be read back: {error}"
                    faults.append(rules.Fault(name, found[name], (), reason))
        if faults:
            raise SpecError(rules.message(faults))
        return cls(**found)


def _ends(ranges: Mapping[str, ShapeRange], names: set[str] | None) -> list[dict[str, Shape]]:
    used = {name: found for name, found in ranges.items() if names is None or name in names}
    if not used or (names is not None and set(used) != names):
        return []
    sets = [{name: found.max for name, found in used.items()}]
    if any(found.opt is not None for found in used.values()):
        sets.append({name: found.opt or found.max for name, found in used.items()})
    sets.append({name: found.min for name, found in used.items()})
    return [shapes for index, shapes in enumerate(sets) if shapes not in sets[:index]]


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value))
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_plain(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else str(value)  # numpy's, or a path


def _tuples(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _tuples(part) for name, part in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value


def _ranges(values: Mapping[str, Any]) -> dict[str, ShapeRange]:
    return {
        name: ShapeRange(found["min"], found["max"], found.get("opt"))
        for name, found in values.items()
    }


def _thresholds(values: Mapping[str, Any]) -> Thresholds:
    from converters.spec.thresholds import Thresholds

    return Thresholds.from_json(values)
