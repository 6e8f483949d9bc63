"""1080p H.264 and HEVC to tensors on the GPU, beside PyNvVideoCodec and DALI.

    python -m benchmarks.nvdec_decode [--clips FOLDER] [--peers NAMES] [--rounds 3] [--limit 390]

Each peer works in a process of its own, one after the other on the same GPU; peers that are not
installed are left out. Figures are in the results as soon as they are known; what is not measured
when the limit is reached is left out. Needs a GPU with NVDEC and the clips of benchmarks/clips.py:
--clips names a folder that has h264_1080p.mp4 and hevc_1080p.mp4, for machines without ffmpeg.

    whole N     N streams at once, every frame to RGB: frames/s of all together
    random      32 random frames to RGB, from opening the file: ms
    first       open plus first frame, RGB: ms of the first call in a process, of later ones, of a
                file that the peer opens by its name itself, and of one whose bytes are in memory
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.nvdec_peers import PEERS, Peer, draw

RESULTS = Path(__file__).resolve().parent / "results" / "h200"
CODECS = ("h264", "hevc")
FRAMES, RANDOM, CLIPS = 663, 32, 64
BUDGET_S = 9.0  # of a figure
MARK = "figure: "


def seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def measure(peer: Peer, path: str, rounds: int, emit: Callable[..., None]) -> None:
    """Gives medians as they come; a figure that the peer does not offer is left out."""
    fewest = rounds

    def figure(
        name: str, result: Callable[[float], float], call: Callable[[], Any], times: int
    ) -> None:
        """Of so many calls after the first, but no more once BUDGET_S are spent."""
        nonlocal fewest
        taken: list[float] = []
        try:
            spent = seconds(call)
            while len(taken) < times and (not taken or spent < BUDGET_S):
                taken.append(seconds(call))
                spent += taken[-1]
        except NotImplementedError:
            return
        except Exception as error:  # a peer may fail in any way of its own
            emit("errors", name, f"{type(error).__name__}: {error}"[:300])
            return
        fewest = min(fewest, len(taken))
        emit("rounds", fewest)
        emit(name, result(statistics.median(taken)))

    def in_ms(name: str, call: Callable[[], Any], times: int = rounds) -> None:
        figure(name, lambda taken: 1e3 * taken, call, times)

    def a_second(name: str, call: Callable[[], int]) -> None:
        returned = [0]

        def once() -> None:
            returned[0] = call()

        figure(name, lambda taken: returned[0] / taken, once, rounds)

    first = functools.partial(peer.frames_at, path, [0])
    with contextlib.suppress(NotImplementedError):
        emit("first_cold_ms", 1e3 * seconds(first))
    in_ms("first_warm_ms", first, 9)
    in_ms("first_named_ms", lambda: peer.first_by_name(path), 9)
    with contextlib.suppress(NotImplementedError):
        in_ms("first_memory_ms", peer.in_memory(path), 9)
    in_ms("random_ms", lambda: peer.frames_at(path, draw(RANDOM, FRAMES)))
    for count in peer.stream_counts:
        a_second(f"whole_{count}_fps", functools.partial(peer.streams, path, count))
    starts = draw(CLIPS, FRAMES - 16, seed=3)
    a_second("clips_per_s", lambda: peer.clips(path, starts))


def say(*keys_and_value: Any) -> None:
    """A line for the parent: where in the peer's row, and what."""
    print(MARK + json.dumps(keys_and_value), flush=True)


def job(name: str, folder: str, rounds: int) -> None:
    """A peer's, in a process of its own."""
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
    for codec in CODECS:
        path = str(Path(folder) / f"{codec}_1080p.mp4")
        try:
            measure(peer, path, rounds, functools.partial(say, codec))
        except Exception as error:  # a peer may fail in any way of its own
            say(codec, "error", f"{type(error).__name__}: {error}"[:300])
    for key, value in peer.extra().items():
        say(key, value)


def in_process(
    name: str, folder: str, rounds: int, limit_s: float, keep: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """The peer's row, which `keep` gets after each figure."""
    command = [sys.executable, "-m", "benchmarks.nvdec_decode", "--job", name]
    command += ["--clips", folder, "--rounds", str(rounds)]
    row: dict[str, Any] = {}
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as child,
    ):
        timer = threading.Timer(max(limit_s, 1), child.kill)
        timer.start()
        assert child.stdout is not None
        for line in child.stdout:
            if not line.startswith(MARK):  # libraries print too
                continue
            *keys, last, value = json.loads(line[len(MARK) :])
            place = row
            for key in keys:
                place = place.setdefault(key, {})
            place[last] = value
            keep(row)
        cut = not timer.is_alive()
        timer.cancel()
        if child.wait():
            errors.seek(0)
            why = f"cut after {limit_s:.0f} s" if cut else f"exit status {child.returncode}"
            row["error"] = f"{why}: {errors.read()[-2000:]}"
            keep(row)
    return row


def gpu() -> str:
    if shutil.which("nvidia-smi") is None:
        return "unknown"
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]


def clip_folder() -> Path:
    from benchmarks import clips

    paths = [clips.path(f"{codec}_1080p") for codec in CODECS]
    return paths[0].parent


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
    parser.add_argument("--clips", help="folder of the 1080p clips")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=390, help="seconds for all peers together")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.clips or str(clip_folder())
    if options.job:
        job(options.job, folder, options.rounds)
        return
    began = time.monotonic()
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / "nvdec_decode.json"
    rows: dict[str, dict[str, Any]] = {}
    document = {
        "name": "nvdec_decode",
        "note": "One run.",
        "machine": {**machine.describe(), "gpu": gpu()},
        "peers": rows,
    }

    def keep(name: str, row: dict[str, Any]) -> None:
        done = [row[codec]["rounds"] for codec in CODECS if "rounds" in row.get(codec, {})]
        rows[name] = {**row, "rounds": min(done, default=options.rounds)}
        unfinished = path.with_suffix(".tmp")
        unfinished.write_text(json.dumps(document, indent=1) + "\n")
        unfinished.replace(path)

    for name in options.peers.split(","):
        left = options.limit - (time.monotonic() - began)
        row = in_process(name, folder, options.rounds, left, functools.partial(keep, name))
        keep(name, row)
        print(f"{time.monotonic() - began:.0f} s:", name, json.dumps(row), flush=True)
    print(table(rows))
    print(path)


if __name__ == "__main__":
    main()
