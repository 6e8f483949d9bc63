"""Compares the portable library with the usual one, in turns: the same calls on the same clips.

    python -m benchmarks.cpu.portable --starts 3
    python -m benchmarks.cpu.portable --usual build/2.17.1/libtf_nvcodec.so \
        --portable build/2.17.1-portable-gpl/libtf_nvcodec.so --rounds 9 --cases encode

The target is at most 1.02 of the usual library's time in every case. Each library has a process of
its own, and both must return the same frames. Two processes with the same library can differ by
some percent: `--starts` repeats everything in new ones, and a case's figures are of all its rounds.
The encoders are those that both have; x264 counts only with the GPL flavour. "CPU" is the ratio of
the CPU times of all threads, which depends less on what else the machine does.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import json
import os
import random
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.cpu import decode_clip, decode_random, encode_x264
from benchmarks.harness import clips, machine
from benchmarks.harness.process import Worker

ROUNDS = 7
SLOWEST = 1.02
# A round of a case takes at least about this long, so that a clock's tick does not matter.
_ROUND_S = 1.0
_CLOCKS = ("seconds", "cpu_seconds")


@dataclasses.dataclass(frozen=True)
class Work:
    name: str
    operation: str
    clip: str
    arguments: dict[str, Any]


def _works() -> list[Work]:
    indices = random.Random(decode_random.SEED).sample(
        range(clips.FULL_FRAMES), decode_random.COUNT
    )
    part = {"start": decode_clip.START, "count": decode_clip.COUNT}
    kinds: list[tuple[str, str, dict[str, Any]]] = [
        ("full", "decode_full", {}),
        ("clip", "decode_clip", part),
        ("clip at 224x224", "decode_clip_resized", {**part, "height": 224, "width": 224}),
        ("random", "decode_frames", {"indices": indices}),
    ]
    works = [
        Work(f"{codec} {kind}", operation, f"{codec}_1080p", arguments)
        for kind, operation, arguments in kinds
        for codec in clips.CODECS
    ]
    frames = {"width": encode_x264.WIDTH, "height": encode_x264.HEIGHT, "fps": encode_x264.FPS}
    works += [
        Work(f"encode {codec}", "encode", "raw_720p", {**frames, "codec": codec, "preset": preset})
        for codec, preset in (("ffv1", None), ("vp9", "8"), ("av1", "10"), ("h264", "medium"))
    ]
    return works


def _compare(work: Work, workers: list[Worker], rounds: int) -> dict[str, Any]:
    """Returns the times of both libraries for a case, or why there are none."""
    arguments = {"path": str(clips.path(work.clip)), **work.arguments}
    answers = [worker.call(work.operation, arguments, check_frames=True) for worker in workers]
    for answer in answers:
        if "error" in answer:
            return {"case": work.name, "note": answer["error"].splitlines()[0][:200]}
    if answers[0].get("thumbnails") != answers[1].get("thumbnails"):
        return {"case": work.name, "note": "WRONG FRAMES: they differ", "met": False}
    row: dict[str, Any] = {"case": work.name}
    if "bytes" in answers[0]:
        row["size"] = round(answers[1]["bytes"] / answers[0]["bytes"], 4)
    row |= {"seconds": [[], []], "cpu_seconds": [[], []]}
    repeat = max(1, round(_ROUND_S / answers[0]["seconds"]))
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 else (1, 0):
            answer = workers[which].call(work.operation, arguments, repeat=repeat)
            for clock in _CLOCKS:
                row[clock][which].append(round(answer[clock], 6))
    return row


def _together(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns a case's figures from its rows, one for each start."""
    for row in rows:
        if "note" in row:
            return row
    pooled = {
        clock: [[time for row in rows for time in row[clock][which]] for which in (0, 1)]
        for clock in _CLOCKS
    }
    ratio, cpu = (
        statistics.median(portable) / statistics.median(usual)
        for usual, portable in pooled.values()
    )
    figures = {"ratio": round(ratio, 4), "cpu": round(cpu, 4), "met": ratio <= SLOWEST}
    return {**rows[0], **figures, **pooled}


def _shown(row: dict[str, Any]) -> str:
    if "ratio" not in row:
        return f"  {row['case']:24}{row['note']}"
    usual, portable = (1e3 * statistics.median(each) for each in row["seconds"])
    verdict = "met" if row["met"] else "NOT MET"
    return (
        f"  {row['case']:24}{usual:10.1f}{portable:10.1f} ms{row['ratio']:8.3f}"
        f"{row['cpu']:8.3f} CPU  {verdict}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cpu.portable", description=(__doc__ or "").split("\n")[0]
    )
    build, release = clips.ROOT / "build", importlib.metadata.version("tensorflow")
    library = "libtf_nvcodec.so"
    parser.add_argument("--usual", type=Path, default=build / release / library)
    parser.add_argument("--portable", type=Path, default=build / f"{release}-portable" / library)
    parser.add_argument("--cases", default="", help="only cases whose name contains this")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of a case, each start")
    parser.add_argument("--starts", type=int, default=1, help="of the processes")
    parser.add_argument("--results", type=Path, default=clips.RESULTS)
    options = parser.parse_args()
    libraries = [options.usual.resolve(), options.portable.resolve()]
    for path in libraries:
        if not path.is_file():
            parser.error(f"{path} is missing; `make build` and `make wheel-portable` make them")
    described = machine.describe()
    works = [work for work in _works() if options.cases in work.name]
    found: dict[str, list[dict[str, Any]]] = {work.name: [] for work in works}
    for _ in range(options.starts):
        workers = [Worker(peers.OURS, TF_NVCODEC_LIBRARY=str(path)) for path in libraries]
        for worker in workers:
            if worker.absent:
                parser.error(worker.absent)
        print(f"  {'':24}{'usual':>10}{'portable':>10}   {'ratio':>8}")
        for work in works:
            found[work.name].append(_compare(work, workers, options.rounds))
            print(_shown(_together(found[work.name])), flush=True)
        for worker in workers:
            worker.close()
    rows = [_together(each) for each in found.values()]
    document = {
        "name": "portable",
        "rounds": options.rounds,
        "starts": options.starts,
        "machine": {**described, "load_after": round(os.getloadavg()[0], 2)},
        "ratios": rows,
    }
    options.results.mkdir(parents=True, exist_ok=True)
    target = options.results / "portable.json"
    target.write_text(json.dumps(document, indent=1) + "\n")
    print(f"\nwrote {target}")
    return 0 if rows and all(row.get("met", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
