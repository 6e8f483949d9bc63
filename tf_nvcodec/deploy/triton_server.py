"""The Triton server of the package nvidia-pytriton, and how to start it on a model repository."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

_INSTALL = "pip install nvidia-pytriton==0.7.0, or use Triton's own container image"


class ServerCommand(NamedTuple):
    """What to execute, and in which environment."""

    arguments: list[str]
    environment: dict[str, str]


def server_command(
    repository: str | os.PathLike[str],
    *,
    http_port: int = 8000,
    grpc_port: int = 8001,
    metrics_port: int = 8002,
    options: list[str] | None = None,
) -> ServerCommand:
    """Returns the command that serves a repository with this Python's packages.

    Args:
      repository: The folder that `write_repository` has written to. Triton completes no
        configurations, so models of your own in it need whole ones.
      http_port: Where HTTP is served.
      grpc_port: Where gRPC is served.
      metrics_port: Where Prometheus finds the metrics.
      options: More options of `tritonserver`.

    Raises:
      FileNotFoundError: The package, its files for this version of Python, or this version's
        libpython is missing.
    """
    found = find_spec("pytriton")
    if found is None or found.origin is None:
        raise FileNotFoundError(f"Triton is not installed: {_INSTALL}")
    package = Path(found.origin).parent
    triton, libraries = package / "tritonserver", package.parent / "nvidia_pytriton.libs"
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = triton / "python_backend_stubs" / python / "triton_python_backend_stub"
    if not stub.exists():
        raise FileNotFoundError(f"nvidia-pytriton has no stub for Python {python}: {_INSTALL}")
    folders = [str(libraries), *_libpython_folder(python)]
    # The stub takes its Python from PATH. PYTHONPATH does not reach it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    inherited = os.environ.get("LD_LIBRARY_PATH")
    if inherited:
        folders.append(inherited)
    return ServerCommand(
        [
            str(triton / "bin" / "tritonserver"),
            f"--model-repository={os.fspath(repository)}",
            f"--backend-directory={_backends(triton, stub)}",
            # Triton would start each model once more, and one by one, to complete what is complete.
            "--disable-auto-complete-config",
            # Loading fails on a machine that is too busy at that moment.
            "--model-load-retry-count=2",
            f"--http-port={http_port}",
            f"--grpc-port={grpc_port}",
            f"--metrics-port={metrics_port}",
            *(options or []),
        ],
        {**os.environ, "PATH": path, "LD_LIBRARY_PATH": os.pathsep.join(folders)},
    )


def _libpython_folder(python: str) -> list[str]:
    """The folder of the libpython that fits this interpreter; none if the system knows it."""
    name = f"libpython{python}.so.1.0"
    folder = sysconfig.get_config_var("LIBDIR")
    if folder and Path(folder, name).exists():
        return [str(folder)]
    try:
        ctypes.CDLL(name)
    except OSError:
        raise FileNotFoundError(
            f"{name} is missing, which Triton's Python backend needs: apt-get install "
            f"libpython{python}"
        ) from None
    return []


def _backends(triton: Path, stub: Path) -> Path:
    """A folder with the Python backend and the stub for this version of Python. The package keeps
    them apart, and its files may not be executable."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "tf_nvcodec" / f"triton-{stub.stat().st_mtime_ns:x}-{stub.parent.name}"
    backend = folder / "python"
    if not backend.exists():
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / f"python.{os.getpid()}"
        shutil.copytree(triton / "backends" / "python", made)
        shutil.copy(stub, made)
        os.chmod(made / stub.name, 0o755)
        try:
            os.rename(made, backend)
        except OSError:  # another process was faster
            shutil.rmtree(made)
    return folder
