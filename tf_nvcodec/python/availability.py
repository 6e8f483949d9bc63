"""What this build is made of, and what the GPUs of this machine offer."""

from __future__ import annotations

from typing import Any, Literal, overload

import tensorflow as tf

from tf_nvcodec.python import loader
from tf_nvcodec.version import __version__

_ENGINES = ("nvdec", "nvenc")


@overload
def is_available(engine: str, reason: Literal[False] = False) -> bool: ...
@overload
def is_available(engine: str, reason: Literal[True]) -> tuple[bool, str]: ...
def is_available(engine: str, reason: bool = False) -> bool | tuple[bool, str]:
    """Whether a GPU of this machine has NVIDIA's video decoder or encoder.

    The first call opens the NVIDIA driver and creates a CUDA context. True does not promise every
    codec: whether the GPU takes a stream is decided for each stream.

    Args:
      engine: "nvdec" (decoder) or "nvenc" (encoder).
      reason: Also return a text: why there is none, or the GPU and its codecs.

    Returns:
      A bool, or with `reason` a pair (bool, str).

    Raises:
      ValueError: `engine` is another string.
    """
    if engine not in _ENGINES:
        raise ValueError(f"engine must be one of {_ENGINES}, got {engine!r}")
    with tf.init_scope(), tf.device("CPU:0"):
        available, detail = loader.ops.nvc_availability(engine=engine)
    answer = bool(available)
    return (answer, detail.numpy().decode()) if reason else answer


def build_info() -> dict[str, Any]:
    """Returns the versions that tf_nvcodec was built with and those that it runs with now.

    Returns:
      A dict with "version", "revision" (of git), "library" (a path), "compiler"; "flavour": empty,
      or "portable" or "portable-gpl" for a wheel with FFmpeg inside; "tensorflow" and FFmpeg's
      libraries, each {"build": version, "run": version}; "ffmpeg" (release, license, linked:
      "shared" or "static", and the names of its decoders and encoders, with commas); and
      "gpu_libraries": for each library of the NVIDIA driver "loaded", or why it is not.
    """
    with tf.init_scope(), tf.device("CPU:0"):
        names, values = loader.ops.nvc_build_info()
    library = loader.library_path()
    built = loader.read_build_info(library)
    info: dict[str, Any] = {
        "version": __version__,
        "revision": built.get("revision", "unknown"),
        "flavour": built.get("flavour", ""),
        "library": str(library),
        "tensorflow": {"build": built["tensorflow"], "run": tf.__version__},
    }
    for name, value in zip(names.numpy(), values.numpy()):
        *groups, key = name.decode().split("/")
        node = info
        for group in groups:
            node = node.setdefault(group, {})
        node[key] = value.decode()
    return info
