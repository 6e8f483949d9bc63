"""The TensorFlow, TensorRT and GPU of this machine, and whether TF-TRT can work with them."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.metadata
import json
import platform
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converters.environment import facts as environment_facts
from converters.environment.libraries import TensorRT, find_tensorrt
from converters.environment.rules import Problem, patch_level_warning, problems_of, unfit_gpu
from converters.util.child import run_in_child
from converters.util.errors import ConverterError, UnavailableError


@dataclass(frozen=True)
class Gpu:
    """`compute_capability` is such as "9.0"; `memory` is in bytes."""

    name: str
    compute_capability: str
    memory: int


@dataclass(frozen=True)
class Environment:
    """What this machine has. Versions are like "8.6.1"; None if it is missing or does not answer.

    Attributes:
      tftrt_compiled: whether TensorFlow has TF-TRT inside.
      tensorrt_linked: the version that TensorFlow was built with.
      tensorrt_loaded: the version that it opens here.
      tensorrt_python: TensorRT's Python package.
      library_path, plugin_path: the files in use, links resolved.
      cuda: the newest CUDA that the driver can run.
      problems: what keeps TF-TRT from working, each with its cure.
      warnings: what is accepted.
    """

    python: str
    tensorflow: str | None
    tensorflow_folder: str | None
    tftrt_compiled: bool
    tensorrt_linked: str | None
    tensorrt_loaded: str | None
    tensorrt_python: str | None
    library_path: str | None
    plugin_path: str | None
    gpus: tuple[Gpu, ...]
    driver: str | None
    cuda: str | None
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        values = dataclasses.asdict(self)
        values["gpus"] = [dataclasses.asdict(gpu) for gpu in self.gpus]
        values["problems"] = [str(problem) for problem in self.problems]
        values["warnings"] = list(self.warnings)
        return values


def describe() -> Environment:
    """Looks in a child process, because a damaged library may end the process. Takes seconds."""
    with tempfile.TemporaryDirectory(prefix="trt-convert-") as folder:
        path = Path(folder) / "facts"
        crash = None
        try:
            run_in_child(environment_facts.collect, {"path": str(path)})
        except ConverterError as error:
            # Other lines are what else the child printed.
            lines = str(error).splitlines()
            crash = lines[0] if len(lines) == 1 else f"{lines[0]} {lines[-1].strip()}"
        facts: dict[str, Any] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            facts.update(json.loads(line))
    if crash is not None:
        # The step after the last answer is the one that ended the process.
        for name in environment_facts.STEPS:
            if name not in facts:
                facts[name] = {"error": crash}
                break
    return environment_of(facts, find_tensorrt())


def require_tftrt(gpu: bool = True) -> Environment:
    """This process's environment, if it can convert; with `gpu=False` no GPU is needed.

    Raises:
      UnavailableError: one error for all that is missing, each with its cure.
    """
    environment = environment_of(environment_facts.facts_here(), find_tensorrt())
    problems = [problem for problem in environment.problems if gpu or problem.about != "GPU"]
    # With another TensorFlow the rest may be fine, so the error does not mention it.
    first = [problem for problem in problems if problem.about in ("TensorFlow", "TF-TRT")]
    if problems:
        raise UnavailableError("\n".join(str(problem) for problem in first or problems))
    return environment


def environment_of(facts: Mapping[str, Any], installed: Sequence[TensorRT]) -> Environment:
    """Facts and the installed copies of TensorRT, put together and judged."""
    tensorflow = facts.get("tensorflow", {})
    linked = facts.get("tensorrt", {}).get("linked") or [0, 0, 0]
    loaded = facts.get("tensorrt_loaded") or {}
    files = loaded.get("files", ())
    cuda = facts.get("cuda", {})
    return Environment(
        python=platform.python_version(),
        tensorflow=tensorflow.get("version"),
        tensorflow_folder=tensorflow.get("folder"),
        tftrt_compiled=any(linked),
        tensorrt_linked=_version(linked) if any(linked) else None,
        tensorrt_loaded=_version(loaded.get("version")),
        tensorrt_python=_installed_version("tensorrt"),
        library_path=next((f for f in files if "/libnvinfer.so" in f), None),
        plugin_path=next((f for f in files if "/libnvinfer_plugin.so" in f), None),
        gpus=tuple(Gpu(**gpu) for gpu in cuda.get("gpus", ())),
        driver=facts.get("driver", {}).get("version"),
        cuda=_version(cuda.get("version")),
        problems=tuple(problems_of(facts, installed)),
        warnings=tuple(_warnings(facts)),
    )


def _warnings(facts: Mapping[str, Any]) -> list[str]:
    found = []
    linked = facts.get("tensorrt", {}).get("linked")
    loaded = (facts.get("tensorrt_loaded") or {}).get("version")
    if linked and loaded and (text := patch_level_warning(linked, loaded)) is not None:
        found.append(text)
    bindings = _installed_version("tensorrt")
    if loaded and bindings and not f"{bindings}.".startswith(f"{_version(loaded)}."):
        found.append(
            f"the Python package tensorrt is {bindings}, TensorFlow uses {_version(loaded)}: "
            "plans of the one do not run in the other"
        )
    unfit = [
        text for gpu in facts.get("cuda", {}).get("gpus", ()) if (text := unfit_gpu(gpu, facts))
    ]
    return found + unfit


def _version(numbers: Sequence[int] | None) -> str | None:
    return ".".join(map(str, numbers)) if numbers else None


def _installed_version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@contextlib.contextmanager
def accept_patch_level() -> Iterator[None]:
    """Within the block, TF-TRT's converters accept a TensorRT that is older than the linked one in
    its patch level only (8.6.0 for 8.6.1), with a warning. Their check is otherwise unchanged.

    The converters call their check when they are created, so create them inside the block.
    """
    converter: Any = importlib.import_module("tensorflow.python.compiler.tensorrt.trt_convert")
    original = converter._check_trt_version_compatibility
    parts = converter._pywrap_py_utils

    def check() -> None:
        if parts.is_tensorrt_enabled():
            text = patch_level_warning(
                parts.get_linked_tensorrt_version(), parts.get_loaded_tensorrt_version()
            )
            if text is not None:
                warnings.warn(text, RuntimeWarning, stacklevel=2)
                return
        original()

    converter._check_trt_version_compatibility = check
    try:
        yield
    finally:
        converter._check_trt_version_compatibility = original
