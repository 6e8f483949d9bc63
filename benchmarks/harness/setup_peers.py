"""Makes the peers' virtual environments under build/bench. Peers that fail to install are left out.

    python -m benchmarks.harness.setup_peers

To use an interpreter of your own instead, set NVC_BENCH_PYTHON_PEERS or NVC_BENCH_PYTHON_TFIO.
"""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.harness import clips
from benchmarks.harness.process import LIBRARIES

_FOLDER = clips.ROOT / "benchmarks"
REQUIREMENTS = {"peers": "requirements.txt", "tfio": "requirements-tfio.txt"}


def _install(python: Path, arguments: list) -> bool:
    command = [str(python), "-I", "-m", "pip", "install", "-q", *arguments]
    return subprocess.run(command, check=False).returncode == 0


def link_ffmpeg4(environment: Path) -> None:
    """Gives the FFmpeg libraries of an OpenCV wheel the names that the dynamic linker looks for."""
    folder = environment / LIBRARIES
    folder.mkdir(exist_ok=True)
    for library in environment.glob("lib/python3*/site-packages/opencv_python_headless.libs/*"):
        short = re.sub(r"^(lib(?:av|sw)[a-z]+)-[0-9a-f]{8}(\.so\.[0-9]+).*", r"\1\2", library.name)
        for name in (library.name, short):
            if not (folder / name).exists():
                (folder / name).symlink_to(library)


def main() -> int:
    failures = 0
    for name, file in REQUIREMENTS.items():
        folder = clips.CACHE / f"venv-{name}"
        python = folder / "bin" / "python"
        if not python.exists():
            venv.create(str(folder), with_pip=True)
        print(f"{folder}: {file}", flush=True)
        if not _install(python, ["-r", str(_FOLDER / file)]):
            for line in (_FOLDER / file).read_text().splitlines():
                if line and not line.startswith("#") and not _install(python, [line]):
                    print(f"left out: {line}", file=sys.stderr)
                    failures += 1
        if name == "tfio":
            link_ffmpeg4(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
