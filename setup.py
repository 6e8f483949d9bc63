"""Builds the op library with Bazel and packs it with the Python sources into a wheel."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parent
FIND_TENSORFLOW = "import importlib.metadata as m; print(m.version('tensorflow'))"


def outside_pip(environment: dict[str, str]) -> dict[str, str]:
    """Returns the environment without the variables by which pip hides installed packages."""
    hidden = ("PYTHONPATH", "PYTHONNOUSERSITE")
    return {name: value for name, value in environment.items() if name not in hidden}


def tensorflow_python() -> tuple[str, str]:
    """Returns the interpreter whose TensorFlow to build against, and its TensorFlow's version."""
    named = os.environ.get("TF_NVCODEC_PYTHON")
    for python in [named] if named else [sys.executable, "python3"]:
        found = subprocess.run(
            [python, "-c", FIND_TENSORFLOW],
            env=outside_pip(dict(os.environ)),
            capture_output=True,
            text=True,
            check=False,
        )
        if found.returncode == 0:
            return python, found.stdout.strip()
    sys.exit(
        f"error: no TensorFlow in {named or sys.executable}: tf_nvcodec is built against the one "
        "it will run with. Install it first (pip install tensorflow==2.17.1), or set "
        "TF_NVCODEC_PYTHON to the Python that has it."
    )


def revision() -> str:
    """Returns the git commit, with -dirty if files differ from it; "unknown" outside a checkout."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return "unknown"
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip() or "unknown"


def version() -> str:
    found = re.search(r'__version__ = "(.+)"', (ROOT / "tf_nvcodec" / "version.py").read_text())
    assert found is not None, "tf_nvcodec/version.py has no __version__"
    return found[1]


def requirements(name: str) -> list[str]:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def next_minor(release: str) -> str:
    major, minor = release.split(".")[:2]
    return f"{major}.{int(minor) + 1}"


PYTHON, TENSORFLOW = tensorflow_python()
# "portable" has an FFmpeg of its own inside; scripts/portable/ makes it.
FLAVOUR = os.environ.get("FLAVOUR", "")
BUILD = ROOT / "build" / (f"{TENSORFLOW}-{FLAVOUR}" if FLAVOUR else TENSORFLOW)


class BuildWithBazel(build_py):
    def run(self) -> None:
        super().run()
        subprocess.run(
            [ROOT / "scripts" / "build.sh"],
            env={**outside_pip(dict(os.environ)), "TF": TENSORFLOW, "TF_NVCODEC_PYTHON": PYTHON},
            check=True,
        )
        package = Path(self.build_lib) / "tf_nvcodec"
        shutil.copy(BUILD / "libtf_nvcodec.so", package)
        info = json.loads((BUILD / "build_info.json").read_text())
        info["revision"] = revision()
        (package / "build_info.json").write_text(json.dumps(info, indent=2) + "\n")
        if FLAVOUR:
            self.copy_licenses(package / "licenses")

    def copy_licenses(self, folder: Path) -> None:
        """Packs the licences and versions of the FFmpeg that is inside the library."""
        made = subprocess.run(
            [ROOT / "scripts" / "portable" / "ffmpeg.sh"],
            capture_output=True,
            text=True,
            check=True,
        )
        shutil.copytree(Path(made.stdout.strip()) / "licenses", folder, dirs_exist_ok=True)


class PlatformWheel(bdist_wheel):
    """Makes wheels for py3-none-linux_x86_64: the library is compiled, but does not link Python."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", f"linux_{platform.machine()}"


class CompiledDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True


# Modules left by an earlier build would be packed again, even if they are deleted by now.
shutil.rmtree(BUILD / "setuptools", ignore_errors=True)

setup(
    version=version(),
    packages=find_packages(include=["tf_nvcodec*", "converters*"]),
    package_data={"converters.segments": ["*.txt"]},
    # MANIFEST.in lists what a source distribution needs; the C++ sources stay out of the wheel.
    include_package_data=False,
    install_requires=[
        f"tensorflow>={'.'.join(TENSORFLOW.split('.')[:2])},<{next_minor(TENSORFLOW)}",
        *requirements("run"),
    ],
    extras_require={
        "gcs": ["tensorflow-io-gcs-filesystem"],
        "tensorrt": ["tensorrt==8.6.*; python_version < '3.11'"],
        "test": requirements("test"),
        "triton": ["nvidia-pytriton==0.7.0"],
        "tf-serving": ["tensorflow-serving-api"],
    },
    options={"build": {"build_base": str((BUILD / "setuptools").relative_to(ROOT))}},
    distclass=CompiledDistribution,
    cmdclass={"build_py": BuildWithBazel, "bdist_wheel": PlatformWheel},
)
