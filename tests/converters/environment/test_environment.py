"""Tests the rules for TensorFlow, TensorRT and the GPU, and the search for their libraries."""

from __future__ import annotations

import copy
import dataclasses
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
import tensorflow as tf
from made_up_tensorrt import compile_library, make_tensorrt

from converters.environment import facts as environment_facts
from converters.environment.doctor import doctor
from converters.environment.libraries import (
    TensorRT,
    find_tensorrt,
    link_folders,
    run_path,
    searched_folders,
)
from converters.environment.rules import fits, patch_level_warning, problems_of
from converters.environment.tftrt_ready import (
    accept_patch_level,
    describe,
    environment_of,
    require_tftrt,
)
from converters.util.errors import UnavailableError

# The facts of a machine with an H200 on which nothing is wrong.
GOOD = {
    "driver": {"version": "535.104.05"},
    "cuda": {
        "version": [12, 2],
        "gpus": [{"name": "NVIDIA H200", "compute_capability": "9.0", "memory": 150_000_000_000}],
    },
    "tensorflow": {
        "version": "2.17.1",
        "folder": "/site/tensorflow",
        "build": {
            "is_cuda_build": True,
            "cuda_version": "12.3",
            "cuda_compute_capabilities": ["sm_60", "sm_70", "sm_80", "sm_89", "compute_90"],
        },
        "library_path": "",
    },
    "tensorflow_gpus": ["/physical_device:GPU:0"],
    "tensorrt": {"linked": [8, 6, 1], "opens": True, "errors": {}},
    "tensorrt_loaded": {
        "version": [8, 6, 1],
        "files": ["/site/tensorrt_libs/libnvinfer.so.8", "/x/libnvinfer_plugin.so.8"],
    },
}
NONE_INSTALLED: list[TensorRT] = []
WHEEL = TensorRT(Path("/w/tensorrt/libnvinfer.so.8"), Path("/w/libnvinfer_plugin.so.8"), "8.6.0")
NEWER = TensorRT(Path("/n/libnvinfer.so.10"), Path("/n/libnvinfer_plugin.so.10"), "10.3.0")


def changed(**changes: object) -> dict:
    """Returns a copy of GOOD with other values. The keyword a__b stands for GOOD["a"]["b"]."""
    facts = copy.deepcopy(GOOD)
    for name, value in changes.items():
        *above, last = name.split("__")
        place = facts
        for part in above:
            place = place[part]
        place[last] = value
    return facts


NOT_OPENED = {"tensorrt__opens": False, "tensorrt_loaded": None}


def test_nothing_is_wrong_with_a_good_machine():
    environment = environment_of(GOOD, NONE_INSTALLED)
    assert environment.problems == () and environment.warnings == ()
    assert environment.tensorrt_linked == environment.tensorrt_loaded == "8.6.1"
    assert environment.library_path == "/site/tensorrt_libs/libnvinfer.so.8"
    assert environment.plugin_path == "/x/libnvinfer_plugin.so.8"
    assert environment.cuda == "12.2" and environment.driver == "535.104.05"
    assert environment.to_json()["gpus"] == GOOD["cuda"]["gpus"]


@pytest.mark.parametrize(
    ("facts", "installed", "about", "says"),
    [
        (
            changed(tensorflow={"error": "ModuleNotFoundError: No module named 'tensorflow'"}),
            [],
            "TensorFlow",
            ["TensorFlow is not installed: pip install 'tensorflow[and-cuda]==2.17.1'"],
        ),
        (
            changed(tensorflow={"error": "ImportError: libstdc++.so.6"}),
            [],
            "TensorFlow",
            ["TensorFlow does not import (ImportError: libstdc++.so.6)"],
        ),
        (
            changed(tensorflow__version="2.18.0", tensorrt__linked=[0, 0, 0], **NOT_OPENED),
            [WHEEL],
            "TF-TRT",
            ["not compiled in", "2.18.0", "as in every release from 2.18 on", "==2.17.1"],
        ),
        (
            changed(tensorflow__build__is_cuda_build=False, tensorrt={"error": "no module"}),
            [],
            "TF-TRT",
            ["not compiled in", "built without CUDA"],
        ),
        (
            changed(**NOT_OPENED),
            [WHEEL],
            "TensorRT",
            [
                "2.17.1 opens libnvinfer.so.8.6.1 and libnvinfer_plugin.so.8.6.1",
                "TensorRT 8.6.0 is in /w/tensorrt",
                "`trt-convert doctor --fix`",
            ],
        ),
        (
            changed(**NOT_OPENED),
            [],
            "TensorRT",
            ["TensorRT 8.6 is not installed: pip install tensorrt==8.6.0, then run"],
        ),
        (
            changed(**NOT_OPENED),
            [NEWER],
            "TensorRT",
            ["8.6 is not installed (what is does not fit: 10.3.0 in /n)"],
        ),
        (
            changed(
                **NOT_OPENED,
                tensorrt__errors={"/l/libnvinfer_plugin.so.8.6.1": "libcublas.so.12: not found"},
            ),
            [WHEEL],
            "TensorRT",
            ["/l/libnvinfer_plugin.so.8.6.1 does not open (libcublas.so.12: not found)"],
        ),
        (
            changed(tensorrt_loaded__version=[8, 5, 3]),
            [],
            "TensorRT",
            ["TensorRT 8.5.3 is loaded (/site/tensorrt_libs/libnvinfer.so.8", "linked with 8.6.1"],
        ),
        (
            changed(tensorrt_loaded__version=[10, 3, 0]),
            [],
            "TensorRT",
            ["TensorRT 10.3.0 is loaded"],
        ),
        (
            changed(cuda={"error": "no NVIDIA driver: libcuda.so.1"}),
            [],
            "GPU",
            ["no GPU can be used (no NVIDIA driver", "--gpus all"],
        ),
        (
            changed(cuda={"version": [12, 2], "error": "cuInit: no CUDA-capable device"}),
            [],
            "GPU",
            ["cuInit: no CUDA-capable device", "CUDA_VISIBLE_DEVICES"],
        ),
        (changed(cuda__gpus=[]), [], "GPU", ["no GPU is visible"]),
        (
            changed(cuda__version=[11, 8], driver__version="520.61.05"),
            [],
            "GPU",
            ["driver 520.61.05 is for CUDA 11.8", "needs CUDA 12", "525.60.13 or later"],
        ),
        (
            changed(cuda__gpus=[{"name": "B200", "compute_capability": "10.0", "memory": 1}]),
            [],
            "GPU",
            ["B200 has compute capability 10.0", "work on 6.0 to 9.0"],
        ),
        (
            changed(cuda__gpus=[{"name": "M60", "compute_capability": "5.2", "memory": 1}]),
            [],
            "GPU",
            ["M60 has compute capability 5.2"],
        ),
        (
            changed(tensorflow_gpus=[]),
            [],
            "GPU",
            ["TensorFlow 2.17.1 uses no GPU", "tensorflow[and-cuda]==2.17.1"],
        ),
    ],
)
def test_each_problem_comes_alone_with_its_cure(facts, installed, about, says):
    (problem,) = problems_of(facts, installed, python=(3, 10))
    assert problem.about == about
    for words in says:
        assert words in str(problem)


def test_the_cure_knows_which_python_has_wheels():
    for facts in (
        changed(tensorflow={"error": "ModuleNotFoundError: No module named 'tensorflow'"}),
        changed(tensorflow__version="2.20.0", tensorrt__linked=[0, 0, 0], **NOT_OPENED),
    ):
        (problem,) = problems_of(facts, [], python=(3, 12))
        assert "Python" not in problem.cure
        (problem,) = problems_of(facts, [], python=(3, 13))
        assert "use Python 3.10 (3.13 has no wheel of it)" in problem.cure
    (problem,) = problems_of(changed(**NOT_OPENED), [], python=(3, 12))
    assert "Python 3.10" in problem.cure and "Python 3.12 has no wheel" in problem.cure


def test_all_that_is_missing_is_one_error(monkeypatch):
    bad = changed(**NOT_OPENED, cuda={"error": "no NVIDIA driver"})
    monkeypatch.setattr(environment_facts, "facts_here", lambda: bad)
    with pytest.raises(UnavailableError) as caught:
        require_tftrt()
    first, second = str(caught.value).splitlines()
    assert first.startswith("TensorFlow 2.17.1 opens libnvinfer.so.8.6.1")
    assert second.startswith("no GPU can be used")
    with pytest.raises(UnavailableError) as caught:
        require_tftrt(gpu=False)
    assert str(caught.value) == first
    without_tftrt = {**bad, "tensorrt": {"linked": [0, 0, 0], "opens": False}}
    monkeypatch.setattr(environment_facts, "facts_here", lambda: without_tftrt)
    with pytest.raises(UnavailableError, match="not compiled in") as caught:
        require_tftrt()
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(environment_facts, "facts_here", lambda: GOOD)
    assert require_tftrt().tensorrt_loaded == "8.6.1"


def test_require_tftrt_in_this_process():
    """It raises if this process has no GPU, or a TensorFlow without TF-TRT."""
    facts = environment_facts.facts_here()
    if problems_of(facts, find_tensorrt()):
        with pytest.raises(UnavailableError):
            require_tftrt()
    else:
        assert require_tftrt().gpus
    assert facts["tensorflow"]["version"] == tf.__version__
    has_tftrt = any(facts["tensorrt"]["linked"])
    assert has_tftrt == bool(tf.sysconfig.get_build_info()["is_tensorrt_build"])


@pytest.mark.parametrize(
    ("loaded", "accepted"),
    [
        ([8, 6, 0], True),
        ([8, 6, 1], False),
        ([8, 6, 2], False),
        ([8, 5, 9], False),
        ([9, 6, 0], False),
    ],
)
def test_which_versions_get_the_warning(loaded, accepted):
    text = patch_level_warning([8, 6, 1], loaded)
    assert (text is not None) == accepted
    if accepted:
        assert "8.6.0 is loaded" in text and "linked with 8.6.1" in text
        environment = environment_of(changed(tensorrt_loaded__version=loaded), [])
        assert environment.problems == () and environment.warnings == (text,)


def test_one_gpu_of_two_is_unfit():
    gpus = [*GOOD["cuda"]["gpus"], {"name": "B200", "compute_capability": "10.0", "memory": 1}]
    environment = environment_of(changed(cuda__gpus=gpus), [])
    assert environment.problems == ()
    assert len(environment.warnings) == 1 and "B200" in environment.warnings[0]


def test_what_fits():
    assert fits(WHEEL, [8, 6, 1]) and fits(WHEEL._replace(version="8.6.1"), [8, 6, 1])
    assert not fits(NEWER, [8, 6, 1])
    assert not fits(WHEEL._replace(version="8.5.3"), [8, 6, 1])
    assert not fits(WHEEL._replace(version="8"), [8, 6, 1])
    assert not fits(WHEEL._replace(plugin=None), [8, 6, 1])


@pytest.mark.parametrize(
    ("line", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC",
            "535.104.05",
        ),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build",
            "570.124.06",
        ),
        ("", None),
    ],
)
def test_the_driver_version(line, version):
    gcc = "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)"
    assert environment_facts.driver_version(f"{line}\n{gcc}") == version


# --- TF-TRT's own check of the versions


@pytest.fixture
def versions(monkeypatch):
    """Returns a function that sets which TensorRT TF-TRT finds linked and which loaded."""
    converter = pytest.importorskip("tensorflow.python.compiler.tensorrt.trt_convert")

    def believe(linked: tuple[int, ...], loaded: tuple[int, ...], enabled: bool = True):
        parts = SimpleNamespace(
            is_tensorrt_enabled=lambda: enabled,
            get_linked_tensorrt_version=lambda: linked,
            get_loaded_tensorrt_version=lambda: loaded,
        )
        monkeypatch.setattr(converter, "_pywrap_py_utils", parts)
        monkeypatch.setattr(converter.trt_utils, "_pywrap_py_utils", parts)
        return converter

    return believe


def test_a_lower_patch_level_is_accepted_with_a_warning(versions):
    converter = versions((8, 6, 1), (8, 6, 0))
    with pytest.raises(RuntimeError, match="Incompatible TensorRT"):
        converter._check_trt_version_compatibility()
    with accept_patch_level(), pytest.warns(RuntimeWarning, match=r"8\.6\.0 is loaded"):
        converter._check_trt_version_compatibility()
    with pytest.raises(RuntimeError, match="Incompatible TensorRT"):
        converter._check_trt_version_compatibility()


@pytest.mark.parametrize("loaded", [(8, 5, 3), (7, 2, 3), (10, 0, 1)])
def test_other_versions_are_refused_as_ever(versions, loaded):
    converter = versions((8, 6, 1), loaded)
    with accept_patch_level(), pytest.raises(RuntimeError, match="Incompatible"):
        converter._check_trt_version_compatibility()


def test_no_tensorrt_is_refused_as_ever(versions):
    converter = versions((8, 6, 1), (0, 0, 0), enabled=False)
    with accept_patch_level(), pytest.raises(RuntimeError, match="not been built with TensorRT"):
        converter._check_trt_version_compatibility()


def test_the_right_version_gets_no_warning(versions):
    converter = versions((8, 6, 1), (8, 6, 1))
    with accept_patch_level(), warnings.catch_warnings():
        warnings.simplefilter("error")
        converter._check_trt_version_compatibility()


def test_the_check_is_put_back_after_an_error(versions):
    converter = versions((8, 6, 1), (8, 6, 0))
    original = converter._check_trt_version_compatibility
    with pytest.raises(ZeroDivisionError), accept_patch_level():
        raise ZeroDivisionError
    assert converter._check_trt_version_compatibility is original


@pytest.mark.gpu
def test_a_machine_that_can_convert(tmp_path):
    environment = require_tftrt()
    assert environment.gpus and environment.driver and environment.cuda
    assert Path(environment.library_path).is_file() and Path(environment.plugin_path).is_file()
    described = describe()
    assert described.problems == ()
    assert dataclasses.replace(described, library_path=environment.library_path) == environment
    assert doctor().ok
    converter = pytest.importorskip("tensorflow.python.compiler.tensorrt.trt_convert")
    with accept_patch_level(), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        converter.TrtGraphConverterV2(input_saved_model_dir=str(tmp_path))
    older = environment.tensorrt_loaded != environment.tensorrt_linked
    assert any("patch level" in str(one.message) for one in seen) == older


# --- finding libraries


def test_the_run_path_of_a_library(tmp_path):
    path = compile_library(
        tmp_path / "sub" / "liba.so", "", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/..:/opt/x"
    )
    assert run_path(path) == [tmp_path, Path("/opt/x")]
    older = compile_library(tmp_path / "libb.so", "", "-Wl,--disable-new-dtags,-rpath,${ORIGIN}/x")
    assert run_path(older) == [tmp_path / "x"]
    assert run_path(compile_library(tmp_path / "libc.so", "")) == []
    # As for the loader, $ORIGIN is the folder of the link, not that of the file it leads to.
    (tmp_path / "other" / "deep").mkdir(parents=True)
    (tmp_path / "other" / "deep" / "liba.so").symlink_to(path)
    assert run_path(tmp_path / "other" / "deep" / "liba.so")[0] == tmp_path / "other"


@pytest.mark.parametrize("content", [b"", b"no library", b"\x7fELF\x02\x01\x01"])
def test_the_run_path_of_what_is_no_library(tmp_path, content):
    path = tmp_path / "libtensorflow_cc.so.2"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"libtensorflow_cc\.so\.2 is not a whole shared library"):
        run_path(path)


def test_searched_folders_are_those_of_every_opener(tmp_path):
    package = tmp_path / "site" / "tensorflow"
    both = "-Wl,-rpath,$ORIGIN/:$ORIGIN/../tensorrt:$ORIGIN/../gone"
    compile_library(package / "libtensorflow_cc.so.2", "", both)
    compile_library(package / "libtensorflow_framework.so.2", "", both)
    utils = package / "compiler" / "tf2tensorrt" / "_pywrap_py_utils.so"
    compile_library(utils, "", "-Wl,-rpath,$ORIGIN/../..:$ORIGIN/../../tensorrt")
    (tmp_path / "site" / "tensorrt").mkdir()
    (package / "tensorrt").mkdir()
    # Two libraries of TensorFlow look for TensorRT, each in its own folders. Only folders that both
    # of them search are of use for links.
    assert link_folders(package) == [package]
    found = searched_folders(package, f"/first:{tmp_path}")
    assert found[:3] == [Path("/first"), tmp_path, package]
    assert Path("/usr/lib") in found


def test_finding_copies_of_tensorrt(tmp_path, monkeypatch):
    make_tensorrt(tmp_path / "site" / "tensorrt", "8.6.0")
    make_tensorrt(tmp_path / "path" / "lib", "8.6.1")
    half = tmp_path / "half"
    half.mkdir()
    (half / "libnvinfer.so.10").write_bytes(b"")
    links = tmp_path / "links"
    links.mkdir()
    (links / "libnvinfer.so.8.6.1").symlink_to(tmp_path / "site" / "tensorrt" / "libnvinfer.so.8")
    (links / "libnvinfer.so.8.5.3").symlink_to(tmp_path / "gone")
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "site")])
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path / 'path' / 'lib'}:{half}")
    mine = [found for found in find_tensorrt([links]) if tmp_path in found.library.parents]
    assert [(found.folder, found.version, found.plugin is not None) for found in mine] == [
        (links, "8.6.0", False),  # The version is that of the file the link leads to.
        (tmp_path / "path" / "lib", "8.6.1", True),
        (half, "10", False),
    ]
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    assert [found.version for found in find_tensorrt() if tmp_path in found.library.parents] == [
        "8.6.0"
    ]
