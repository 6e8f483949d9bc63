"""Runs many processes of the fuzz targets for some seconds, on a machine with many cores.

    python campaign.py --programs FOLDER --build FOLDER --seconds N --output FOLDER NAME:COUNT...

The first folder has the program `fuzzer`, which may be a script that starts it with libraries of
its own. The second has seeds/ and corpus/ as run_targets.py leaves them, and gets the new inputs:
the processes of a target share its corpus. A process that ends with a failure is started again.
Then each target's corpus is merged, for at most `--merge-seconds`, which gives the edges that all
of its processes covered together.

The output folder gets results.json, the inputs of failures in found/NAME/, logs in log/NAME/ and
the merged corpora in merged/. `executions` counts inputs that libFuzzer made: those that it read at
a start are `read`. The exit code is 1 if a target failed or ran nothing.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import functools
import itertools
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import libfuzzer

# How often a process looks for what the others of its target have found, in seconds.
RELOAD_SECONDS = 30
MOST_FAILURES = 50  # of one process
# libFuzzer's names of the files with the inputs of failures.
KINDS = {"crash": "crashes", "timeout": "hangs", "leak": "leaks", "oom": "out_of_memory"}


@dataclass
class Runs:
    """What one process did, with those that took its place after failures."""

    executions: int = 0
    read: int = 0
    edges: int = 0
    features: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


class Campaign:
    def __init__(self, programs: Path, build: Path, output: Path, seconds: float) -> None:
        self._program = programs / "fuzzer"
        self._build = build
        self._output = output
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    def corpus(self, name: str) -> Path:
        return _made(self._build / "corpus" / name)

    def fuzz(self, name: str, number: int, core: int) -> Runs:
        """Runs one process, and again after each failure, until the time is over."""
        # Decoders have threads for all cores that a process may use. This is of the thread alone.
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[core % len(cores)], cores[(core + 1) % len(cores)]})
        runs = Runs()
        while len(runs.failures) < MOST_FAILURES:
            left = int(self._deadline - time.monotonic())
            if left < 1:
                break
            log = _made(self._output / "log" / name) / f"{number}.{len(runs.failures)}.txt"
            words = libfuzzer.options(
                name,
                _made(self._output / "found" / name),
                max_total_time=left,
                reload=RELOAD_SECONDS,
                seed=1 + number + 1000 * len(runs.failures),
            )
            code, text, took = self._run(name, words, log, left + 120)
            executions, edges = libfuzzer.numbers(text)
            inited = re.search(r"^#(\d+)\s+INITED", text, re.M)
            read = int(inited[1]) if inited else executions
            runs.executions += executions - read
            runs.read += read
            runs.seconds += took
            runs.edges = max(runs.edges, edges)
            runs.features = max(runs.features, _most(r"\bft: (\d+)", text))
            if code == 0:
                log.unlink()
                break
            runs.failures.append(libfuzzer.failure(text, f"exit code {code} ({log.name})"))
        return runs

    def merge(self, name: str, seconds: float) -> tuple[int, int]:
        """Returns the edges and features of all inputs of a target; zeros if the time is over."""
        log = _made(self._output / "log" / name) / "merge.txt"
        merged = _made(self._output / "merged" / name)
        found = _made(self._output / "found" / name)
        words = [*libfuzzer.options(name, found), "-merge=1", str(merged)]
        text = self._run(name, words, log, seconds)[1]
        edges = _most(r"(\d+) new coverage edges", text)
        return edges, _most(r"(\d+) new features", text)

    def _run(self, name: str, words: list[str], log: Path, limit: float) -> tuple[int, str, float]:
        folders = [self.corpus(name), *libfuzzer.seed_folders(self._build, name)]
        begin = time.monotonic()
        with open(log, "wb") as file:
            process = subprocess.Popen(
                [self._program, *words, *folders],
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=libfuzzer.environment(name),
                cwd=_made(self._build / "work" / f"{name}.{log.stem}"),
                start_new_session=True,
            )
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # a merge has a child
                code = process.wait()
        return code, log.read_text(errors="replace"), time.monotonic() - begin

    def report(
        self, runs: dict[str, list[Runs]], together: dict[str, tuple[int, int]]
    ) -> dict[str, dict[str, object]]:
        """Writes results.json. Returns what it has of each target."""
        targets = {name: self.result(name, runs[name], together[name]) for name in runs}
        results = {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "seconds": self._seconds,
            "max_len": libfuzzer.MOST_BYTES,
            "timeout": libfuzzer.MOST_SECONDS,
            "rss_limit_mb": libfuzzer.MOST_MEGABYTES,
            "targets": targets,
        }
        (self._output / "results.json").write_text(json.dumps(results, indent=2) + "\n")
        return targets

    def result(self, name: str, runs: list[Runs], together: tuple[int, int]) -> dict[str, object]:
        files = collections.Counter(
            path.name.split("-")[0] for path in (self._output / "found" / name).iterdir()
        )
        return {
            "processes": len(runs),
            "seconds": round(sum(run.seconds for run in runs)),
            "executions": sum(run.executions for run in runs),
            "read": sum(run.read for run in runs),
            "edges": max([run.edges for run in runs] + [together[0]]),
            "features": max([run.features for run in runs] + [together[1]]),
            "corpus": len(list(self.corpus(name).iterdir())),
            **{KINDS[kind]: files[kind] for kind in KINDS},
            "failures": dict(collections.Counter(text for run in runs for text in run.failures)),
        }


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _most(pattern: str, text: str) -> int:
    return max((int(number) for number in re.findall(pattern, text)), default=0)


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        found = None
    return found[1] if found else platform.processor()


def _share(text: str) -> tuple[str, int]:
    name, _, processes = text.partition(":")
    if name not in {*libfuzzer.VIDEO, *libfuzzer.OTHER}:
        raise argparse.ArgumentTypeError(f"no target {name}")
    if not re.fullmatch(r"[1-9][0-9]*", processes or "1"):
        raise argparse.ArgumentTypeError(f"a number of processes after {name}:, not {processes}")
    return name, int(processes or 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--merge-seconds", type=float, default=100)
    parser.add_argument("shares", nargs="+", type=_share, metavar="NAME:COUNT")
    args = parser.parse_args()
    shares = dict(args.shares)
    output = _made(args.output.resolve())
    campaign = Campaign(args.programs.resolve(), args.build.resolve(), output, args.seconds)
    core = itertools.count()
    with concurrent.futures.ThreadPoolExecutor(sum(shares.values())) as pool:
        running = {
            name: [pool.submit(campaign.fuzz, name, i, next(core)) for i in range(processes)]
            for name, processes in shares.items()
        }
        runs = {name: [one.result() for one in those] for name, those in running.items()}
        report = functools.partial(campaign.report, runs)
        report({name: (0, 0) for name in shares})  # a merge may not come to its end
        merging = {name: pool.submit(campaign.merge, name, args.merge_seconds) for name in shares}
        targets = report({name: merge.result() for name, merge in merging.items()})
    print((output / "results.json").read_text())
    shutil.rmtree(args.build / "work", ignore_errors=True)
    return int(any(target["failures"] or not target["executions"] for target in targets.values()))


if __name__ == "__main__":
    sys.exit(main())
