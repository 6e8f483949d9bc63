"""Facts about TensorFlow, TensorRT, CUDA and the driver in this process; rules.py judges them."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from converters.environment.libraries import find_file, library_names, searched_folders

# Names of <cuda.h> for cuDeviceGetAttribute.
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76


def collect(path: str) -> None:
    """Writes the facts to the file `path`, one JSON line for each step. If a step ends the process,
    the lines of the earlier steps are still there."""
    with open(path, "w", encoding="utf-8") as file:
        for name, ask in STEPS.items():
            file.write(json.dumps({name: _attempt(ask)}) + "\n")
            file.flush()


def facts_here() -> dict[str, Any]:
    """The facts about this process itself, which may convert a model afterwards."""
    return {name: _attempt(ask) for name, ask in STEPS.items()}


def _attempt(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def driver() -> dict[str, Any]:
    """{"version": such as "535.104.05", or None}."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    except OSError:
        text = ""
    return {"version": driver_version(text) or _driver_by_nvml()}


def driver_version(text: str) -> str | None:
    """The version in the text of /proc/driver/nvidia/version."""
    found = re.search(r"\b(\d{3,}\.\d+(?:\.\d+)*)\b", text)
    return found[1] if found else None


def _driver_by_nvml() -> str | None:
    """The driver's version by its library: in some containers /proc does not have it."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    if nvml.nvmlInit_v2() != 0:
        return None
    text = ctypes.create_string_buffer(96)
    failed = nvml.nvmlSystemGetDriverVersion(text, 96)
    nvml.nvmlShutdown()
    return None if failed else text.value.decode()


def cuda() -> dict[str, Any]:
    """What libcuda.so.1 offers: {"version": [12, 4], "gpus": [{"name", "compute_capability",
    "memory" in bytes}]}, or {"error"}. CUDA_VISIBLE_DEVICES counts."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"error": f"no NVIDIA driver: {error}"}
    number = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(number))
    version = [number.value // 1000, number.value % 1000 // 10]
    code = library.cuInit(0)
    if code != 0:
        return {"version": version, "error": f"cuInit: {_cuda_error(library, code)}"}
    library.cuDeviceGetCount(ctypes.byref(number))
    gpus = []
    for index in range(number.value):
        device = ctypes.c_int()
        library.cuDeviceGet(ctypes.byref(device), index)
        name = ctypes.create_string_buffer(256)
        library.cuDeviceGetName(name, 256, device)
        memory = ctypes.c_size_t()
        library.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        capability = []
        for attribute in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR):
            library.cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
            capability.append(str(number.value))
        gpus.append(
            {
                "name": name.value.decode(errors="replace"),
                "compute_capability": ".".join(capability),
                "memory": memory.value,
            }
        )
    return {"version": version, "gpus": gpus}


def _cuda_error(library: ctypes.CDLL, code: int) -> str:
    text = ctypes.c_char_p()
    library.cuGetErrorString(code, ctypes.byref(text))
    return f"{(text.value or b'unknown').decode()} (error {code})"


def tensorflow() -> dict[str, Any]:
    """{"version", "folder", "build": what it was built with, "library_path"}."""
    import tensorflow as tf

    build = {
        name: value if isinstance(value, (bool, str)) else list(value)
        for name, value in tf.sysconfig.get_build_info().items()
    }
    return {
        "version": str(tf.__version__),
        "folder": str(Path(tf.__file__).parent),
        "build": build,
        # The loader reads it when the process starts; later changes have no effect.
        "library_path": os.environ.get("LD_LIBRARY_PATH", ""),
    }


def tensorflow_gpus() -> list[str]:
    """The names of the GPUs that TensorFlow would use."""
    import tensorflow as tf

    return [device.name for device in tf.config.list_physical_devices("GPU")]


def tensorrt() -> dict[str, Any]:
    """{"linked": [8, 6, 1] ([0, 0, 0]: not compiled in), "opens": whether TensorFlow could open
    the libraries, "errors": by file, why one that it would open cannot be}."""
    parts = _py_utils()
    linked = list(parts.get_linked_tensorrt_version())
    opens = bool(parts.is_tensorrt_enabled())
    return {"linked": linked, "opens": opens, "errors": {} if opens else _open_errors(linked)}


def _open_errors(linked: list[int]) -> dict[str, str]:
    import tensorflow as tf

    folders = searched_folders(Path(tf.__file__).parent, os.environ.get("LD_LIBRARY_PATH"))
    errors = {}
    for name in library_names(".".join(map(str, linked))):
        path = find_file(name, folders)
        if path is not None:
            try:
                ctypes.CDLL(str(path))
            except OSError as error:
                errors[str(path)] = str(error)
    return errors


def tensorrt_loaded() -> dict[str, Any] | None:
    """{"version": [8, 6, 0], "files": the files that are mapped}. None if TensorFlow could not open
    the library: asking for the version would then end the process."""
    parts = _py_utils()
    if not parts.is_tensorrt_enabled():
        return None
    version = list(parts.get_loaded_tensorrt_version())
    with open("/proc/self/maps", encoding="utf-8") as maps:
        mapped = {line.split(maxsplit=5)[-1].strip() for line in maps if "/libnvinfer" in line}
    return {"version": version, "files": sorted(mapped)}


def _py_utils() -> Any:
    return importlib.import_module("tensorflow.compiler.tf2tensorrt._pywrap_py_utils")


STEPS: dict[str, Callable[[], Any]] = {
    "driver": driver,
    "cuda": cuda,
    "tensorflow": tensorflow,
    "tensorflow_gpus": tensorflow_gpus,
    "tensorrt": tensorrt,
    # Last: TensorFlow ends the process if the library lacks its version function.
    "tensorrt_loaded": tensorrt_loaded,
}
