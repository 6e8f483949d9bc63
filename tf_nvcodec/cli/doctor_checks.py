"""The checks behind `tf-nvcodec doctor`; none of them needs TensorFlow or the op library."""

from __future__ import annotations

import ctypes
import ctypes.util
import enum
import importlib.metadata
import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tf_nvcodec.cli.doctor_child import ask_child
from tf_nvcodec.nvrtc_folders import nvrtc_folders
from tf_nvcodec.version import __version__

_FFMPEG_CURE = "apt-get install -y ffmpeg"
_SHARED_CURE = f"{_FFMPEG_CURE} (Debian's has them all)"
_STATIC_CURE = "a portable-gpl wheel, or the usual one, built against an FFmpeg that has them"

# FFmpeg's names of each codec; any one name of a row is enough.
_FFMPEG_LIBRARIES = ("avformat", "avcodec", "avutil", "swscale")
_DECODERS: dict[str, tuple[str, ...]] = {
    "H.264": ("h264",),
    "HEVC": ("hevc",),
    "AV1": ("libdav1d", "libaom-av1"),
    "VP8": ("vp8",),
    "VP9": ("vp9",),
    "MPEG-2": ("mpeg2video",),
    "MPEG-4": ("mpeg4",),
    "MJPEG": ("mjpeg",),
    "FFV1": ("ffv1",),
}
_ENCODERS: dict[str, tuple[str, ...]] = {
    "H.264": ("libx264", "libopenh264"),
    "HEVC": ("libx265",),
    "AV1": ("libsvtav1",),
    "VP9": ("libvpx-vp9",),
    "MJPEG": ("mjpeg",),
    "FFV1": ("ffv1",),
}
_NVENC_ENCODERS: dict[str, tuple[str, ...]] = {
    "H.264": ("h264_nvenc",),
    "HEVC": ("hevc_nvenc",),
    "AV1": ("av1_nvenc",),
}
_NVRTC_NAMES = ("libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so", "libnvrtc.so.11.2")
# Only building from source and the project's tests need these: (any of, what for, cure).
_TOOLS = (
    (("bazelisk", "bazel"), "building from source", "apt-get install -y bazel-bootstrap"),
    (("g++", "clang++"), "building from source", "apt-get install -y g++"),
    (("ffmpeg",), "the tests and benchmarks", _FFMPEG_CURE),
    (("ffprobe",), "the tests and benchmarks", _FFMPEG_CURE),
)


class Status(enum.Enum):
    OK = "ok"
    MISSING = "missing"
    ABSENT = "absent"


class Finding(NamedTuple):
    """A line of the report. `cure` is a command or an empty string."""

    name: str
    status: Status
    detail: str
    cure: str = ""


def examine() -> list[Finding]:
    """Returns all findings. Those on which others depend come first."""
    child = ask_child()
    build_info = child.get("library", {}).get("build_info", {})
    flavour = build_info.get("flavour")
    return [
        Finding("tf_nvcodec", Status.OK, f"{__version__} ({flavour})" if flavour else __version__),
        _python(),
        *_packages(),
        *_tensorflow(child),
        *_ffmpeg(build_info),
        *_gpu(child),
        *_tools(),
    ]


def _python() -> Finding:
    version = platform.python_version()
    detail = f"{version} on {sys.platform} {platform.machine()}, {sys.executable}"
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return Finding("Python", Status.MISSING, detail, "use Linux on x86_64")
    return Finding("Python", Status.OK, detail)


def _packages() -> list[Finding]:
    findings = []
    for name in ("numpy", "tqdm", "pillow"):
        try:
            findings.append(Finding(name, Status.OK, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            findings.append(Finding(name, Status.MISSING, "not installed", f"pip install {name}"))
    return findings


def _tensorflow(child: dict[str, Any]) -> list[Finding]:
    found = child.get("tensorflow", {})
    if "version" not in found:
        cause = found.get("error", "it did not answer")
        missing = "No module named 'tensorflow'" in cause
        cure = f"pip install {'' if missing else '--force-reinstall '}{_wanted_tensorflow()}"
        return [
            Finding("TensorFlow", Status.MISSING, cause, cure),
            Finding("op library", Status.MISSING, "not tried: it needs TensorFlow"),
        ]
    tensorflow = Finding("TensorFlow", Status.OK, found["version"])
    library = child.get("library", {})
    if "build_info" not in library:
        cause = library.get("error", "loading it ended the process")
        # The messages of python/loader.py contain some cures.
        named = re.search(r"pip install tensorflow==[\w.]+|apt-get install -y lib\w+", cause)
        cure = (
            named[0]
            if named
            else "in the project's folder: make wheel, and pip install the wheel that it names"
        )
        return [tensorflow, Finding("op library", Status.MISSING, cause, cure)]
    info = library["build_info"]
    details = (
        f"{info['library']}, built with TensorFlow {info['tensorflow']['build']} and"
        f" {info['compiler']}, revision {info['revision']}"
    )
    return [tensorflow, Finding("op library", Status.OK, details)]


def _wanted_tensorflow() -> str:
    """Returns what pip should install: the release that the op library was built with, if known."""
    library = os.environ.get("TF_NVCODEC_LIBRARY")
    folder = Path(library).parent if library else Path(__file__).resolve().parent.parent
    try:
        return f"tensorflow=={json.loads((folder / 'build_info.json').read_text())['tensorflow']}"
    except (OSError, ValueError, KeyError):
        return "tensorflow"


def _ffmpeg(build_info: dict[str, Any]) -> list[Finding]:
    """Says what the op library says of its FFmpeg; without that, what the machine has."""
    if "ffmpeg" in build_info:
        ffmpeg = build_info["ffmpeg"]
        inside = ffmpeg["linked"] == "static"
        where = "in the op library" if inside else "shared libraries"
        detail = f"{ffmpeg['release']} ({where}), {ffmpeg['license']}"
        decoders, encoders = (ffmpeg[kind].split(",") for kind in ("decoders", "encoders"))
        versions = [
            Finding(f"lib{name}", Status.OK, build_info[f"lib{name}"]["run"])
            for name in _FFMPEG_LIBRARIES
        ]
        found = [Finding("FFmpeg", Status.OK, detail), *versions]
        cure = _STATIC_CURE if inside else _SHARED_CURE
        return [*found, *_all_codecs(decoders.__contains__, encoders.__contains__, cure)]
    findings = []
    libraries = {}
    for name in _FFMPEG_LIBRARIES:
        soname = ctypes.util.find_library(name)
        library = _open_library(soname)
        if library is None:
            findings.append(
                Finding(f"lib{name}", Status.MISSING, "FFmpeg's library not found", _FFMPEG_CURE)
            )
            continue
        libraries[name] = library
        number = getattr(library, f"{name}_version")()
        version = f"{number >> 16}.{number >> 8 & 255}.{number & 255}"
        findings.append(Finding(f"lib{name}", Status.OK, f"{version} ({soname})"))
    if "avcodec" in libraries:
        avcodec = libraries["avcodec"]
        findings += _all_codecs(
            _by_name(avcodec.avcodec_find_decoder_by_name),
            _by_name(avcodec.avcodec_find_encoder_by_name),
            _SHARED_CURE,
        )
    return findings


def _by_name(find: Any) -> Callable[[str], bool]:
    find.restype = ctypes.c_void_p
    find.argtypes = [ctypes.c_char_p]
    return lambda name: bool(find(name.encode()))


def _all_codecs(
    has_decoder: Callable[[str], bool], has_encoder: Callable[[str], bool], cure: str
) -> list[Finding]:
    nvenc_cure = "an FFmpeg from 6.0 on, built with nv-codec-headers"
    return [
        _codecs("decoders", _DECODERS, has_decoder, cure),
        _codecs("encoders", _ENCODERS, has_encoder, cure),
        _codecs("NVENC encoders", _NVENC_ENCODERS, has_encoder, nvenc_cure),
    ]


def _open_library(soname: str | None) -> ctypes.CDLL | None:
    if soname is None:
        return None
    try:
        return ctypes.CDLL(soname)
    except OSError:
        return None


def _codecs(
    kind: str,
    wanted: dict[str, tuple[str, ...]],
    has: Callable[[str], bool],
    cure: str,
) -> Finding:
    present, lacking = [], []
    for codec, names in wanted.items():
        name = next((n for n in names if has(n)), None)
        if name is None:
            lacking.append(f"{codec} ({' or '.join(names)})")
        else:
            present.append(f"{codec} ({name})")
    if not lacking:
        return Finding(kind, Status.OK, ", ".join(present))
    detail = "; ".join(
        filter(None, (", ".join(present), f"this FFmpeg lacks {', '.join(lacking)}"))
    )
    return Finding(kind, Status.ABSENT, detail, cure)


def _gpu(child: dict[str, Any]) -> list[Finding]:
    findings = []
    for engine, label in (("nvdec", "NVDEC"), ("nvenc", "NVENC")):
        found = child.get(engine)
        if found is None:
            findings.append(Finding(label, Status.ABSENT, "not asked: it needs the op library"))
        else:
            status = Status.OK if found.get("available") else Status.ABSENT
            findings.append(Finding(label, status, found.get("detail") or found["error"]))
    for soname, use, package in (
        ("libcuda.so.1", "any work on the GPU", "nvidia-driver"),
        ("libnvcuvid.so.1", "decoding on the GPU", "libnvcuvid1"),
        ("libnvidia-encode.so.1", "encoding on the GPU", "libnvidia-encode1"),
    ):
        if _open_library(soname) is not None:
            findings.append(Finding(soname, Status.OK, "found"))
        else:
            detail = f"not found; {use} needs it"
            cure = (
                f"apt-get install -y {package} (Debian non-free); in a container:"
                " docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all"
            )
            findings.append(Finding(soname, Status.ABSENT, detail, cure))
    findings.append(_nvrtc())
    return findings


def _nvrtc() -> Finding:
    """Looks for NVRTC in the places where the op library does.

    Libraries that only a process with TensorFlow has loaded are not found.
    """
    named = os.environ.get("TF_NVCODEC_NVRTC_FOLDERS")
    folders = nvrtc_folders() if named is None else named.split(os.pathsep)
    for folder in (*filter(None, folders), None, "/usr/local/cuda/lib64"):
        for name in _NVRTC_NAMES:
            path = name if folder is None else os.path.join(folder, name)
            library = _open_library(path)
            if library is None or not hasattr(library, "nvrtcVersion"):
                continue
            major, minor = ctypes.c_int(), ctypes.c_int()
            if library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0:
                return Finding("NVRTC", Status.OK, f"{major.value}.{minor.value} ({path})")
    detail = "not found; converting frames on the GPU needs it"
    return Finding("NVRTC", Status.ABSENT, detail, "pip install nvidia-cuda-nvrtc-cu12")


def _tools() -> list[Finding]:
    findings = []
    for names, use, cure in _TOOLS:
        path = next((p for p in map(shutil.which, names) if p), None)
        if path is not None:
            findings.append(Finding(names[0], Status.OK, path))
        else:
            findings.append(Finding(names[0], Status.ABSENT, f"not found; {use} needs it", cure))
    return findings
