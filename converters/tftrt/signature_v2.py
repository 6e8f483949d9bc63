"""One signature through TrtGraphConverterV2: segmented, calibrated, its engines built."""

from __future__ import annotations

import contextlib
import functools
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from converters.environment.tftrt_ready import accept_patch_level
from converters.inputs.calibration_data import Batch
from converters.int8.calibration_table import CalibrationTable, renamed
from converters.model.model_source import converter_freezes_so
from converters.model.trt_graph import engine_nodes, trt_nodes
from converters.spec.conversion_spec import ConversionSpec
from converters.tftrt.engine_log import engines_shown
from converters.tftrt.graph_edits import keywords, with_unique_names, without_native_segments
from converters.tftrt.spec_for_model import nodes_to_keep_out
from converters.util.errors import CalibrationError, EngineError, NotInt8Error
from converters.util.progress import Progress
from converters.util.shapes import Shape, format_shape_set

_ALL_PROFILES = "TensorRT times kernels for each profile of each engine"

Batches = Callable[[], Iterable[Batch]]
Tables = Callable[[Any], Mapping[str, CalibrationTable]]


class SignatureV2:
    """Converts the signature `name` of a SavedModel. Call convert, build and finish in this order.

    `spec` is resolved. `tables` gives the calibration tables of a converted graph by engine, to use
    instead of calibrating. If it raises CalibrationError, the engines are calibrated if there is
    data.
    """

    converter = "TrtGraphConverterV2"

    def __init__(
        self,
        saved_model: str,
        name: str,
        spec: ConversionSpec,
        progress: Progress,
        *,
        edit: Callable[[Any], None] | None = None,
        tables: Tables | None = None,
    ) -> None:
        self.name = name
        self._spec = spec
        self._progress = progress
        self._calibrates = spec.precision == "INT8" and bool(spec.use_calibration)
        self.node_names: list[str] = []  # of the frozen graph
        with accept_patch_level():
            self._trt = _converter_class()(
                edit=functools.partial(self._edit, edit),
                tables=tables,
                input_saved_model_dir=saved_model,
                input_saved_model_tags=list(spec.tags or ()),
                input_saved_model_signature_key=name,
                use_dynamic_shape=spec.explicit_batch,
                dynamic_shape_profile_strategy=spec.profile_strategy,
                max_workspace_size_bytes=spec.max_workspace_size_bytes,
                precision_mode=spec.precision,
                minimum_segment_size=spec.minimum_segment_size,
                maximum_cached_engines=spec.maximum_cached_engines,
                use_calibration=spec.use_calibration,
                # Building needs True; `finish` sets the final value.
                allow_build_at_runtime=True,
            )

    def convert(self, calibration: Batches | None, count: int | None) -> None:
        """Segments the graph and, with an implicit batch, calibrates with `count` batches."""
        self._trt.has_data = calibration is not None
        options: dict[str, Any] = {}
        if self._calibrates:
            options["calibration_input_fn"] = self._counted(calibration or tuple, count)
        with self._progress.step(f"{self.name}: segmenting"), converter_freezes_so():
            self._trt.convert(**options)
        if self._calibrates and not self._spec.explicit_batch:
            self._check_tables()

    def build(self, shapes: Sequence[Mapping[str, Shape]], batches: Iterable[Batch]) -> None:
        """Runs each batch once, which builds the engines that its shapes lack. `shapes` describes
        the batches."""
        trt = self._trt
        if not any(True for _ in self._nodes()):
            return
        # With explicit batch the shapes only make profiles: all engines are built after the last.
        explicit = bool(self._spec.explicit_batch)
        total = None if explicit else len(shapes)
        with self._progress.step(f"{self.name}: building engines", total) as step:

            def inputs() -> Iterator[Batch]:
                for described, batch in zip(shapes, self._called(batches)):
                    shown = format_shape_set(described)
                    step.note(f"profiles get {shown}" if explicit else shown)
                    step.busy(shown, time.monotonic())
                    yield batch
                    if not explicit:
                        step.advance()
                if explicit:
                    step.note(_ALL_PROFILES)
                    step.busy(_ALL_PROFILES, time.monotonic())

            with engines_shown(step):
                trt.build(inputs)
        if self._calibrates and self._spec.explicit_batch:
            self._check_tables()

    @property
    def function(self) -> Any:
        """The converted concrete function."""
        return self._trt._converted_func

    @property
    def graph_def(self) -> Any:
        return self._trt._converted_graph_def

    @property
    def native(self) -> Any:
        """The loaded SavedModel."""
        return self._trt._saved_model

    def tables(self) -> dict[str, str]:
        """Calibration tables by the engine's canonical name."""
        found = engine_nodes(self.graph_def)
        return {engine.canonical_name: engine.calibration_table for engine in found}

    def discard(self) -> None:
        """Frees the engines, which live in the process, of a signature that is not saved."""
        import tensorflow as tf

        with tempfile.TemporaryDirectory() as folder:
            for node in self._nodes():
                with contextlib.suppress(tf.errors.NotFoundError):
                    _take_engines(node.name.split("/")[-1], f"{folder}/engines", False)

    def finish(self) -> None:
        """Prepares the function for saving: it builds no engine when it runs, unless the spec
        allows that, and it has no native segments if the spec wants none."""
        if self._spec.allow_build_at_runtime:
            return
        for node in self._nodes():
            node.attr["_allow_build_at_runtime"].b = False
        graph_def = self.graph_def
        if not self._spec.native_segments:
            graph_def = without_native_segments(graph_def)
        self._trt._converted_func = _rebuilt(self._trt._converted_func, graph_def)

    def _nodes(self) -> list[Any]:
        return trt_nodes(self.graph_def)

    def _edit(self, edit: Callable[[Any], None] | None, meta_graph: Any) -> None:
        if edit is not None:
            edit(meta_graph.graph_def)
        self.node_names = [node.name for node in meta_graph.graph_def.node]
        # TF-TRT leaves nodes that are fetched out of its segments.
        fetched = meta_graph.collection_def["train_op"].node_list.value
        fetched.extend(nodes_to_keep_out(meta_graph.graph_def, self._spec))

    def _counted(self, calibration: Batches, count: int | None) -> Batches:
        def batches() -> Iterator[Batch]:
            with self._progress.step(f"{self.name}: calibrating", count) as step:
                for batch in self._called(calibration()):
                    yield batch
                    step.advance()
                step.note("TensorRT computes the ranges and builds")

        return batches

    def _called(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches with the names that TF-TRT's function takes."""
        names = keywords(self.native.signatures[self.name])
        for batch in batches:
            yield {names.get(name, name): value for name, value in batch.items()}

    def _check_tables(self) -> None:
        """NotInt8Error if calibration failed: TF-TRT only logs that and goes on without ranges."""
        empty = [name for name, table in self.tables().items() if not table]
        if empty:
            raise NotInt8Error(
                f"signature {self.name!r}: calibration left {', '.join(empty)} without ranges; "
                "TensorFlow's log says why. The engine's inputs must have the shapes and "
                "values of real data"
            )


def _rebuilt(function: Any, graph_def: Any) -> Any:
    from tensorflow.python.compiler.tensorrt import trt_convert

    return trt_convert._construct_function_from_graph_def(function, graph_def)


def _converter_class() -> Any:
    """TF-TRT's converter with our changes. The class is created here, because importing this module
    must not import TensorFlow."""
    from tensorflow.python.compiler.tensorrt import trt_convert

    class Converter(trt_convert.TrtGraphConverterV2):
        """Edits the graph before TF-TRT sees it, and takes calibration tables made earlier."""

        _converted_func: Any
        has_data = False  # to calibrate with

        def __init__(self, edit: Any, tables: Any, **options: Any) -> None:
            super().__init__(**options)
            self._edit = edit
            self._tables = tables
            self._first: Any = None

        def _run_conversion(self, meta_graph_def: Any) -> Any:
            self._edit(meta_graph_def)
            return with_unique_names(super()._run_conversion(meta_graph_def))

        def build(self, input_fn: Any) -> None:
            def inputs() -> Iterator[Any]:
                for batch in input_fn():
                    self._first = self._first or batch
                    yield batch

            super().build(inputs)

        def _execute_calibration(self, calibration_input_fn: Any) -> None:
            found = self._known_tables()
            if found is None:
                super()._execute_calibration(calibration_input_fn)
                return
            for node in trt_nodes(self._converted_graph_def):
                table = found.get(node.name.split("/")[-1])
                if table is None:  # an engine of the source, at another precision
                    continue
                # TensorRT finds layers by names that begin with the engine's name, which is new.
                node.attr["calibration_data"].s = renamed(table, node.name).serialize().encode()
            self._converted_func = _rebuilt(self._converted_func, self._converted_graph_def)
            self._calibrated = True
            # With explicit batch TF-TRT also counts calibrating as building.
            if self._first is not None:
                args, kwargs = trt_convert._convert_to_tensor(self._first)
                self._converted_func(*args, **kwargs)

        def _known_tables(self) -> Mapping[str, CalibrationTable] | None:
            if self._tables is None:
                return None
            try:
                found: Mapping[str, CalibrationTable] = self._tables(self._converted_graph_def)
            except CalibrationError:
                if not self.has_data:
                    raise
                return None
            return found

    return Converter


def serialize_engines(signature: SignatureV2, folder: str, save_plans: bool) -> dict[str, Any]:
    """Moves the signature's engines from the process into files of `folder`. Returns the trackable
    resources that load them again, by engine."""
    import os

    import tensorflow as tf
    from tensorflow.python.compiler.tensorrt import trt_convert

    resources: dict[str, Any] = {}
    for node in trt_nodes(signature.graph_def):
        name = node.name.split("/")[-1]
        if name in resources:
            continue
        path = os.path.join(folder, f"trt-serialized-engine.{name}")
        try:
            _take_engines(name, path, save_plans)
        except tf.errors.NotFoundError as error:
            if save_plans and not signature._spec.allow_build_at_runtime:
                raise EngineError(
                    f"signature {signature.name!r}: {name} was never run while engines were built "
                    "(a branch that the inputs did not take?): give build_data (--build-data) "
                    "whose values reach it, or allow_build_at_runtime=True (--build-at-runtime)"
                ) from error
            continue
        cached = signature._spec.maximum_cached_engines
        resources[name] = trt_convert._TRTEngineResource(name, path, cached)
    return resources


def _take_engines(name: str, path: str, save_plans: bool) -> None:
    """Moves the engines of one TRTEngineOp from the process into a file."""
    from tensorflow.compiler.tf2tensorrt.ops import gen_trt_ops

    gen_trt_ops.serialize_trt_resource(
        resource_name=name,
        filename=path,
        delete_resource=True,
        save_gpu_specific_engines=save_plans,
    )
