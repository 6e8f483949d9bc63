"""One signature through TrtGraphConverter: static mode, with each engine's plan in the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from converters.environment.tftrt_ready import accept_patch_level
from converters.model.model_source import freeze
from converters.model.trt_graph import trt_nodes
from converters.spec.conversion_spec import ConversionSpec
from converters.tftrt.engine_log import engines_shown
from converters.tftrt.graph_edits import placeholders, with_unique_names, without_native_segments
from converters.tftrt.spec_for_model import nodes_to_keep_out
from converters.util.errors import EngineError, ModelError
from converters.util.progress import Progress
from converters.util.shapes import Shape, input_name


class SignatureV1:
    """Converts the signature `name` of a loaded SavedModel; `spec` is resolved and static.

    A static plan fixes all dimensions but the batch. `shapes` gives those that the signature leaves
    open.
    """

    converter = "TrtGraphConverter"

    def __init__(
        self,
        native: Any,
        name: str,
        spec: ConversionSpec,
        progress: Progress,
        *,
        shapes: Mapping[str, Shape] | None = None,
        edit: Callable[[Any], None] | None = None,
    ) -> None:
        self.name = name
        self.native = native
        self.graph_def: Any = None
        self.function: Any = None
        self.node_names: list[str] = []
        self._spec = spec
        self._progress = progress
        self._shapes = shapes or {}
        self._edit = edit

    def convert(self) -> None:
        """Freezes the signature, segments it and builds every engine."""
        import tensorflow as tf
        from tensorflow.python.compiler.tensorrt import trt_convert

        original = self.native.signatures[self.name]
        with self._progress.step(f"{self.name}: freezing"):
            frozen = freeze(original)
            graph_def = frozen.graph.as_graph_def()
        if frozen.graph.captures:
            raise ModelError(
                f"signature {self.name!r} uses {frozen.graph.captures[0][0]}, which cannot be "
                "frozen into a graph: use mode='dynamic', which keeps such resources"
            )
        self._fix_shapes(graph_def, frozen)
        if self._edit is not None:
            self._edit(graph_def)
        self.node_names = [node.name for node in graph_def.node]
        ends = [input_name(tensor.name) for tensor in (*frozen.inputs, *frozen.outputs)]
        step = self._progress.step(f"{self.name}: segmenting and building engines")
        with step as shown, engines_shown(shown), tf.Graph().as_default(), accept_patch_level():
            converter = trt_convert.TrtGraphConverter(
                input_graph_def=graph_def,
                nodes_denylist=[*ends, *nodes_to_keep_out(graph_def, self._spec)],
                max_batch_size=self._spec.max_batch_size,
                max_workspace_size_bytes=self._spec.max_workspace_size_bytes,
                precision_mode=self._spec.precision,
                minimum_segment_size=self._spec.minimum_segment_size,
                is_dynamic_op=False,
                maximum_cached_engines=self._spec.maximum_cached_engines,
                use_calibration=bool(self._spec.use_calibration),
            )
            self.graph_def = with_unique_names(converter.convert())
        for node in trt_nodes(self.graph_def):
            if not node.attr["serialized_segment"].s:
                raise EngineError(
                    f"signature {self.name!r}: {node.name} has no plan: TensorRT could not build "
                    "it; TensorFlow's log says why"
                )
            node.attr["_allow_build_at_runtime"].b = False  # TF-TRT sets it to True
        saved = self.graph_def
        if not self._spec.native_segments:
            saved = without_native_segments(saved)
        self.function = trt_convert._construct_function_from_graph_def(original, saved, frozen)

    def tables(self) -> dict[str, str]:
        """No tables: calibration needs dynamic mode."""
        return {}

    def _fix_shapes(self, graph_def: Any, frozen: Any) -> None:
        """Puts the declared dimensions into the placeholders, except the batch."""
        nodes = {node.name: node for node in graph_def.node}
        names = placeholders(self.native.signatures[self.name])
        keys = {placeholder: name for name, placeholder in names.items()}
        for tensor in frozen.inputs:
            name = input_name(tensor.name)
            shape = self._shapes.get(keys.get(name, name))
            own = None if tensor.shape.rank is None else tensor.shape.as_list()
            if shape is None:
                if own is None or None in own[1:]:
                    raise ModelError(
                        f"signature {self.name!r}: input {name!r} has the shape {tensor.shape}, "
                        "and a static plan needs all but the batch: give input_shapes, or "
                        "mode='dynamic'"
                    )
                continue
            proto = nodes[name].attr["shape"].shape
            proto.unknown_rank = False
            del proto.dim[:]
            open_batch = own is None or not own or own[0] is None
            for index, size in enumerate(shape):
                proto.dim.add(size=-1 if index == 0 and open_batch else size)
