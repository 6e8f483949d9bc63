"""Tests is_available and build_info."""

from __future__ import annotations

import ctypes
import json

import pytest
import tensorflow as tf

import tf_nvcodec as nvc


def has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.mark.parametrize("engine", ["nvdec", "nvenc"])
def test_without_a_driver_the_reason_names_the_library(engine: str) -> None:
    if has_driver():
        pytest.skip("this machine has the driver")
    assert nvc.is_available(engine) is False
    available, reason = nvc.is_available(engine, reason=True)
    assert available is False
    assert "libcuda.so.1" in reason
    assert "Install the NVIDIA driver" in reason


@pytest.mark.gpu
def test_a_gpu_is_named_with_its_codecs() -> None:
    available, detail = nvc.is_available("nvdec", reason=True)
    assert available is True
    assert "h264" in detail


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'nvdec', 'nvenc'.*'nvjpeg'"):
        nvc.is_available("nvjpeg")


def test_it_answers_inside_a_function_too() -> None:
    @tf.function
    def traced() -> tf.Tensor:
        return tf.constant(nvc.is_available("nvdec"))

    assert bool(traced()) == nvc.is_available("nvdec")


def test_build_info_names_what_was_built_and_what_runs() -> None:
    info = nvc.build_info()
    assert info["version"] == nvc.__version__
    assert info["tensorflow"]["run"] == tf.__version__
    assert info["tensorflow"]["build"].split(".")[:2] == tf.__version__.split(".")[:2]
    assert info["compiler"].startswith("gcc ")
    for library in ("libavformat", "libavcodec", "libavutil", "libswscale"):
        build, run = (info[library][when].split(".") for when in ("build", "run"))
        assert build[0] == run[0]
        assert len(run) == 3
    assert set(info["gpu_libraries"]) == {
        "libcuda.so.1",
        "libnvcuvid.so.1",
        "libnvidia-encode.so.1",
    }
    json.dumps(info)


def test_build_info_says_which_gpu_libraries_are_missing() -> None:
    libraries = nvc.build_info()["gpu_libraries"]
    if has_driver():
        assert libraries["libcuda.so.1"] == "loaded" or "libcuda.so.1" in libraries["libcuda.so.1"]
        return
    for name, state in libraries.items():
        assert state.startswith(f"cannot open {name}")
