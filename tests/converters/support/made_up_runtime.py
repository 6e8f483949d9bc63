"""Stands in for TensorRT's Python package, on the driver of made_up_driver.py. A plan is JSON, and
running it doubles the numbers.

Only what PlanRunner and PlanRequests call is here. It has the names of TensorRT 8.6 and fails in
the same ways.
"""

from __future__ import annotations

import ctypes
import enum
import json
from typing import Any

import numpy as np
from made_up_driver import STREAM, Driver

HEADER = b"ftrt" + bytes(20) + bytes([8, 6, 0, 12])


def made_up_plan(**values: Any) -> bytes:
    """Returns a plan with the input "x" and the output "y", which is twice the input."""
    return HEADER + json.dumps(values).encode()


class DataType(enum.Enum):
    FLOAT = 0
    HALF = 1
    INT32 = 3
    FP8 = 6


class TensorIOMode(enum.Enum):
    INPUT = 1
    OUTPUT = 2


class TensorLocation(enum.Enum):
    DEVICE = 0
    HOST = 1


class ILogger:
    class Severity(enum.Enum):
        INTERNAL_ERROR = 0
        ERROR = 1
        INFO = 3

    def log(self, severity: Any, message: str) -> None:
        raise NotImplementedError


class IGpuAllocator:
    pass


class IProfiler:
    pass


__version__ = "8.6.0"
# What an engine and a context take from the runtime's allocator, in bytes.
WEIGHTS, SCRATCH = 1000, 300
_NUMPY = {"FLOAT": np.float32, "HALF": np.float16, "INT32": np.int32}


def init_libnvinfer_plugins(logger: ILogger, namespace: str) -> bool:
    logger.log(ILogger.Severity.INFO, "plugins")
    return True


class Runtime:
    def __init__(self, logger: ILogger) -> None:
        self._logger = logger
        self.gpu_allocator: Any = None

    def deserialize_cuda_engine(self, data: bytes) -> Any:
        values = json.loads(data[len(HEADER) :] or b"{}")
        if "refuse" in values:
            self._logger.log(ILogger.Severity.INFO, "this is not an error")
            self._logger.log(ILogger.Severity.ERROR, values["refuse"])
            return None
        return Engine(values, self.gpu_allocator)


class Engine:
    """An engine made of a plan's values. These have "profiles" [[min, opt, max], ...] for x, or
    "implicit" [dims...] and "max_batch". "layers" are what a profiler is told of, each [name, ms];
    the ms grow by 1 with each request."""

    def __init__(self, values: dict[str, Any], allocator: Any = None) -> None:
        self.values = values
        self.allocator = allocator
        self.memory = allocator.allocate(WEIGHTS, 256, 0) if allocator else 0
        self.has_implicit_batch_dimension = "implicit" in values
        self.max_batch_size = values.get("max_batch", 1)
        self.num_io_tensors = self.num_bindings = 2
        self.num_optimization_profiles = len(values.get("profiles", []))

    def __del__(self) -> None:
        if self.allocator:
            assert self.allocator.deallocate(self.memory)

    def create_execution_context(self) -> Any:
        if self.allocator:
            # A context takes more for a moment, and gives it back.
            for address in [self.allocator.allocate(SCRATCH, 256, 0) for _ in range(2)]:
                self.allocator.deallocate(address)
        return None if self.values.get("no_context") else Context(self)

    def get_tensor_name(self, i: int) -> str:
        return ("TensorRTInputPH_0", "TensorRTOutputPH_0")[i]

    get_binding_name = get_tensor_name

    def get_tensor_mode(self, name: str) -> TensorIOMode:
        return TensorIOMode.INPUT if "Input" in name else TensorIOMode.OUTPUT

    def binding_is_input(self, i: int) -> bool:
        return i == 0

    def get_tensor_dtype(self, name: str) -> DataType:
        return DataType[self.values.get("dtype", "FLOAT")]

    def get_binding_dtype(self, i: int) -> DataType:
        return self.get_tensor_dtype("")

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        if "implicit" in self.values:
            return tuple(self.values["implicit"])
        return (-1,) * len(self.values["profiles"][0][0])

    def get_binding_shape(self, i: int) -> tuple[int, ...]:
        return self.get_tensor_shape("")

    def get_tensor_location(self, name: str) -> TensorLocation:
        return TensorLocation[self.values.get("location", "DEVICE")]

    def get_tensor_profile_shape(self, name: str, profile: int) -> list[tuple[int, ...]]:
        return [tuple(shape) for shape in self.values["profiles"][profile]]


class Context:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.memory = engine.allocator.allocate(SCRATCH, 256, 0) if engine.allocator else 0
        self.shape: tuple[int, ...] | None = None
        self.addresses: dict[str, int] = {}
        self.profile = 0
        self.profiler: Any = None
        self.requests = 0

    def __del__(self) -> None:
        if self.memory:
            self.engine.allocator.deallocate(self.memory)

    def set_optimization_profile_async(self, profile: int, stream: int) -> bool:
        assert stream == STREAM
        self.profile = profile
        return True

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        least, _, most = self.engine.get_tensor_profile_shape(name, self.profile)
        assert all(a <= n <= b for a, n, b in zip(least, shape, most))
        self.shape = tuple(shape)
        return not self.engine.values.get("refuse_shapes")

    def infer_shapes(self) -> list[str]:
        return []

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        assert self.shape is not None
        return self.shape

    def set_tensor_address(self, name: str, address: int) -> bool:
        self.addresses[name] = address
        return True

    def execute_async_v3(self, stream: int) -> bool:
        assert self.shape is not None and stream == STREAM
        return self._enqueue(self.shape, *self.addresses.values())

    def execute_async(self, batch: int, bindings: list[int], stream: int) -> bool:
        assert stream == STREAM
        return self._enqueue((batch, *self.engine.get_binding_shape(0)), *bindings)

    def _enqueue(self, shape: tuple[int, ...], source: int, target: int) -> bool:
        if Driver.current.captured is not None and self.engine.values.get("no_graph"):
            return False
        Driver.current.enqueue(lambda: self._double(shape, source, target))
        return not self.engine.values.get("fail")

    def _double(self, shape: tuple[int, ...], source: int, target: int) -> None:
        Driver.current.recorded.append("request" if self.profiler is None else "profiled")
        if self.profiler is not None:
            for name, ms in self.engine.values.get("layers", []):
                self.profiler.report_layer_time(name, ms + self.requests)
            self.requests += 1
        found = np.empty(shape, _NUMPY[self.engine.get_tensor_dtype("").name])
        ctypes.memmove(found.ctypes.data, source, found.nbytes)
        found *= 2
        ctypes.memmove(target, found.ctypes.data, found.nbytes)
