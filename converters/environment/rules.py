"""Judges the facts of facts.py: what keeps TF-TRT from working, and the cure."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from converters.environment.libraries import TensorRT, find_file, library_names, searched_folders

# The last TensorFlow with TF-TRT inside.
_TENSORFLOW = "2.17.1"
_GET_TENSORFLOW = f"pip install 'tensorflow[and-cuda]=={_TENSORFLOW}'"
# The newest Pythons that TensorFlow 2.17.1 and the wheel of TensorRT 8.6.0 are for.
_PYTHON_OF_TENSORFLOW, _PYTHON_OF_TENSORRT = (3, 12), (3, 10)
_FIX = "`trt-convert doctor --fix`"
# The newest GPUs that a TensorRT builds for, by its major version: TensorRT 8 ends with Hopper.
_NEWEST_GPU = {8: (9, 0)}
# The oldest driver for each CUDA, from the release notes of CUDA 12.
_DRIVER_FOR_CUDA = {12: "525.60.13"}


class Problem(NamedTuple):
    """What is wrong: `about` is "TensorFlow", "TF-TRT", "TensorRT" or "GPU"."""

    about: str
    cause: str
    cure: str

    def __str__(self) -> str:
        return f"{self.cause}: {self.cure}"


def problems_of(
    facts: Mapping[str, Any],
    installed: Sequence[TensorRT],
    python: tuple[int, int] = sys.version_info[:2],
) -> list[Problem]:
    """All problems, in the order in which the user should solve them. `installed` are the copies
    of TensorRT on this machine."""
    gpu = _gpu_problems(facts)
    tensorflow = facts.get("tensorflow", {"error": "it did not answer"})
    if "error" in tensorflow:
        return [_no_tensorflow(tensorflow["error"], python), *gpu]
    tensorrt = facts.get("tensorrt", {"error": "it did not answer"})
    if "error" in tensorrt or not any(tensorrt["linked"]):
        return [_not_compiled_in(tensorflow, tensorrt, python), *gpu]
    if not tensorrt["opens"]:
        return [_not_opened(tensorflow, tensorrt, installed, python), *gpu]
    return [*_loaded_problems(facts, tensorrt["linked"], python), *gpu]


def patch_level_warning(linked: Sequence[int], loaded: Sequence[int]) -> str | None:
    """A warning if the loaded TensorRT is older than the linked one in its patch level only."""
    if list(loaded[:2]) != list(linked[:2]) or loaded[2] >= linked[2]:
        return None
    return (
        f"TensorRT {_text(loaded)} is loaded and TensorFlow is linked with {_text(linked)}: "
        "accepted, since they differ in the patch level only"
    )


def _no_tensorflow(error: str, python: tuple[int, int]) -> Problem:
    if "InferLibVersion" in error:
        # TensorFlow 2.17 asks for the version while it is imported, and ends the process.
        cause = (
            f"TensorFlow does not import: TensorRT's library does not tell its version ({error})"
        )
        return Problem("TensorRT", cause, _get_tensorrt((8, 6, 1), python))
    if "No module named 'tensorflow'" in error:
        return Problem("TensorFlow", "TensorFlow is not installed", _get_tensorflow(python))
    return Problem("TensorFlow", f"TensorFlow does not import ({error})", _get_tensorflow(python))


def _not_compiled_in(
    tensorflow: Mapping[str, Any], tensorrt: Mapping[str, Any], python: tuple[int, int]
) -> Problem:
    version = tensorflow["version"]
    why = ""
    if _numbers(version)[:2] >= (2, 18):
        why = ", as in every release from 2.18 on"
    elif not tensorflow["build"].get("is_cuda_build"):
        why = ", since it was built without CUDA"
    elif "error" in tensorrt:
        why = f" ({tensorrt['error']})"
    cause = f"TF-TRT is not compiled in: TensorFlow {version} has none inside{why}"
    return Problem("TF-TRT", cause, f"convert with {_TENSORFLOW}, {_get_tensorflow(python)}")


def _get_tensorflow(python: tuple[int, int]) -> str:
    if python <= _PYTHON_OF_TENSORFLOW:
        return _GET_TENSORFLOW
    return f"use Python 3.10 ({_text(python)} has no wheel of it) and {_GET_TENSORFLOW}"


def _not_opened(
    tensorflow: Mapping[str, Any],
    tensorrt: Mapping[str, Any],
    installed: Sequence[TensorRT],
    python: tuple[int, int],
) -> Problem:
    linked = tensorrt["linked"]
    for path, error in tensorrt.get("errors", {}).items():
        cause = f"TensorRT's library {path} does not open ({error})"
        cure = f"install what it needs; CUDA's libraries come with {_GET_TENSORFLOW}"
        return Problem("TensorRT", cause, cure)
    names = library_names(_text(linked))
    folders = searched_folders(Path(tensorflow["folder"]), tensorflow.get("library_path"))
    missing = [name for name in names if find_file(name, folders) is None]
    if not missing:
        cause = f"TensorFlow does not open {' and '.join(names)}, though they are there"
        return Problem("TensorRT", cause, "start the program again")
    wanted = f"TensorFlow {tensorflow['version']} opens {' and '.join(missing)}"
    fitting = [found for found in installed if fits(found, linked)]
    if fitting:
        cause = (
            f"{wanted}, and no folder that it searches has them; TensorRT {fitting[0].version} is "
            f"in {fitting[0].folder}"
        )
        return Problem("TensorRT", cause, f"run {_FIX}, which links them")
    others = ", ".join(f"{found.version} in {found.folder}" for found in installed)
    cause = f"{wanted}, and TensorRT {_text(linked[:2])} is not installed"
    cause += f" (what is does not fit: {others})" if others else ""
    return Problem("TensorRT", cause, _get_tensorrt(linked, python))


def fits(found: TensorRT, linked: Sequence[int]) -> bool:
    """Whether TensorFlow can use this copy instead of the linked version: it has the same major and
    minor version, and its plugins. (A newer minor version would do, but 8.6 is the last 8.)"""
    return found.plugin is not None and list(_numbers(found.version)[:2]) == list(linked[:2])


def _get_tensorrt(linked: Sequence[int], python: tuple[int, int]) -> str:
    if list(linked[:2]) != [8, 6]:
        return f"install TensorRT {_text(linked)}, then run {_FIX}"
    if python <= _PYTHON_OF_TENSORRT:
        return f"pip install tensorrt==8.6.0, then run {_FIX}"
    return (
        f"use Python 3.10 and pip install tensorrt==8.6.0 (Python {_text(python)} has no wheel of "
        f"it), or unpack TensorRT 8.6.1 from NVIDIA's site; then run {_FIX}"
    )


def _loaded_problems(
    facts: Mapping[str, Any], linked: Sequence[int], python: tuple[int, int]
) -> list[Problem]:
    loaded = facts.get("tensorrt_loaded") or {"error": "it did not answer"}
    if "error" in loaded:
        cause = f"TensorRT's library does not tell its version ({loaded['error']})"
        return [Problem("TensorRT", cause, _get_tensorrt(linked, python))]
    version = loaded["version"]
    if version[0] == linked[0] and (version >= linked or patch_level_warning(linked, version)):
        return []
    cause = (
        f"TensorRT {_text(version)} is loaded ({', '.join(loaded['files'])}) and TensorFlow is "
        f"linked with {_text(linked)}, which takes {_text(linked[:2])} or a later {linked[0]}"
    )
    return [Problem("TensorRT", cause, _get_tensorrt(linked, python))]


def _gpu_problems(facts: Mapping[str, Any]) -> list[Problem]:
    cuda = facts.get("cuda", {"error": "it did not answer"})
    if "error" in cuda:
        if "version" not in cuda:
            cure = (
                "convert on a machine with an NVIDIA GPU and its driver; start containers with "
                "--gpus all"
            )
        else:
            cure = "see that CUDA_VISIBLE_DEVICES hides no GPU; a new driver may need a restart"
        return [Problem("GPU", f"no GPU can be used ({cuda['error']})", cure)]
    if not cuda["gpus"]:
        return [Problem("GPU", "no GPU is visible", "see that CUDA_VISIBLE_DEVICES hides none")]
    tensorflow = facts.get("tensorflow", {})
    build = tensorflow.get("build", {})
    needed = _numbers(build.get("cuda_version", ""))[:1]
    if needed and tuple(cuda["version"][:1]) < needed:
        driver = facts.get("driver", {}).get("version") or "of this machine"
        cause = (
            f"the driver {driver} is for CUDA {_text(cuda['version'])}, TensorFlow "
            f"{tensorflow['version']} needs CUDA {needed[0]}"
        )
        least = _DRIVER_FOR_CUDA.get(needed[0])
        cure = f"install the driver {least} or later" if least else "install a newer driver"
        return [Problem("GPU", cause, cure)]
    unfit = [text for gpu in cuda["gpus"] if (text := unfit_gpu(gpu, facts)) is not None]
    if len(unfit) == len(cuda["gpus"]):
        return [Problem("GPU", "; ".join(unfit), "convert on another GPU")]
    if build and facts.get("tensorflow_gpus") == []:
        cause = f"TensorFlow {tensorflow['version']} uses no GPU: CUDA libraries are missing"
        cure = f"pip install 'tensorflow[and-cuda]=={tensorflow['version']}'"
        return [Problem("GPU", cause, cure)]
    return []


def unfit_gpu(gpu: Mapping[str, Any], facts: Mapping[str, Any]) -> str | None:
    """Why TensorFlow or TensorRT cannot use this GPU, or None."""
    capability = _numbers(gpu["compute_capability"])
    build = facts.get("tensorflow", {}).get("build", {})
    built = [
        int(found[1]) for found in map(_SM, build.get("cuda_compute_capabilities", ())) if found
    ]
    oldest = divmod(min(built), 10) if built else (0, 0)
    linked = facts.get("tensorrt", {}).get("linked", (0,))
    newest = _NEWEST_GPU.get(linked[0], (99, 0))
    if oldest <= capability <= newest:
        return None
    return (
        f"{gpu['name']} has compute capability {gpu['compute_capability']}; this TensorFlow and "
        f"TensorRT work on {_text(oldest)} to {_text(newest)}"
    )


_SM = re.compile(r"^(?:sm|compute)_(\d+)$").match


def _numbers(version: str) -> tuple[int, ...]:
    """ "2.18.0rc1" as (2, 18, 0, 1)."""
    return tuple(map(int, re.findall(r"\d+", version)))


def _text(version: Sequence[int]) -> str:
    return ".".join(map(str, version))
