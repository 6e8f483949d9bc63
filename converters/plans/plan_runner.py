"""Runs a plan with TensorRT's own Python runtime: no TensorFlow, no CUDA bindings of Python."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.model.engine_file import plan_header
from converters.plans.cuda_driver import Device
from converters.util.errors import PlanError, UnavailableError
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


class PlanRunner(contextlib.AbstractContextManager["PlanRunner"]):
    """A plan, loaded and ready to run on a GPU.

    `names` maps the plan's bindings (TensorRTInputPH_0, ...) to the names that `run` uses for
    inputs and outputs; other bindings keep their own names. Use it in a `with` block, or close it.

    Raises:
      UnavailableError: TensorRT's Python package, the driver or the GPU is not here.
      PlanError: TensorRT cannot load the plan: it is for another GPU or version, or damaged. The
        message includes TensorRT's own.
    """

    def __init__(
        self,
        plan: bytes | str | Path,
        *,
        names: Mapping[str, str] | None = None,
        device: int = 0,
    ) -> None:
        self._what = "the plan" if isinstance(plan, bytes) else str(plan)
        data = plan if isinstance(plan, bytes) else _read(Path(plan))
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

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names that `run` wants arrays for."""
        return tuple(self._name(b) for b in self._bindings if self._is_input(b))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names that `run` gives."""
        return tuple(self._name(b) for b in self._bindings if not self._is_input(b))

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

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Runs the plan once. Arrays have full shapes, the batch first, and the plan's types.

        Raises:
          PlanError: an input is missing or unknown, or the plan does not take its type or shape.
            The message names the input and what the plan takes.
        """
        self._device.use()
        arrays = self._checked(inputs)
        try:
            run = self._run_implicit if self._implicit else self._run_explicit
            return run(arrays)
        finally:
            self._device.free()

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the GPU's memory back."""
        # TensorRT's objects must be released in this order, before the GPU memory that they use.
        self._context = None
        self._engine = None
        self._runtime = None
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
            raise PlanError(
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

    def _checked(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        wanted = self.inputs
        if set(inputs) != set(wanted):
            raise PlanError(
                f"{self._what} takes the inputs {', '.join(wanted)}, "
                f"not {', '.join(sorted(inputs)) or 'none'}"
            )
        arrays = {}
        for name, value in inputs.items():
            array = np.ascontiguousarray(value)
            if array.dtype != self.dtype(name):
                raise PlanError(
                    f"{self._what} takes {self.dtype(name)} for {name!r}, not {array.dtype}"
                )
            arrays[self._binding(name)] = array
        return arrays

    def _run_explicit(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        placed = self._place_explicit(arrays)
        if not self._context.execute_async_v3(self._device.stream):
            raise PlanError(f"{self._what} failed to run: {self._said()}")
        self._device.wait()
        return self._downloaded(placed.results)

    def _place_explicit(self, arrays: Mapping[str, NDArray[Any]]) -> Placed:
        """Uploads the inputs and makes room for the outputs of an explicit batch."""
        self._choose_profile(arrays)
        context, host = self._context, self._trt.TensorLocation.HOST
        on_host = {b for b in self._bindings if self._engine.get_tensor_location(b) == host}
        placed = Placed()
        for binding, array in arrays.items():
            if binding not in on_host and not context.set_input_shape(binding, array.shape):
                raise self._refused(binding, array)
            placed.addresses[binding] = (
                array.ctypes.data if binding in on_host else self._device.upload(array)
            )
            context.set_tensor_address(binding, placed.addresses[binding])
        missing = context.infer_shapes()
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

    def _run_implicit(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        placed = self._place_implicit(arrays)
        if not self._context.execute(placed.batch, list(placed.addresses.values())):
            raise PlanError(f"{self._what} failed to run: {self._said()}")
        return self._downloaded(placed.results)

    def _place_implicit(self, arrays: Mapping[str, NDArray[Any]]) -> Placed:
        """Uploads the inputs and makes room for the outputs of an implicit batch."""
        batches = {array.shape[0] if array.ndim else 0 for array in arrays.values()}
        batch = batches.pop() if len(batches) == 1 else 0
        if not 1 <= batch <= self._engine.max_batch_size:
            shapes = ", ".join(format_shape(array.shape) for array in arrays.values())
            raise PlanError(
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
                placed.addresses[binding] = self._device.upload(arrays[binding])
                continue
            dtype = _numpy_type(self._engine.get_binding_dtype(i))
            size = batch * int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            address = self._device.allocate(size)
            placed.addresses[binding] = address
            placed.results[binding] = (address, (batch, *shape), dtype)
        return placed

    def _downloaded(self, results: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        return {
            self._name(binding): self._device.download(*found)
            if isinstance(found, tuple)
            else found
            for binding, found in results.items()
        }

    def _choose_profile(self, arrays: Mapping[str, NDArray[Any]]) -> None:
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
        given = ", ".join(f"{self._name(b)} {format_shape(a.shape)}" for b, a in arrays.items())
        taken = "; ".join(
            ", ".join(
                f"{name} {format_shape(least)} to {format_shape(most)}"
                for name, (least, _, most) in profile.items()
            )
            for profile in self.profiles()
        )
        raise PlanError(f"no profile of {self._what} takes {given}; it takes {taken}")

    def _refused(self, binding: str, array: NDArray[Any]) -> PlanError:
        shape = tuple(self._engine.get_tensor_shape(binding))
        return PlanError(
            f"{self._what} does not take {format_shape(array.shape)} for "
            f"{self._name(binding)!r}; its own shape is {shape}. {self._said()}"
        )


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]


def _read(path: Path) -> bytes:
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
