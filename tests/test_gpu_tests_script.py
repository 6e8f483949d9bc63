"""scripts/gpu_tests.sh spreads tests over GPUs and cores, and keeps what each said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Tests that tell where they ran; one fails.
TESTS = """
import os
import pytest

pytestmark = pytest.mark.gpu


def tell(name):
    assert os.environ["TF_NVCODEC_REQUIRE_GPU"] == "1"
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    with open(os.environ["TOLD"], "a") as file:
        file.write(f"{name} {os.environ['CUDA_VISIBLE_DEVICES']} {cores} {worker}\\n")
    if folder := os.environ.get("CUDA_MPS_PIPE_DIRECTORY"):
        assert open(f"{folder}/serves").read().strip() == os.path.basename(folder)
"""
# In the place of NVIDIA's: begins to serve a GPU, or ends.
MPS = """#!/bin/bash
if [[ "$1" == -d ]]; then echo "$CUDA_VISIBLE_DEVICES" >"$CUDA_MPS_PIPE_DIRECTORY/serves"; fi
echo "$CUDA_VISIBLE_DEVICES ${1:-$(cat)}" >>"$MPS_LOG"
[[ "$CUDA_VISIBLE_DEVICES" != broken ]]
"""
FILES = {
    "tests/gpu/test_b.py": "@pytest.mark.parametrize('x', range(4))\ndef test_b(x): tell('b')\n",
    "tests/gpu/test_two_gpus.py": "@pytest.mark.alone\ndef test_v(): tell('v')\n",
    "tests/converters/test_a_gpu.py": "def test_a(): tell('a')\n"
    "def test_broken():\n    print('much')\n    assert 'MENDED' in os.environ, 'no good'\n",
    "tests/converters/test_bisect_gpu.py": "def test_y(): tell('y')\n",
}
DIES = """
@pytest.mark.parametrize('x', range(12))
def test_d(x):
    if x == 4 and 'FATAL' in os.environ:
        os.abort()
    tell(f'd{x}')
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Another root with the scripts and tests of that kind."""
    for folder in ("scripts", "tests/gpu", "tests/converters"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("scripts/gpu_tests.sh", "scripts/common.sh", "tests/gpu/gpu_workers.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\nmarkers = ['alone: x', 'gpu: x']\n"
        "addopts = '-p no:cacheprovider'\n"
    )
    for name, code in FILES.items():
        (tmp_path / name).write_text(TESTS + code)
    return tmp_path


def run(project: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
    told = project / "told"
    told.unlink(missing_ok=True)
    outer = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    environment = {**outer, "TF_NVCODEC_PYTHON": sys.executable, "TOLD": str(told), **variables}
    return subprocess.run(
        [project / "scripts" / "gpu_tests.sh", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def told(project: Path) -> list[list[str]]:
    """Test, GPUs, cores and worker of what ran, in its order."""
    path = project / "told"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def test_tests_are_spread_and_failures_told(project: Path) -> None:
    done = run(project, GPUS="4 7", PER_GPU="1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "some failed; what they said is in" in done.stderr
    assert done.stdout.splitlines()[0] == "==> 2 processes on GPUs 4 7"
    lines = told(project)
    assert sorted(name for name, *_ in lines) == ["a", *"bbbb", "v", "y"]
    assert [gpu for name, gpu, *_ in lines if name == "v"] == ["4,7"]
    spread = {(worker, gpu, cores) for name, gpu, cores, worker in lines if name != "v"}
    assert {(worker, gpu) for worker, gpu, _ in spread} == {("gw0", "4"), ("gw1", "7")}
    cores = sorted(map(str, os.sched_getaffinity(0)), key=int)
    half = len(cores) // 2
    if half:
        parts = {"4": ",".join(cores[:half]), "7": ",".join(cores[half : 2 * half])}
        assert {gpu: cores for _, gpu, cores in spread} == parts
    logs = project / "build" / "log" / "gpu_tests"
    outcomes = [line.split("\t") for line in (logs / "outcomes.tsv").read_text().splitlines()]
    assert len(outcomes) == 8
    assert [test for outcome, *_, test in outcomes if outcome == "failed"] == [
        "tests/converters/test_a_gpu.py::test_broken"
    ]
    (said,) = logs.glob("*.log")
    assert said.name == "tests_converters_test_a_gpu.py_test_broken.call.log"
    assert "no good" in said.read_text() and "much" in said.read_text()


def test_what_takes_longest_begins_first_and_only_failures_run_again(project: Path) -> None:
    assert run(project, GPUS="0", PER_GPU="1").returncode == 1
    assert [name for name, *_ in told(project)] == ["y", "a", *"bbbb", "v"]
    logs = project / "build" / "log" / "gpu_tests"
    assert list(logs.glob("*.log"))
    again = run(project, GPUS="0", AGAIN="1", MENDED="1")
    assert again.returncode == 0 and "1 passed" in again.stdout and not told(project)
    assert not list(logs.glob("*.log"))
    nothing = run(project, GPUS="0", AGAIN="1")
    assert nothing.returncode == 1
    assert "no test marked gpu that has not passed before: tests" in nothing.stderr
    afresh = run(project, "tests/gpu", GPUS="0")
    assert afresh.returncode == 0 and len(told(project)) == 5


@pytest.mark.parametrize("again", [False, True])
def test_a_process_that_dies_takes_one_test_with_it(project: Path, again: bool) -> None:
    (project / "tests" / "gpu" / "test_d.py").write_text(TESTS + DIES)
    wanted = ["v", *"bbbb", *(f"d{x}" for x in range(12) if x != 4)]
    if again:
        run(project, "tests/gpu", "-k", "test_b or test_d and 2", GPUS="4 7", PER_GPU="1")
        passed = [name for name, *_ in told(project)]
        assert sorted(passed) == [*"bbbb", "d2"]
        wanted = ["v", *(name for name in wanted if name.startswith("d") and name != "d2")]
    more = {"AGAIN": "1"} if again else {}
    done = run(project, "tests/gpu", GPUS="4 7", PER_GPU="1", FATAL="1", **more)
    assert done.returncode == 1
    ran = told(project)
    assert sorted(name for name, *_ in ran) == sorted(wanted)
    places = {worker: gpu for name, gpu, _, worker in ran if name != "v"}
    assert set(places.values()) == {"4", "7"}
    (said,) = (project / "build" / "log" / "gpu_tests").glob("*.log")
    assert said.name == "tests_gpu_test_d.py_test_d_4_.died.log"


def test_processes_share_a_gpu_by_mps(project: Path) -> None:
    tools = project / "tools"
    tools.mkdir()
    (tools / "nvidia-cuda-mps-control").write_text(MPS)
    (tools / "nvidia-cuda-mps-control").chmod(0o755)
    log = project / "mps"
    more = {"MPS": "1", "PATH": f"{tools}:{os.environ['PATH']}", "MPS_LOG": str(log)}
    done = run(project, "tests/gpu", GPUS="4 7", PER_GPU="1", **more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {gpu for name, gpu, *_ in told(project) if name == "b"} == {"0"}
    assert [gpu for name, gpu, *_ in told(project) if name == "v"] == ["4,7"]  # without it
    assert log.read_text().splitlines() == ["4 -d", "7 -d", "4 quit", "7 quit"]
    broken = run(project, "tests/gpu", GPUS="broken", **more)
    assert broken.returncode == 1 and not told(project)
    assert "nvidia-cuda-mps-control does not start for GPU broken" in broken.stderr


def test_tests_that_can_not_be_collected_are_an_error(project: Path) -> None:
    (project / "tests" / "gpu" / "test_b.py").write_text("import nothing_of_this_name\n")
    done = run(project, GPUS="0")
    assert done.returncode == 1 and "nothing_of_this_name" in done.stdout
    assert sorted(name for name, *_ in told(project)) == ["a", "v", "y"]  # the others run


def test_workers_that_never_begin_are_an_error(project: Path) -> None:
    conftest = "import os\nif 'PYTEST_XDIST_WORKER' in os.environ: os._exit(3)\n"
    (project / "tests" / "gpu" / "conftest.py").write_text(conftest)
    done = run(project, "tests/gpu", GPUS="4", PER_GPU="1")
    assert done.returncode == 1, done.stdout[-2000:]
    assert not told(project) and "all passed" not in done.stdout


def test_one_that_dies_alone_leaves_the_others(project: Path) -> None:
    alone = TESTS.replace("pytest.mark.gpu", "[pytest.mark.gpu, pytest.mark.alone]")
    (project / "tests" / "gpu" / "test_d.py").write_text(alone + DIES)
    done = run(project, "tests/gpu/test_d.py", GPUS="4 7", PER_GPU="1", FATAL="1")
    assert done.returncode == 1
    ran = told(project)
    assert {name for name, *_ in ran} == {f"d{x}" for x in range(12) if x != 4}
    assert {gpus for _, gpus, *_ in ran} == {"4,7"}
    (said,) = (project / "build" / "log" / "gpu_tests").glob("*.log")
    assert said.name == "tests_gpu_test_d.py_test_d_4_.died.log"


def test_one_that_hangs_in_a_library_is_ended(project: Path) -> None:
    hangs = (
        "\nimport ctypes\n@pytest.mark.timeout(3)\ndef test_h():\n"
        "    lock = ctypes.create_string_buffer(64)\n"
        "    for _ in range(2): ctypes.CDLL(None).pthread_mutex_lock(lock)\n"
    )
    (project / "tests" / "gpu" / "test_h.py").write_text(TESTS + hangs)
    done = run(project, "tests/gpu", GPUS="4", PER_GPU="1")
    assert done.returncode == 1
    assert sorted(name for name, *_ in told(project)) == [*"bbbb", "v"]
    (said,) = (project / "build" / "log" / "gpu_tests").glob("*.log")
    assert said.name == "tests_gpu_test_h.py_test_h.died.log"
