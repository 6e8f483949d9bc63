"""Opens the op library. No other module of the package does."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import tensorflow as tf

from tf_nvcodec.nvrtc_folders import nvrtc_folders

_LIBRARY = "libtf_nvcodec.so"
_BUILD_INFO = "build_info.json"


def library_path() -> Path:
    """Returns the library beside the package, or the one that TF_NVCODEC_LIBRARY names."""
    named = os.environ.get("TF_NVCODEC_LIBRARY")
    return Path(named) if named else Path(__file__).resolve().parent.parent / _LIBRARY


def read_build_info(library: Path) -> dict[str, Any]:
    """Reads what `library` was built with: "tensorflow", "ffmpeg", "revision" and "flavour".

    They lie in a file beside the library.

    Raises:
      ImportError: The library or the file is missing.
    """
    missing = [name for name in (library, library.with_name(_BUILD_INFO)) if not name.exists()]
    source = library.parent.parent
    if missing and (source / "WORKSPACE").exists():
        raise ImportError(
            f"{source} is the source folder of tf_nvcodec, without the op library. Python "
            "imports it in place of the installed package when it runs there: run it in another "
            f"folder, or name a built library by TF_NVCODEC_LIBRARY=build/<TensorFlow>/{_LIBRARY}"
        )
    if missing:
        raise ImportError(
            f"tf_nvcodec's op library is not built: {missing[0]} is missing. Run `make wheel` in "
            "the project's folder and install the wheel from its dist/<TensorFlow>/ (or "
            "`pip install .` there)."
        )
    return json.loads(library.with_name(_BUILD_INFO).read_text(encoding="utf-8"))


def check_tensorflow(built_with: str, running: str) -> None:
    """Raises ImportError unless both versions are of one minor release.

    TensorFlow's C++ API is compatible only within a minor release. With another one the process
    crashes, or the library fails to load because of a missing symbol.
    """
    if built_with.split(".")[:2] == running.split(".")[:2]:
        return
    raise ImportError(
        f"tf_nvcodec was built with TensorFlow {built_with}, but TensorFlow {running} is "
        f"installed. Either install the one it was built with (pip install "
        f"tensorflow=={built_with}), or build tf_nvcodec for this one (make wheel TF={running})."
    )


def _advice(error: str, info: dict[str, Any]) -> str:
    ffmpeg = re.search(r"lib(avformat|avcodec|avutil|swscale)\.so\.(\d+)", error)
    if ffmpeg:
        built = ", ".join(f"{name} {version}" for name, version in info["ffmpeg"].items())
        return (
            f"It needs FFmpeg's shared libraries ({built}). On Debian: apt-get install -y "
            f"lib{ffmpeg[1]}{ffmpeg[2]}; with another FFmpeg, build tf_nvcodec again."
        )
    if "undefined symbol" in error:
        return (
            f"It was built with TensorFlow {info['tensorflow']}, and {tf.__version__} is "
            "installed: build it again for this one (make wheel TF=...)."
        )
    return "Build it again on this machine (make wheel)."


def _load() -> ModuleType:
    # The library looks into these folders when the first frame on a GPU is due. They are passed in
    # the environment, because a call into the library would start TensorFlow's runtime.
    os.environ.setdefault("TF_NVCODEC_NVRTC_FOLDERS", os.pathsep.join(nvrtc_folders()))
    library = library_path()
    info = read_build_info(library)
    check_tensorflow(info["tensorflow"], tf.__version__)
    try:
        loaded = tf.load_op_library(str(library))
    except tf.errors.OpError as error:
        raise ImportError(
            f"cannot open {library}: {error.message}. {_advice(error.message, info)}"
        ) from error
    _declare_no_gradients(loaded)
    return loaded


def _declare_no_gradients(loaded: ModuleType) -> None:
    for name in dir(loaded):
        if name.startswith(("Nvc", "Video")):
            with contextlib.suppress(KeyError):  # this module was imported before
                tf.no_gradient(name)


ops = _load()
