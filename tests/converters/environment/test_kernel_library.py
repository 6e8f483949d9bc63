"""kernels_kept keeps TensorRT's kernels loaded until its block ends, by keeping a builder alive."""

from __future__ import annotations

import ctypes
from pathlib import Path

import made_up_tensorrt
import pytest
import tensorflow as tf

from converters.environment import kernel_library
from converters.environment.kernel_library import kernels_kept

# Imitates TensorRT's builder in C: an object with the table of virtual functions that a C++
# compiler makes. The second destructor in such a table also frees the object. Like TensorRT, the
# object uses its logger, even while it is deleted.
SOURCE = """
typedef struct Object { void** table; } Object;
typedef void (*Log)(Object*, int, const char*);
static Object* logger;
static int alive, wrong, lines;
static void count(Object* object, int severity, const char* text) { ++lines; }
static void* logs[] = {(void*)count};
static Object counter = {logs};
void* a_logger(void) { return &counter; }
int said(void) { return lines; }
static void say(const char* text) { ((Log)logger->table[0])(logger, 4, text); }
static void destroy(Object* object) { wrong = 1; }
static void destroy_and_free(Object* object) { say("gone"); --alive; }
static void* table[] = {(void*)destroy, (void*)destroy_and_free};
static Object builder = {table};
int getInferLibVersion(void) { return VERSION; }
void* createInferBuilder_INTERNAL(Object* given, int version) {
  logger = given;
  if (REFUSES || version != getInferLibVersion()) return 0;
  say("made");
  ++alive;
  return &builder;
}
int builders(void) { return wrong ? -1 : alive; }
"""


def library(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str, version: int = 8, minor: int = 6
) -> Path:
    path = folder / f"libnvinfer.so.{version}"
    defined = [f"-DVERSION={version}600", "-DREFUSES=0", *options]
    made_up_tensorrt.compile_library(path, SOURCE, *defined)
    files = ["/x/libnvinfer_plugin.so.8", str(path)]
    loads(monkeypatch, {"version": [version, minor, 0], "files": files})
    logger = ctypes.CDLL(str(path)).a_logger
    logger.restype = ctypes.c_void_p
    monkeypatch.setattr(kernel_library, "_tensorflow_logger", logger)
    return path


def loads(monkeypatch: pytest.MonkeyPatch, found: dict | None) -> None:
    monkeypatch.setattr(kernel_library, "tensorrt_loaded", lambda: found)


def test_a_builder_lives_for_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ctypes.CDLL(str(library(tmp_path, monkeypatch)))
    for rounds in (1, 2):
        with kernels_kept() as keep:
            assert made.builders() == 0
            assert keep() and keep() and made.builders() == 1
        assert made.builders() == 0
        assert made.said() == 2 * rounds
    with pytest.raises(KeyError), kernels_kept() as keep:
        keep()
        raise KeyError
    assert made.builders() == 0
    with kernels_kept():
        pass
    assert made.said() == 6


def test_without_such_a_tensorrt_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keeps() -> bool:
        with kernels_kept() as keep:
            return keep()

    loads(monkeypatch, None)
    assert not keeps()
    loads(monkeypatch, {"version": [8, 6, 0], "files": []})
    assert not keeps()
    # The layout of the class is known for TensorRT 8.6 only.
    for version, minor in ((8, 5), (10, 6)):
        library(tmp_path / f"{version}{minor}", monkeypatch, version=version, minor=minor)
        assert not keeps()
    library(tmp_path / "refuses", monkeypatch, "-UREFUSES", "-DREFUSES=1")
    assert not keeps()
    made_up_tensorrt.make_tensorrt(tmp_path / "no_builder", "8.6.0")
    path = tmp_path / "no_builder" / "libnvinfer.so.8"
    loads(monkeypatch, {"version": [8, 6, 0], "files": [str(path)]})
    assert not keeps()
    loads(monkeypatch, {"version": [8, 6, 0], "files": [str(tmp_path / "gone/libnvinfer.so.8")]})
    assert not keeps()
    library(tmp_path / "unlogged", monkeypatch)
    assert keeps()
    monkeypatch.setattr(kernel_library, "_tensorflow_logger", lambda: None)
    assert not keeps()


def test_the_logger_is_tensorflow_s() -> None:
    found = kernel_library._tensorflow_logger()
    assert found == kernel_library._tensorflow_logger()
    # TensorFlow has a logger for TensorRT if TF-TRT is compiled in.
    assert (found is not None) == tf.__version__.startswith("2.17.")
