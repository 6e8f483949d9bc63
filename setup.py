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
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

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
    """Returns the version; of a portable wheel with what tells it from the others of a release.

    "0.1.0+tf2.17" is for TensorFlow 2.17, "0.1.0+gpl.tf2.17" is the one under the GPL. From a
    folder with wheels for several TensorFlows, pip takes the one that fits. It sorts "gpl" before
    "tf", so that it takes a wheel under the GPL only if it is asked for.
    """
    found = re.search(r'__version__ = "(.+)"', (ROOT / "tf_nvcodec" / "version.py").read_text())
    assert found is not None, "tf_nvcodec/version.py has no __version__"
    if not FLAVOUR:
        return found[1]
    minor = ".".join(TENSORFLOW.split(".")[:2])
    return f"{found[1]}+{'gpl.' if FLAVOUR.endswith('gpl') else ''}tf{minor}"


def requirements(name: str) -> list[str]:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def next_minor(release: str) -> str:
    major, minor = release.split(".")[:2]
    return f"{major}.{int(minor) + 1}"


PYTHON, TENSORFLOW = tensorflow_python()
# What is inside the library: "" no FFmpeg, "portable" one under the LGPL, "portable-gpl" one under
# the GPL. scripts/portable/ makes them.
FLAVOUR = os.environ.get("FLAVOUR", "")
LICENSES = {
    "": "Apache-2.0",
    "portable": "Apache-2.0 AND LGPL-2.1-or-later",
    "portable-gpl": "GPL-3.0-or-later",
}
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
        info["flavour"] = FLAVOUR
        (package / "build_info.json").write_text(json.dumps(info, indent=2) + "\n")
        if FLAVOUR:
            self.copy_licenses(package / "licenses")

    def copy_licenses(self, folder: Path) -> None:
        """Packs the licences and versions of what is inside the library, and what they ask for."""
        scripts = ROOT / "scripts" / "portable"
        made = subprocess.run(
            [scripts / "ffmpeg.sh"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        shutil.copytree(Path(made.stdout.strip()) / "licenses", folder, dirs_exist_ok=True)
        shutil.copy(scripts / f"README.{FLAVOUR}.txt", folder / "README.txt")


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
    license=LICENSES[FLAVOUR],
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
