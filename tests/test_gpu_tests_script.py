"""scripts/gpu_tests.sh spreads tests over GPUs and cores, and keeps what each said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
# Stands for pytest: tells what it would run where; one test fails.
PYTHON = f"""#!{sys.executable}
import os, subprocess, sys
if sys.argv[1] == "-c":
    sys.exit(subprocess.call([sys.executable, *sys.argv[1:]]))
if "--collect-only" in sys.argv:
    if "BROKEN" in os.environ:
        sys.exit("ERROR tests/gpu/c.py")
    for test in (
        "a_gpu.py::x[two_parts-FP32-static]", "a_gpu.py::x[net-FP16-static]", "a_gpu.py::y[INT8]",
        "a_gpu.py::x[net-INT8-explicit]", "a_gpu.py::w[FP16-static]", "a_gpu.py::w[INT8-explicit]",
        "a_gpu.py::z", "bisect_gpu.py::y",
    ):
        print(f"tests/converters/{{test}}")
    for test in ("b.py::one[a-B-c]", "b.py::two", "two_gpus.py::v"):
        print(f"tests/gpu/{{test}}")
    if "MORE" in os.environ:
        print("tests/converters/a_gpu.py::x[net-FP16-explicit]")
    print("11 tests collected")
    sys.exit()
assert os.environ["TF_NVCODEC_REQUIRE_GPU"] == "1"
cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
tests = sys.argv[sys.argv.index("no:cacheprovider") + 1 :]
print(os.environ["CUDA_VISIBLE_DEVICES"], cores, *tests)
sys.exit(any("FP32" in test for test in tests))
"""
# A process for each.
GROUPS = {
    "tests/converters/a_gpu.py::x[two_parts": ["x[two_parts-FP32-static]"],
    "tests/converters/a_gpu.py::x[net": ["x[net-FP16-static]", "x[net-INT8-explicit]"],
    "tests/converters/a_gpu.py::w": ["w[FP16-static]", "w[INT8-explicit]"],
    "tests/converters/a_gpu.py": ["y[INT8]", "z"],
    "tests/converters/bisect_gpu.py": ["y"],
    "tests/gpu/b.py": ["one[a-B-c]", "two"],
    "tests/gpu/two_gpus.py": ["v"],  # sees both
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Another root with these scripts and a Python of that kind."""
    (tmp_path / "scripts").mkdir()
    for name in ("gpu_tests.sh", "common.sh"):
        shutil.copy(SCRIPTS / name, tmp_path / "scripts")
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)
    return tmp_path


def run(project: Path, **variables: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "TF_NVCODEC_PYTHON": str(project / "python"), **variables}
    return subprocess.run(
        [project / "scripts" / "gpu_tests.sh"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_tests_are_spread_and_failures_told(project: Path) -> None:
    done = run(project, GPUS="4 7", PER_GPU="1")
    assert done.returncode == 1 and "some failed; their logs are in" in done.stderr
    first, *lines = done.stdout.splitlines()
    assert first == "==> 7 processes on GPUs 4 7, 1 at a time on each"
    verdicts = {line.split(" s  ")[1].split(": ")[0]: line.split()[0] for line in lines}
    assert verdicts == {group: "FAILED" if "two_parts" in group else "passed" for group in GROUPS}
    logs = [path.read_text().split() for path in (project / "build/log/gpu_tests").glob("*.log")]
    ran = sorted([test.split("::")[1] for test in tests] for _, _, *tests in logs)
    assert ran == sorted(GROUPS.values())
    assert [gpu for gpu, _, *tests in logs if "two_gpus" in tests[0]] == ["4,7"]
    places = {(gpu, cores) for gpu, cores, *_ in logs if gpu != "4,7"}
    assert {gpu for gpu, _ in places} == {"4", "7"}
    cores = sorted(map(str, os.sched_getaffinity(0)), key=int)
    half = len(cores) // 2
    if half:
        assert places == {("4", ",".join(cores[:half])), ("7", ",".join(cores[half : 2 * half]))}


def test_what_takes_longest_begins_first_and_only_failures_run_again(project: Path) -> None:
    lines = run(project, GPUS="0", PER_GPU="1").stdout.splitlines()[1:]
    begun = [line.split(" s  ")[1].split(": ")[0].split("/")[-1] for line in lines]
    assert begun[0] == "bisect_gpu.py" and begun[-2:] == ["b.py", "two_gpus.py"]
    again = run(project, GPUS="0", AGAIN="1")
    (line,) = again.stdout.splitlines()[1:]
    assert line.startswith("FAILED") and "x[two_parts" in line
    # A process that has more to do than what passed.
    more = run(project, GPUS="0", AGAIN="1", MORE="1").stdout
    assert len(more.splitlines()) == 3 and "passed  GPU 0" in more and "x[net" in more


def test_tests_that_can_not_be_collected_are_an_error(project: Path) -> None:
    done = run(project, GPUS="0", BROKEN="1")
    assert done.returncode == 1 and "collecting the tests failed" in done.stderr
    assert not done.stdout
