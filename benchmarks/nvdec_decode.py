"""1080p H.264 and HEVC to tensors on the GPU, beside PyNvVideoCodec and DALI.

    python -m benchmarks.nvdec_decode [--clips FOLDER] [--peers NAMES] [--rounds 3]

Each peer works in a process of its own, one after the other on the same GPU; peers that are not
installed are left out. Needs a GPU with NVDEC and the clips of benchmarks/clips.py: --clips names a
folder that has h264_1080p.mp4 and hevc_1080p.mp4, for machines without ffmpeg.

    whole N     N streams at once, every frame to RGB: frames/s of all together
    random      32 random frames to RGB, from opening the file: ms
    first       open plus first frame: ms of the first call in a process, of later ones, and of a
                file whose bytes are in memory
    clips       random clips of 16 frames as float16 at 224x224: clips/s
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.nvdec_peers import PEERS, Peer, draw

RESULTS = Path(__file__).resolve().parent / "results" / "h200"
CODECS = ("h264", "hevc")
STREAMS = (1, 7, 14)
FRAMES, RANDOM, CLIPS = 663, 32, 64
TIMEOUT_S = 400


def seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def measure(peer: Peer, path: str, rounds: int) -> dict[str, Any]:
    """Medians; None where the peer does not offer it."""

    def median(call: Callable[[], Any], times: int = rounds) -> float | None:
        try:
            call()
            return statistics.median(seconds(call) for _ in range(times))
        except NotImplementedError:
            return None

    def counted(call: Callable[[], int]) -> tuple[int, float | None]:
        """What the call returns, and how long it takes."""
        returned = [0]

        def once() -> None:
            returned[0] = call()

        taken = median(once)
        return returned[0], taken

    found: dict[str, Any] = {}
    try:
        found["first_cold_ms"] = 1e3 * seconds(lambda: peer.frames_at(path, [0]))
    except NotImplementedError:
        found["first_cold_ms"] = None
    warm = median(lambda: peer.frames_at(path, [0]), 9)
    found["first_warm_ms"] = warm and 1e3 * warm
    try:
        taken = median(peer.in_memory(path), 9)
    except NotImplementedError:
        taken = None
    found["first_memory_ms"] = taken and 1e3 * taken
    taken = median(lambda: peer.frames_at(path, draw(RANDOM, FRAMES)))
    found["random_ms"] = taken and 1e3 * taken
    for count in STREAMS:
        decoded, taken = counted(lambda count=count: peer.streams(path, count))  # type: ignore
        found[f"whole_{count}_frames"] = decoded
        found[f"whole_{count}_fps"] = taken and decoded / taken
    starts = draw(CLIPS, FRAMES - 16, seed=3)
    clips, taken = counted(lambda: peer.clips(path, starts))
    found["clips_per_s"] = taken and clips / taken
    return found


def job(name: str, folder: str, rounds: int) -> dict[str, Any]:
    try:
        peer = PEERS[name]()
    except ImportError as error:
        return {"absent": str(error)}
    result: dict[str, Any] = {"version": peer.version()}
    for codec in CODECS:
        path = str(Path(folder) / f"{codec}_1080p.mp4")
        try:
            result[codec] = measure(peer, path, rounds)
        except Exception as error:  # a peer may fail in any way of its own
            result[codec] = {"error": f"{type(error).__name__}: {error}"[:300]}
    return {**result, **peer.extra()}


def in_process(name: str, folder: str, rounds: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.nvdec_decode", "--job", name]
    command += ["--clips", folder, "--rounds", str(rounds)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {TIMEOUT_S} s"}
    if done.returncode:
        return {"error": f"exit status {done.returncode}: {done.stderr[-2000:]}"}
    return json.loads(done.stdout.splitlines()[-1])


def gpu() -> str:
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
        for figure in sorted({key for row in rows.values() for key in row if key != "error"}):
            cells = [f"{name} {row[figure]:.4g}" for name, row in rows.items() if row.get(figure)]
            lines.append(f"{codec} {figure:16} " + ", ".join(cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", help="folder of the 1080p clips")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.clips or str(clip_folder())
    if options.job:
        print(json.dumps(job(options.job, folder, options.rounds)))
        return
    results = {}
    for name in options.peers.split(","):
        results[name] = in_process(name, folder, options.rounds)
        print(name, json.dumps(results[name]), flush=True)
    options.results.mkdir(parents=True, exist_ok=True)
    document = {
        "name": "nvdec_decode",
        "note": "One run.",
        "machine": {**machine.describe(), "gpu": gpu()},
        "peers": {name: {**row, "rounds": options.rounds} for name, row in results.items()},
    }
    path = options.results / "nvdec_decode.json"
    path.write_text(json.dumps(document, indent=1) + "\n")
    print(table(results))
    print(path)


if __name__ == "__main__":
    main()
