"""Measures decoding 1080p H.264 and HEVC to tensors on the GPU, beside PyNvVideoCodec and DALI.

    python -m benchmarks.gpu.nvdec_decode [--clips FOLDER] [--peers NAMES] [--rounds 3]
        [--limit 390]

Each peer has a process of its own for each codec, one after the other on the same GPU. Peers that
are not installed are left out. A figure is in the results file as soon as it is known. A process
has at most twice its equal share of the remaining time; what it has not measured by then is left
out. Results with figures of other peers, or of another GPU, are not overwritten; use --results. It
needs a GPU with NVDEC and the clips of harness/clips.py. On machines without ffmpeg, --clips
names a folder with h264_1080p.mp4 and hevc_1080p.mp4.

    whole N     N streams at once, every frame to RGB: frames/s of all together
    random      32 random frames to RGB, from opening the file: ms
    first       opening and the first frame in RGB: ms of the first call in a process, of later
                calls, of a file that the peer opens by its name, and of bytes that are in memory
    clips       random clips of 16 frames as float16 at 224x224: clips/s
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gpu.nvdec_peers import PEERS, Peer, draw
from benchmarks.harness import clips, machine

RESULTS = clips.RESULTS / "h200"
CODECS = ("h264", "hevc")
FRAMES, RANDOM, CLIPS = 663, 32, 64
BUDGET_S = 9.0  # for each figure
# The share of frames that may be missing: a peer may leave out an incomplete last sequence.
MOST_LEFT_OUT = 0.02


def seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def measure(peer: Peer, path: str, rounds: int, emit: Callable[..., None]) -> None:
    """Emits medians one by one. A figure that the peer does not offer is left out."""
    fewest = rounds

    @contextlib.contextmanager
    def noting(name: str) -> Iterator[None]:
        try:
            yield
        except NotImplementedError:
            pass
        except Exception as error:  # a peer may fail in any way
            emit("errors", name, f"{type(error).__name__}: {error}"[:300])

    def figure(
        name: str, result: Callable[[float], float], call: Callable[[], Any], times: int
    ) -> None:
        """Returns the median of some calls after the first; it stops once BUDGET_S are spent."""
        nonlocal fewest
        taken: list[float] = []
        with noting(name):
            spent = seconds(call)
            while len(taken) < times and (not taken or spent < BUDGET_S):
                taken.append(seconds(call))
                spent += taken[-1]
            fewest = min(fewest, len(taken))
            emit("rounds", fewest)
            emit(name, result(statistics.median(taken)))

    def in_ms(name: str, call: Callable[[], Any], times: int = rounds) -> None:
        figure(name, lambda taken: 1e3 * taken, call, times)

    def a_second(name: str, call: Callable[[], int], wanted: int) -> None:
        returned = [0]

        def once() -> None:
            returned[0] = call()
            if not (1 - MOST_LEFT_OUT) * wanted <= returned[0] <= wanted:
                raise ValueError(f"gave {returned[0]} of {wanted}")

        figure(name, lambda taken: returned[0] / taken, once, rounds)

    first = functools.partial(peer.frames_at, path, [0])
    with noting("first_cold_ms"):
        emit("first_cold_ms", 1e3 * seconds(first))
    in_ms("first_warm_ms", first, 9)
    in_ms("first_named_ms", lambda: peer.first_by_name(path), 9)
    with noting("first_memory_ms"):
        in_ms("first_memory_ms", peer.in_memory(path), 9)
    in_ms("random_ms", lambda: peer.frames_at(path, draw(RANDOM, FRAMES)))
    for count in peer.stream_counts:
        call = functools.partial(peer.streams, path, count)
        a_second(f"whole_{count}_fps", call, FRAMES * count)
    starts = draw(CLIPS, FRAMES - 16, seed=3)
    a_second("clips_per_s", lambda: peer.clips(path, starts), CLIPS)


def job(name: str, codec: str, folder: str, rounds: int, figures: int) -> None:
    """Measures a peer in this process; `figures` is the file descriptor to the parent."""

    def say(*keys_and_value: Any) -> None:
        """Sends a value to the parent, with its keys in the peer's row."""
        os.write(figures, json.dumps(keys_and_value).encode() + b"\n")

    kind = PEERS[name]
    if kind.cores:
        cores = sorted(os.sched_getaffinity(0))[: kind.cores]
        os.sched_setaffinity(0, cores)
        say("cores", len(cores))
    try:
        peer = kind()
    except ImportError as error:
        say("absent", str(error))
        return
    say("version", peer.version())
    path = str(Path(folder) / f"{codec}_1080p.mp4")
    measure(peer, path, rounds, functools.partial(say, codec))
    for key, value in peer.extra().items():
        say(key, codec, value)


def in_process(
    name: str,
    codec: str,
    folder: str,
    rounds: int,
    limit_s: float,
    row: dict[str, Any],
    keep: Callable[[], None],
) -> None:
    """Runs a job in a process, puts its figures into the peer's row, and calls `keep` after
    each."""
    command = [sys.executable, "-m", "benchmarks.gpu.nvdec_decode", "--job", name, "--codec", codec]
    command += ["--clips", folder, "--rounds", str(rounds)]
    reads, writes = os.pipe()  # a pipe, because libraries print to stdout
    command += ["--figures", str(writes)]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, stdout=said, stderr=said, pass_fds=[writes]) as child,
        os.fdopen(reads) as figures,
    ):
        os.close(writes)
        timer = threading.Timer(limit_s, child.kill)
        timer.start()
        for line in figures:
            *keys, last, value = json.loads(line)
            place = row
            for key in keys:
                place = place.setdefault(key, {})
            place[last] = value
            keep()
        child.wait()
        cut = not timer.is_alive()
        timer.cancel()
        if child.returncode:
            said.seek(0)
            why = f"cut after {limit_s:.0f} s" if cut else f"exit status {child.returncode}"
            last_words = said.read()[-2000:].decode(errors="replace")
            row.setdefault(codec, {})["error"] = f"{why}: {last_words}"
            keep()


def gpu() -> str:
    if shutil.which("nvidia-smi") is None:
        return "unknown"
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]


def link_clips(folder: Path, suffix: str = "") -> None:
    """Makes the clips and links them by the names that --clips expects."""
    for codec in CODECS:
        name = f"{codec}_1080p{suffix}"
        (folder / f"{name}.mp4").symlink_to(clips.path(name))


@contextlib.contextmanager
def clips_folder(given: Path | None, suffix: str = "") -> Iterator[Path]:
    """Gives the folder that --clips names, else a temporary one with links to the clips."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as made:
        link_clips(Path(made), suffix)
        yield Path(made)


def would_be_lost(path: Path, peers: Sequence[str], on: str) -> str | None:
    """Returns why older results must not be overwritten, or None."""
    if not path.exists():
        return None
    older = json.loads(path.read_text())
    others = [name for name in older["peers"] if name not in peers]
    if others:
        return f"figures of {', '.join(others)}"
    its = older["machine"].get("gpu", "unknown")
    return f"figures of {its}" if its.partition(",")[0] != on.partition(",")[0] else None


def table(results: dict[str, dict[str, Any]]) -> str:
    lines = []
    for codec in CODECS:
        rows = {name: r[codec] for name, r in results.items() if codec in r}
        for figure in sorted(
            {key for row in rows.values() for key in row} - {"error", "errors", "rounds"}
        ):
            cells = [f"{name} {row[figure]:.4g}" for name, row in rows.items() if row.get(figure)]
            lines.append(f"{codec} {figure:16} " + ", ".join(cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", type=Path, help="folder of the 1080p clips")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=390, help="seconds for all peers together")
    parser.add_argument("--results", type=Path, default=RESULTS)
    for hidden in ("--job", "--codec", "--figures"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        figures = int(options.figures)
        job(options.job, options.codec, str(options.clips), options.rounds, figures)
        return
    names = options.peers.split(",")
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / "nvdec_decode.json"
    if lost := would_be_lost(path, names, gpu()):
        parser.error(f"{path} has {lost}: choose another --results")
    with clips_folder(options.clips) as folder:
        run(names, str(folder), path, options.rounds, options.limit)


def run(names: Sequence[str], folder: str, path: Path, rounds: int, limit_s: float) -> None:
    rows: dict[str, dict[str, Any]] = {}
    document = {
        "name": "nvdec_decode",
        "note": "One run.",
        "machine": {**machine.describe(), "gpu": gpu()},
        "peers": rows,
    }

    def keep() -> None:
        for row in rows.values():
            done = [row[codec]["rounds"] for codec in CODECS if "rounds" in row.get(codec, {})]
            if done:
                row["rounds"] = min(done)
        unfinished = path.with_suffix(".tmp")
        unfinished.write_text(json.dumps(document, indent=1) + "\n")
        unfinished.replace(path)

    began = time.monotonic()
    jobs = [(name, codec) for name in names for codec in CODECS]
    for done, (name, codec) in enumerate(jobs):
        left = limit_s - (time.monotonic() - began)
        if left <= 0:
            break
        share = min(left, 2 * left / (len(jobs) - done))
        row = rows.setdefault(name, {})
        if "absent" not in row:
            in_process(name, codec, folder, rounds, share, row, keep)
        found = json.dumps(row.get(codec, row))
        print(f"{time.monotonic() - began:.0f} s:", name, codec, found, flush=True)
    print(table(rows))
    print(path)


if __name__ == "__main__":
    main()
