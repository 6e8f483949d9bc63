"""Measures image networks converted to TensorRT, beside native TensorFlow and stock TF-TRT.

It measures latency, the time to convert, and the first request in a fresh process. It needs a GPU
and everything that converters needs.

    python -m benchmarks.converters.tftrt_convert --models ResNet50 --precisions FP32,FP16,INT8

tftrt_jobs.py has the peers and the timed jobs. One process holds the models of all peers and sends
requests to them in turn. A request is timed from a tensor on the GPU to the result on the host:

- `latency_ms` and `latency_p95_ms` are the median and the 95th percentile of requests that are each
  waited for;
- `queued_ms` is a request's share of ten that are sent before the last one is waited for (the
  median);
- `speed_up` is that of `latency_ms`.

`--peers "native,converters,TF-TRT,TF-TRT again"` shows how much two builds of the same model
differ. `--peers "native,converters,engines only"` shows what a model gains that keeps no TensorFlow
ops for other shapes (native_segments=False).

A signature is called by its input's name. If it is called by position, TensorFlow 2.17 first
formats the whole input into the text of an error that nobody sees, which takes 1 to 4 ms.

Engines take minutes. Several GPUs of a host can measure at once, each with its share of the cores,
at most 16. Each GPU measures one case (a network at a precision) at a time. Cases that take longest
come first, but last if a --budget may end the run before them:

    python -m benchmarks.converters.tftrt_convert --gpus 0,1,2 --work models --budget 1200

With --at-once N a GPU first converts N cases at a time, which is mostly work of the CPU, and then
measures requests, one case at a time as always. Such a row has `at_once`: its conversion took
longer than it does alone, and TensorRT measured its kernels beside others. --convert-only leaves
the requests to a later run with --resume and the same --work.

The file of results is written after each step. --budget ends a run in time; --resume continues a
run with the models that it left in --work. A step that fails becomes a row with its error, and the
other steps continue. The exit code is 1 unless everything was measured.

    python -m benchmarks.converters.tftrt_convert --merge part0,part1 --results all

puts the rows of several runs into one file. tftrt_table.py makes Markdown of it.

    python -m benchmarks.converters.tftrt_convert --models guide --precisions FP16 --batches 8 \\
        --peers native,converters --results guide

converts the TF-TRT guide's other networks once each. `tftrt_table.py --overview` makes one table of
them, with the nodes in engines.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.converters.tftrt_jobs import BATCHES, GUIDE, NATIVE, PEERS, USUAL
from benchmarks.converters.tftrt_results import FILE, Results, complete, merge
from benchmarks.harness import clips

RESULTS = clips.RESULTS / "h200"
# Calibrating builds an engine too, and half precision has more kernels to try.
LONGEST_FIRST = ("INT8", "FP16", "FP32")
# The cores of a GPU, whatever the host has, so that runs with one and with several GPUs compare.
MOST_CORES = 16
_BEGAN = time.monotonic()


class Case(NamedTuple):
    """A network at a precision. A GPU measures one case at a time."""

    model: str
    precision: str

    def __str__(self) -> str:
        return f"{self.model} {self.precision}"


class JobError(Exception):
    """A job failed; the message has its last output."""


class OutOfTimeError(Exception):
    """The time budget is spent."""


class Runner:
    """Runs jobs on one GPU and some cores until `deadline`, a time of time.monotonic().

    A GPU of None means all GPUs that this process sees.
    """

    def __init__(
        self,
        gpu: str | None,
        cores: Sequence[int],
        deadline: float | None,
        batches: Sequence[int] = BATCHES,
    ) -> None:
        self._batches = list(batches)
        self.name = "" if gpu is None else f"GPU {gpu}: "
        self._gpu = gpu
        self._cores = ",".join(map(str, cores))
        self._deadline = deadline

    def __call__(self, job: str, **arguments: Any) -> Any:
        left = None if self._deadline is None else self._deadline - time.monotonic()
        if left is not None and left <= 0:
            raise OutOfTimeError
        # Conversions run in child processes, which need GPU memory beside their parent.
        environment = {**os.environ, "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
        if self._gpu is not None:
            environment["CUDA_VISIBLE_DEVICES"] = self._gpu
        given = json.dumps({**arguments, "batches": self._batches})
        python = [sys.executable, "-m", "benchmarks.converters.tftrt_jobs", job, given]
        try:
            done = subprocess.run(
                ["taskset", "-c", self._cores, *python],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=left,
            )
        except subprocess.TimeoutExpired as ended:
            said = (ended.stderr or b"").decode(errors="replace").splitlines()
            say("\n  ".join([f"{self.name}{job} is ended, out of time. It said last:", *said[-5:]]))
            raise OutOfTimeError from None
        if done.returncode:
            raise JobError(f"{job} {arguments}: {done.stderr[-3000:]}")
        return json.loads(done.stdout.splitlines()[-1])


class Measurement:
    """Measures the cases of a run, with any number of runners at once."""

    def __init__(
        self, results: Results, work: Path, peers: Sequence[str], rounds: int, resume: bool
    ) -> None:
        self.left: list[Case] = []  # not measured for lack of time
        self.failed: list[str] = []
        self._results = results
        self._work = work
        self._peers = peers
        self._rounds = rounds
        self._resume = resume
        self._begun: set[tuple[Case, str]] = set()
        self._unconverted: set[tuple[Case, str]] = set()  # failed in this run
        self._exporting: dict[str, threading.Lock] = {}
        self._stopped = threading.Event()

    def run(
        self,
        cases: Sequence[Case],
        runners: Sequence[Runner],
        at_once: int = 1,
        convert_only: bool = False,
    ) -> None:
        """Runs all cases: a free runner takes the next one. It first converts `at_once` at a
        time."""
        for case in cases:
            self._exporting.setdefault(case.model, threading.Lock())
        if at_once > 1 or convert_only:
            beside = {"at_once": at_once} if at_once > 1 else {}
            self._each(cases, [*runners] * at_once, lambda c, r: self._convert(c, r, beside))
        if not convert_only:
            self._each([case for case in cases if case not in self.left], runners, self._measure)

    def _each(
        self,
        cases: Sequence[Case],
        runners: Sequence[Runner],
        do: Callable[[Case, Runner], None],
    ) -> None:
        waiting: queue.SimpleQueue[Case] = queue.SimpleQueue()
        for case in cases:
            waiting.put(case)

        def work(runner: Runner) -> None:
            with contextlib.suppress(queue.Empty):
                while True:
                    self._case(waiting.get_nowait(), runner, do)

        with ThreadPoolExecutor(len(runners)) as pool:
            try:
                for done in as_completed([pool.submit(work, runner) for runner in runners]):
                    done.result()
            except BaseException:  # Ctrl-C ends the jobs too, and nothing new begins
                self._stopped.set()
                raise

    def _case(self, case: Case, runner: Runner, do: Callable[[Case, Runner], None]) -> None:
        if self._stopped.is_set():
            return
        try:
            with self._noting(case, None):
                do(case, runner)
        except OutOfTimeError:
            self.left.append(case)

    def _convert(
        self, case: Case, runner: Runner, said: dict[str, Any] | None = None
    ) -> dict[str, Path]:
        """Returns the models by peer, and makes those that are missing.

        `said` goes into new rows.
        """
        if self._resume and all(complete(self._results.row(*case, peer)) for peer in self._peers):
            return {}
        source = self._export(case.model, runner)
        paths = {}
        for peer in self._peers:
            path = source if peer == NATIVE else self._work / f"{source.name}-{case[1]}-{peer}"
            if (case, peer) in self._unconverted:
                continue
            try:
                with self._noting(case, peer):
                    self._prepare(case, peer, source, path, runner, said or {})
                    paths[peer] = path
            finally:
                if peer not in paths:
                    self._unconverted.add((case, peer))
        return paths

    def _measure(self, case: Case, runner: Runner) -> None:
        paths = {}
        for peer, path in self._convert(case, runner).items():
            with self._noting(case, peer):
                self._cold(case, peer, path, runner)
                paths[peer] = str(path)
        if not paths:
            return
        source = str(self._work / case.model)
        found = runner("latency", source=source, paths=paths, rounds=self._rounds)
        base = found.get(NATIVE, {}).get("latency_ms")
        for peer, figures in found.items():
            if base is not None:
                speed_up = {b: round(base[b] / ms, 2) for b, ms in figures["latency_ms"].items()}
                figures["speed_up"] = speed_up
            self._note(case, peer, figures)
            say(f"{runner.name}{case} {peer}: {figures['latency_ms']} ms")
        if all(complete(self._results.row(*case, peer)) for peer in self._peers):
            for peer in set(paths) - {NATIVE}:  # engines of large networks would fill the disk
                shutil.rmtree(paths[peer], ignore_errors=True)

    def _is_known(self, case: Case, peer: str) -> bool:
        """Whether this run continues an existing row."""
        return self._resume or (case, peer) in self._begun

    def _prepare(
        self,
        case: Case,
        peer: str,
        source: Path,
        path: Path,
        runner: Runner,
        said: dict[str, Any],
    ) -> None:
        """Converts the model, unless that was done before."""
        row = self._results.row(*case, peer) if self._is_known(case, peer) else {}
        if "convert_s" in row and path.exists():
            return
        row = runner(
            "convert", peer=peer, source=str(source), out=str(path), precision=case.precision
        )
        self._note(case, peer, {**row, **said}, afresh=True)
        say(f"{runner.name}{case} {peer}: converted in {row['convert_s']:.1f} s")

    def _cold(self, case: Case, peer: str, path: Path, runner: Runner) -> None:
        """Times the first request, unless that was done before."""
        if "cold_start_s" in self._results.row(*case, peer):
            return
        cold = runner("cold", source=str(self._work / case.model), path=str(path))
        self._note(case, peer, cold)
        say(f"{runner.name}{case} {peer}: first result after {cold['cold_start_s']:.1f} s")

    def _export(self, model: str, runner: Runner) -> Path:
        source = self._work / model
        with self._exporting[model]:
            if not source.exists():
                runner("export", model=model, source=str(source))
        return source

    def _note(self, case: Case, peer: str, figures: dict[str, Any], afresh: bool = False) -> None:
        goes_on = not afresh and self._is_known(case, peer)
        self._begun.add((case, peer))
        older = self._results.row(*case, peer) if goes_on else {}
        older.pop("error", None)
        key = {"model": case.model, "precision": case.precision, "peer": peer}
        self._results.add([{**key, **older, **figures}])

    @contextlib.contextmanager
    def _noting(self, case: Case, peer: str | None) -> Iterator[None]:
        """Notes the error of a job and continues; None for `peer` means all peers."""
        try:
            yield
        except JobError as error:
            if self._stopped.is_set():
                raise OutOfTimeError from error
            say(f"{case} {peer or ''} failed: {error}")
            self.failed.append(f"{case} {peer or ''}".strip())
            for name in self._peers if peer is None else [peer]:
                self._note(case, name, {"error": cause(str(error))})


def cause(said: str) -> str:
    """Returns the line of a traceback that names the exception."""
    lines = said.splitlines()
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    return (named or lines)[-1]


def cases_of(models: Sequence[str], precisions: Sequence[str], all_of_them: bool) -> list[Case]:
    """Returns every model at every precision.

    Cases that take longest come first, so that the runners end together. If there may be no time
    for `all_of_them`, they come last, so that most cases are finished.
    """

    def rank(case: Case) -> int:
        return LONGEST_FIRST.index(case.precision) if case.precision in LONGEST_FIRST else 0

    cases = [Case(m, p) for p in precisions for m in models]
    return sorted(cases, key=rank if all_of_them else lambda case: -rank(case))


def shares(cores: Sequence[int], count: int) -> list[list[int]]:
    """Returns `count` equal parts of the cores; if there are too few, each part has all cores."""
    size = min(len(cores) // count, MOST_CORES)
    return [list(cores[i * size : (i + 1) * size]) or list(cores) for i in range(count)]


def say(text: str) -> None:
    print(f"[{time.monotonic() - _BEGAN:7.1f} s] {text}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    split = {"type": lambda text: text.split(",")}
    parser.add_argument(
        "--models",
        default="ResNet50,MobileNetV2,VGG16,InceptionV3",
        help=f"of keras.applications; guide stands for {','.join(GUIDE)}",
        **split,
    )
    parser.add_argument(
        "--batches",
        type=lambda text: sorted(map(int, text.split(",")), reverse=True),
        default=BATCHES,
        help="of requests; engines are built for them (default: 32,8,1)",
    )
    parser.add_argument("--precisions", default="FP32,FP16,INT8", **split)
    parser.add_argument("--peers", default=",".join(USUAL), **split)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--gpus", default=[None], **split, help="measure at once on these")
    parser.add_argument("--work", type=Path, help="keeps models there (default: not at all)")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="ends the run then")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="convert so many")
    parser.add_argument("--convert-only", action="store_true", help="measure no requests")
    parser.add_argument("--resume", action="store_true", help="leaves what is measured already")
    parser.add_argument(
        "--merge",
        metavar="FOLDERS",
        **split,
        help="measures nothing, but puts the rows of these folders of results into --results",
    )
    options = parser.parse_args()
    models = [name for m in options.models for name in (GUIDE if m == "guide" else [m])]
    if unknown := set(options.peers) - set(PEERS):
        parser.error(f"no peer named {', '.join(unknown)}; there are {', '.join(PEERS)}")
    if options.convert_only and options.work is None:
        parser.error("--convert-only needs --work, where a later run finds the models")
    if options.at_once < 1:
        parser.error(f"--at-once {options.at_once}: at least one case is converted at a time")
    options.results.mkdir(parents=True, exist_ok=True)
    if options.merge:
        merge([Path(folder) / FILE for folder in options.merge], options.results / FILE)
        return 0
    deadline = None if options.budget is None else _BEGAN + options.budget
    cores = shares(sorted(os.sched_getaffinity(0)), len(options.gpus))
    runners = [Runner(gpu, own, deadline, options.batches) for gpu, own in zip(options.gpus, cores)]
    with contextlib.ExitStack() as stack:
        work = options.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        work.mkdir(parents=True, exist_ok=True)
        results = Results(options.results / FILE, runners[0]("machine"))
        run = Measurement(results, work.resolve(), options.peers, options.rounds, options.resume)
        cases = cases_of(models, options.precisions, deadline is None)
        run.run(cases, runners, options.at_once, options.convert_only)
    for text, what in (("not measured, out of time", run.left), ("failed", run.failed)):
        if what:
            say(f"{text}: {', '.join(map(str, what))}")
    return 1 if run.left or run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
