"""Reads the includes and imports of all sources and checks them by the rules of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tf_nvcodec"

# Which of the project's own headers each folder of C++ may include, and which outside headers it
# may not include.
OWN = {
    "core": ("core",),
    "nv": ("core", "nv"),
    "ops": ("ops",),
    "kernels": ("core", "nv", "kernels"),
    "capi": ("core", "nv", "capi"),
}
TENSORFLOW = ("tensorflow/", "tsl/", "xla/", "third_party/", "google/protobuf/")
NVIDIA = ("ffnvcodec/", "cuda", "nvcuvid", "nvEncodeAPI")
FFMPEG = ("libav", "libsw")
FORBIDDEN = {
    "core": (*TENSORFLOW, *NVIDIA, "dlfcn.h"),
    "nv": TENSORFLOW,
    "ops": (*NVIDIA, *FFMPEG, "dlfcn.h"),
    "kernels": (*NVIDIA, *FFMPEG, "dlfcn.h"),
    "capi": (*TENSORFLOW, *NVIDIA, "dlfcn.h"),
}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def cpp_files(layer: str) -> list[Path]:
    files = [path for path in (PACKAGE / layer).rglob("*") if path.suffix in (".h", ".cc")]
    assert files, f"no C++ in {layer}"
    return files


def forbidden_includes(layer: str, source: str) -> list[str]:
    bad = []
    for header in INCLUDE.findall(source):
        own = header.startswith("tf_nvcodec/") and header.split("/")[1] not in OWN[layer]
        if own or header.startswith(FORBIDDEN[layer]):
            bad.append(header)
    return bad


def test_no_two_headers_define_one_class() -> None:
    """The linker would keep one of the two, whose functions then work on the other's objects."""
    found: dict[str, Path] = {}
    for path in (path for layer in OWN for path in cpp_files(layer) if path.suffix == ".h"):
        for name in re.findall(r"^(?:class|struct) (\w+)[^;]*\{$", path.read_text(), re.MULTILINE):
            assert found.setdefault(name, path) == path, f"{name} is in {found[name]} and {path}"
    assert len(found) > 100


@pytest.mark.parametrize("layer", sorted(OWN))
def test_includes_follow_the_layers(layer: str) -> None:
    for path in cpp_files(layer):
        assert not forbidden_includes(layer, path.read_text()), path


@pytest.mark.parametrize(
    ("layer", "line"),
    [
        ("core", '#include "tensorflow/core/framework/op.h"'),
        ("core", '#include "tf_nvcodec/nv/cuda/driver.h"'),
        ("core", "#include <dlfcn.h>"),
        ("nv", '#include "tf_nvcodec/kernels/tensors/kernel_util.h"'),
        ("ops", "#include <libavutil/frame.h>"),
        ("ops", '#include "tf_nvcodec/core/ffmpeg/decoder.h"'),
        ("kernels", "  #  include <ffnvcodec/dynlink_cuda.h>"),
        ("capi", '#include "tf_nvcodec/kernels/tensors/kernel_util.h"'),
        ("capi", '#include "tensorflow/core/framework/tensor.h"'),
    ],
)
def test_the_include_rule_catches(layer: str, line: str) -> None:
    assert forbidden_includes(layer, f"// a comment\n{line}\n")


def test_only_one_folder_sends_requests() -> None:
    """What FFmpeg's demuxers find in a file must not lead to a server."""
    users = {
        path.parent.relative_to(PACKAGE).as_posix()
        for layer in OWN
        for path in cpp_files(layer)
        if "<curl/" in path.read_text()
    }
    assert users == {"core/remote"}


def test_only_nv_opens_libraries() -> None:
    for layer in ("core", "ops", "kernels", "capi"):
        for path in cpp_files(layer):
            assert not re.search(r"\bdl(m?open|sym)\b", path.read_text()), path


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_only_the_loader_opens_the_op_library() -> None:
    opens = re.compile(r"load_op_library|load_library|libtf_nvcodec\.so")
    openers = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if opens.search(path.read_text())
    }
    assert openers == {"python/loader.py"}


def test_only_one_module_calls_the_c_api() -> None:
    """One module declares the argument types of all C functions, so they are checked in one
    place."""
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("compat/*.py")
        if re.search(r"ctypes\.(CDLL|PyDLL|cdll)\b", path.read_text())
    }
    assert users == {"compat/library.py"}


def test_the_two_packages_never_import_each_other() -> None:
    for package, other in (("tf_nvcodec", "converters"), ("converters", "tf_nvcodec")):
        for path in (ROOT / package).rglob("*.py"):
            for module in imported_modules(path):
                assert module.split(".")[0] != other, path


def test_converters_import_tensorflow_within_functions_only() -> None:
    """`import converters` must work on any machine, also without TensorFlow."""
    files = list((ROOT / "converters").rglob("*.py"))
    assert files
    for path in files:
        for node in at_import(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert name.split(".")[0] not in ("tensorflow", "tensorrt"), path


# The folders of converters, the lowest first; "" is the package's own folder. A module may import
# from its own folder and from those before it.
CONVERTERS = (
    *("util", "spec", "model", "inputs", "int8", "environment", "segments", "checks", "tftrt"),
    *("report", "plans", "measure", "", "cli"),
)


def converters_imports(sources: dict[str, str]) -> dict[str, set[str]]:
    """Returns which modules each module of converters imports, at its top or in functions. Names
    have no "converters." in front."""
    found: dict[str, set[str]] = {}
    for name, source in sources.items():
        found[name] = set()
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            package, _, module = node.module.partition(".")
            if package == "converters":
                inner = (f"{module}.{alias.name}".strip(".") for alias in node.names)
                found[name].update(each if each in sources else module for each in inner)
    return found


def upward_imports(imports: dict[str, set[str]]) -> list[str]:
    def height(module: str) -> int:
        folder = module.rpartition(".")[0] or (module if module in CONVERTERS else "")
        return CONVERTERS.index(folder)

    return [
        f"{module} imports {other}"
        for module, others in imports.items()
        for other in others
        if height(other) > height(module)
    ]


def import_circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Returns the circles in which modules import each other."""
    circles, done = [], set()

    def follow(module: str, path: list[str]) -> None:
        if module in path:
            circles.append([*path[path.index(module) :], module])
        elif module not in done:
            for other in sorted(imports.get(module, ())):
                follow(other, [*path, module])
            done.add(module)

    for module in sorted(imports):
        follow(module, [])
    return circles


def test_imports_of_converters_go_downwards_and_in_no_circle() -> None:
    root = ROOT / "converters"
    sources = {}
    for path in root.rglob("*.py"):
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        # The package itself imports lazily; `python -m converters` is the command line.
        if name not in ("__init__", "__main__"):
            sources[name] = path.read_text()
    folders = {path.name for path in root.iterdir() if (path / "__init__.py").exists()}
    assert folders == set(CONVERTERS) - {""}
    imports = converters_imports(sources)
    assert len(imports) > 60
    assert not upward_imports(imports)
    assert not import_circles(imports)


def test_the_rules_for_converters_catch() -> None:
    imports = converters_imports(
        {
            "util.a": "def f():\n    from converters.util import b",
            "util.b": "from converters.util.c import g",
            "util.c": "from converters.util.a import f\nfrom converters.report.r import x",
            "report.r": "from converters import top\nfrom converters.cli import main",
            "top": "",
        }
    )
    assert sorted(upward_imports(imports)) == [
        "report.r imports cli",
        "report.r imports top",
        "util.c imports report.r",
    ]
    assert import_circles(imports) == [["util.a", "util.b", "util.c", "util.a"]]


def at_import(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements that run when the module is imported."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from at_import(node)


def test_the_python_side_does_not_import_the_command_line() -> None:
    for path in (PACKAGE / "python").rglob("*.py"):
        for module in imported_modules(path):
            assert not module.startswith("tf_nvcodec.cli"), path


def test_headers_are_guarded_by_their_path() -> None:
    for layer in OWN:
        for path in cpp_files(layer):
            # Highway includes its -inl.h files once for each instruction set.
            if path.suffix != ".h" or path.stem.endswith("-inl"):
                continue
            guard = re.sub(r"[^A-Z0-9]", "_", str(path.relative_to(ROOT)).upper()) + "_"
            assert f"#ifndef {guard}\n#define {guard}\n" in path.read_text(), path
