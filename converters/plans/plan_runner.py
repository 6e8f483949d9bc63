"""Runs a plan with TensorRT's own Python runtime: no TensorFlow, no CUDA bindings of Python."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from converters.model.engine_file import plan_header
from converters.plans.cuda_driver import Device
from converters.plans.cuda_stream import Graph, PageLocked
from converters.plans.gpu_tensor import GpuTensor, OutputMemory, SharedTensor, is_shared, share
from converters.util.errors import (
    PlanError,
    PlanShapeError,
    PlanVersionError,
    UnavailableError,
)
from converters.util.shapes import format_shape

_NUMPY_TYPES = {
    "FLOAT": np.float32,
    "HALF": np.float16,
    "INT8": np.int8,
    "INT32": np.int32,
    "BOOL": np.bool_,
    "UINT8": np.uint8,
}


@dataclass
class Placed:
    """Where a request's tensors are: `addresses` of all bindings, in the plan's order with an
    implicit batch. `results` are the outputs: (address, shape, dtype) on the GPU, or an array."""

    batch: int = 0  # implicit
    addresses: dict[str, int] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Prepared:
    """The memory of requests whose tensors have the same shapes. `key` says which these are."""

    key: object
    placed: Placed
    page_locked: dict[str, PageLocked] = field(default_factory=dict)
    ran: bool = False
    graph: Graph | None = None

    def close(self) -> None:
        if self.graph is not None:
            self.graph.close()
        for memory in self.page_locked.values():
            memory.close()


class PlanRunner(contextlib.AbstractContextManager["PlanRunner"]):
    """A plan, loaded and ready to run on a GPU.

    It has one execution context, one stream, and memory that is kept while requests have the same
    shapes. One thread may use it at a time; `PlanPool` serves several.

    Args:
      plan: A plan, or the path of its file.
      names: The names that `run` uses for bindings (TensorRTInputPH_0, ...); other bindings keep
        their own names.
      device: The GPU.
      cuda_graphs: Whether the second request of the same shapes records a CUDA graph, which later
        ones repeat. The host then starts one graph and not each kernel, which pays where kernels
        are short. A plan that TensorRT cannot record runs as before; `graph_error` says why.

    Use it in a `with` block, or close it.

    Raises:
      UnavailableError: TensorRT's Python package, the driver or the GPU is not here.
      PlanVersionError: The plan is by another version of TensorRT.
      PlanError: TensorRT cannot load the plan: it is for another GPU, or damaged. The message
        includes TensorRT's own.
    """

    def __init__(
        self,
        plan: bytes | str | Path,
        *,
        names: Mapping[str, str] | None = None,
        device: int = 0,
        cuda_graphs: bool = False,
    ) -> None:
        self.graph_error = ""
        self._records = cuda_graphs
        self._prepared: _Prepared | None = None
        self._output_memory: OutputMemory | None = None
        self._what = "the plan" if isinstance(plan, bytes) else str(plan)
        data = plan if isinstance(plan, bytes) else read_plan(Path(plan))
        self._trt = import_tensorrt()
        self._logger = _logger(self._trt)
        # TensorRT takes the device that is current when it loads.
        self._device = Device(device)
        try:
            self._engine = self._load(data)
            self._context = self._engine.create_execution_context()
            if self._context is None:
                raise PlanError(f"{self._what} loads but cannot run: {self._said()}")
        except BaseException:
            self._device.close()
            raise
        self._implicit = bool(self._engine.has_implicit_batch_dimension)
        self._names = dict(names or {})
        self._bindings = [
            self._engine.get_tensor_name(i) for i in range(self._engine.num_io_tensors)
        ]
        host = self._trt.TensorLocation.HOST
        # Shapes, whose values TensorRT reads or writes on the host.
        self._on_host = {
            b
            for b in self._bindings
            if not self._implicit and self._engine.get_tensor_location(b) == host
        }

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names that `run` wants arrays for."""
        return tuple(self._name(b) for b in self._bindings if self._is_input(b))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names that `run` gives."""
        return tuple(self._name(b) for b in self._bindings if not self._is_input(b))

    @property
    def host_inputs(self) -> tuple[str, ...]:
        """The inputs that are shapes, whose values TensorRT reads on the host."""
        return tuple(name for name in self.inputs if self._binding(name) in self._on_host)

    @property
    def implicit_batch(self) -> bool:
        """Whether the plan was built with implicit batch, TF-TRT's older mode."""
        return self._implicit

    def dtype(self, name: str) -> np.dtype[Any]:
        """The NumPy type of an input or output."""
        return _numpy_type(self._engine.get_tensor_dtype(self._binding(name)))

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an input or output: -1 where it may differ; without an implicit batch."""
        engine, binding = self._engine, self._binding(name)
        shape = engine.get_binding_shape if self._implicit else engine.get_tensor_shape
        return tuple(shape(binding))

    def profiles(self) -> list[dict[str, tuple[tuple[int, ...], ...]]]:
        """Each optimization profile: (min, opt, max) by input; empty with implicit batch."""
        if self._implicit:
            return []
        return [
            {
                self._name(binding): tuple(
                    tuple(shape)
                    for shape in self._engine.get_tensor_profile_shape(binding, profile)
                )
                for binding in self._bindings
                if self._is_input(binding)
            }
            for profile in range(self._engine.num_optimization_profiles)
        ]

    def run(self, inputs: Mapping[str, Any], *, on_gpu: bool = False) -> dict[str, Any]:
        """Runs the plan once.

        Args:
          inputs: For each name an array, or a tensor in the memory of this GPU: an object with
            `__dlpack__`, such as PyTorch's, or a DLPack capsule, which
            `tf.experimental.dlpack.to_dlpack` makes. They have full shapes, the batch first, and
            the plan's types.
          on_gpu: Whether outputs stay in the GPU's memory.

        Returns:
          For each output a NumPy array, or a `GpuTensor` with `on_gpu`.

        Raises:
          PlanShapeError: The plan does not take these shapes.
          PlanError: An input is missing or unknown, is on another GPU, or has another type. The
            message names the input and what the plan takes.
        """
        self._device.use()
        values = self._checked(inputs)
        prepared = self._prepare(values)
        for binding, value in values.items():
            address = prepared.placed.addresses[binding]
            if isinstance(value, SharedTensor):
                self._device.copy(address, value.address, value.nbytes)
            elif address != value.ctypes.data:
                memory = self._page_locked(prepared, binding, value.shape, value.dtype)
                memory.array[...] = value
                memory.copy_to(address)
        self._enqueue(prepared)
        outputs = self._outputs_on_gpu if on_gpu else self._outputs_on_host
        return outputs(prepared)

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the GPU's memory back, but for outputs that are still used."""
        self._forget()
        # TensorRT's objects must be released in this order, before the GPU memory that they use.
        self._context = None
        self._engine = None
        self._runtime = None
        self._output_memory = None
        self._device.close()

    def _load(self, data: bytes) -> Any:
        # TF-TRT's engines can use TensorRT's own plugins (non-maximum suppression).
        self._trt.init_libnvinfer_plugins(self._logger, "")
        runtime = self._made_runtime()
        self._runtime = runtime  # must live as long as its engines
        built = plan_header(data).tensorrt_version
        # TensorRT 8.6 does not check the version in the header.
        foreign = built is not None and _minor(built) != _minor(self._trt.__version__)
        engine = None if foreign else runtime.deserialize_cuda_engine(data)
        if engine is None:
            built = built or "an unknown version"
            kind = PlanVersionError if foreign else PlanError
            raise kind(
                f"TensorRT {self._trt.__version__} on {self._device.name} cannot load "
                f"{self._what}, built by TensorRT {built}: {self._said()} A plan runs with the "
                "TensorRT and on the kind of GPU that built it: convert the model again here."
            )
        return engine

    def _made_runtime(self) -> Any:
        return self._trt.Runtime(self._logger)

    def _said(self) -> str:
        return " ".join(self._logger.messages) or "TensorRT gave no reason."

    def _name(self, binding: str) -> str:
        return self._names.get(binding, binding)

    def _binding(self, name: str) -> str:
        for binding in self._bindings:
            if self._name(binding) == name:
                return str(binding)
        raise PlanError(f"{self._what} has no {name!r}; it has {', '.join(self._bindings)}")

    def _is_input(self, binding: str) -> bool:
        return bool(self._engine.get_tensor_mode(binding) == self._trt.TensorIOMode.INPUT)

    def _checked(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        wanted = self.inputs
        if set(inputs) != set(wanted):
            raise PlanError(
                f"{self._what} takes the inputs {', '.join(wanted)}, "
                f"not {', '.join(sorted(inputs)) or 'none'}"
            )
        found = {}
        for name, given in inputs.items():
            shared = is_shared(given)
            value = share(name, given, self._device) if shared else np.asarray(given, order="C")
            if value.dtype != self.dtype(name):
                raise PlanError(
                    f"{self._what} takes {self.dtype(name)} for {name!r}, not {value.dtype}"
                )
            found[self._binding(name)] = value
        return found

    def _prepare(self, values: Mapping[str, Any]) -> _Prepared:
        """The memory for these inputs, which is the last request's if the shapes are the same."""
        key = [(binding, value.shape) for binding, value in values.items()]
        last = self._prepared
        if last is not None and last.key == key and not self._on_host:
            return last
        self._forget()
        place = self._place_implicit if self._implicit else self._place_explicit
        self._prepared = _Prepared(key, place(values))
        return self._prepared

    def _forget(self) -> None:
        if self._prepared is not None:
            self._device.use()
            self._device.wait()
            self._prepared.close()
            self._prepared = None
        self._device.free()

    def _page_locked(
        self, prepared: _Prepared, binding: str, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> PageLocked:
        if binding not in prepared.page_locked:
            prepared.page_locked[binding] = PageLocked(self._device, shape, dtype)
        return prepared.page_locked[binding]

    def _enqueue(self, prepared: _Prepared) -> None:
        """Puts the plan's work into the stream."""
        if prepared.graph is None and self._records and prepared.ran and not self.graph_error:
            prepared.graph = self._recorded(prepared.placed)
        if prepared.graph is not None:
            prepared.graph.launch()
        elif not self._start(prepared.placed):
            raise PlanError(f"{self._what} failed to run: {self._said()}")
        prepared.ran = True

    def _recorded(self, placed: Placed) -> Graph | None:
        """A graph of the plan's work, or None and `graph_error`."""
        graph = Graph(self._device)
        try:
            with graph.capture():
                started = self._start(placed)
        except UnavailableError as error:
            self.graph_error = " ".join([str(error), *self._logger.messages])
            return None
        if not started:
            graph.close()
            self.graph_error = self._said()
            return None
        return graph

    def _start(self, placed: Placed) -> bool:
        stream = self._device.stream
        if self._implicit:
            addresses = list(placed.addresses.values())
            return bool(self._context.execute_async(placed.batch, addresses, stream))
        return bool(self._context.execute_async_v3(stream))

    def _outputs_on_host(self, prepared: _Prepared) -> dict[str, Any]:
        results = prepared.placed.results
        copied = {}
        for binding, found in results.items():
            if isinstance(found, tuple):
                address, shape, dtype = found
                copied[binding] = self._page_locked(prepared, binding, shape, dtype)
                copied[binding].copy_from(address)
        self._device.wait()
        return {
            self._name(binding): copied[binding].array.copy() if binding in copied else found
            for binding, found in results.items()
        }

    def _outputs_on_gpu(self, prepared: _Prepared) -> dict[str, Any]:
        if self._output_memory is None:
            # The runner may be closed before its outputs.
            self._output_memory = OutputMemory(self._device.index)
        outputs: dict[str, Any] = {}
        for binding, found in prepared.placed.results.items():
            if isinstance(found, tuple):
                address, shape, dtype = found
                tensor = GpuTensor(self._output_memory, shape, dtype)
                self._device.copy(tensor.address, address, tensor.nbytes)
                found = tensor  # noqa: PLW2901
            outputs[self._name(binding)] = found
        self._device.wait()
        return outputs

    def _place_explicit(self, arrays: Mapping[str, Any]) -> Placed:
        """Makes room for the inputs and outputs of an explicit batch."""
        self._choose_profile(arrays)
        context, on_host = self._context, self._on_host
        placed = Placed()
        for binding, array in arrays.items():
            if binding in on_host:
                if isinstance(array, SharedTensor):
                    raise PlanError(
                        f"TensorRT reads {self._name(binding)!r} on the host: give an array of "
                        "NumPy, not a tensor on the GPU"
                    )
                placed.addresses[binding] = array.ctypes.data
            else:
                if not context.set_input_shape(binding, array.shape):
                    raise self._refused(binding, array)
                placed.addresses[binding] = self._device.allocate(array.nbytes)
            context.set_tensor_address(binding, placed.addresses[binding])
        try:
            missing = context.infer_shapes()
        except RuntimeError as error:
            raise PlanShapeError(
                f"{self._what} does not take these inputs together: {self._shapes_of(arrays)}. "
                f"{self._said()}"
            ) from error
        if missing:
            raise PlanError(f"{self._what}: no shape is known of {', '.join(missing)}")
        for binding in self._bindings:
            if self._is_input(binding):
                continue
            shape = tuple(context.get_tensor_shape(binding))
            dtype = _numpy_type(self._engine.get_tensor_dtype(binding))
            if binding in on_host:
                result = np.zeros(shape, dtype)
                placed.results[binding] = result
                placed.addresses[binding] = result.ctypes.data
            else:
                size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
                address = self._device.allocate(size)
                placed.addresses[binding] = address
                placed.results[binding] = (address, shape, dtype)
            context.set_tensor_address(binding, placed.addresses[binding])
        return placed

    def _place_implicit(self, arrays: Mapping[str, Any]) -> Placed:
        """Makes room for the inputs and outputs of an implicit batch."""
        batches = {array.shape[0] if array.shape else 0 for array in arrays.values()}
        batch = batches.pop() if len(batches) == 1 else 0
        if not 1 <= batch <= self._engine.max_batch_size:
            shapes = ", ".join(format_shape(array.shape) for array in arrays.values())
            raise PlanShapeError(
                f"{self._what} takes one batch from 1 to {self._engine.max_batch_size} for all "
                f"inputs, not {shapes}"
            )
        placed = Placed(batch)
        for i in range(self._engine.num_bindings):
            binding = self._engine.get_binding_name(i)
            shape = tuple(self._engine.get_binding_shape(i))
            if self._engine.binding_is_input(i):
                if arrays[binding].shape[1:] != shape:
                    raise self._refused(binding, arrays[binding])
                placed.addresses[binding] = self._device.allocate(arrays[binding].nbytes)
                continue
            dtype = _numpy_type(self._engine.get_binding_dtype(i))
            size = batch * int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            address = self._device.allocate(size)
            placed.addresses[binding] = address
            placed.results[binding] = (address, (batch, *shape), dtype)
        return placed

    def _choose_profile(self, arrays: Mapping[str, Any]) -> None:
        """The first profile that takes the shapes, as TF-TRT chooses."""
        for number, profile in enumerate(self.profiles()):
            if all(
                len(array.shape) == len(least)
                and all(low <= n <= high for low, n, high in zip(least, array.shape, most))
                for binding, array in arrays.items()
                for least, _, most in [profile[self._name(binding)]]
            ):
                self._context.set_optimization_profile_async(number, self._device.stream)
                self._device.wait()
                return
        taken = "; ".join(
            ", ".join(
                f"{name} {format_shape(least)} to {format_shape(most)}"
                for name, (least, _, most) in profile.items()
            )
            for profile in self.profiles()
        )
        raise PlanShapeError(
            f"no profile of {self._what} takes {self._shapes_of(arrays)}; it takes {taken}"
        )

    def _shapes_of(self, arrays: Mapping[str, Any]) -> str:
        return ", ".join(f"{self._name(b)} {format_shape(a.shape)}" for b, a in arrays.items())

    def _refused(self, binding: str, array: Any) -> PlanShapeError:
        shape = tuple(self._engine.get_tensor_shape(binding))
        return PlanShapeError(
            f"{self._what} does not take {format_shape(array.shape)} for "
            f"{self._name(binding)!r}; its own shape is {shape}. {self._said()}"
        )


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]


def read_plan(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PlanError(f"{path} cannot be read: {error.strerror or error}") from error


def _numpy_type(dtype: Any) -> np.dtype[Any]:
    # tensorrt.nptype of some versions fails with newer NumPy.
    if dtype.name not in _NUMPY_TYPES:
        raise PlanError(f"the plan has a tensor of {dtype.name}, which NumPy has not")
    return np.dtype(_NUMPY_TYPES[dtype.name])


def import_tensorrt() -> Any:
    """TensorRT's Python package; UnavailableError says how to install it."""
    try:
        import tensorrt
    except (ImportError, OSError) as error:
        raise UnavailableError(
            f"TensorRT's Python package cannot be imported: {error}. "
            "Install tensorrt==8.6.0 (Python 3.10 or older), or the version that built the plan."
        ) from error
    return tensorrt


def _logger(trt: Any) -> Any:
    class Logger(trt.ILogger):
        """Keeps TensorRT's error messages."""

        def __init__(self) -> None:
            super().__init__()
            self.messages: list[str] = []

        def log(self, severity: Any, message: str) -> None:
            if severity in (trt.ILogger.Severity.ERROR, trt.ILogger.Severity.INTERNAL_ERROR):
                self.messages.append(message.strip())

    return Logger()
