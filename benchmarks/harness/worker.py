"""The process that runs one peer: requests as JSON lines on stdin, answers on stdout.

    python -m benchmarks.harness.worker NAME

Each peer has a process of its own, so that its threads, allocator and FFmpeg do not disturb another
peer, and so that it can have its own virtual environment.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from benchmarks import peers
from benchmarks.harness import check


def _status_kb(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {field}")


def _reset_peak() -> None:
    """Makes VmHWM start again from the memory in use now (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")


def _cpu_seconds() -> float:
    """Returns the CPU seconds of this process and of the children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _read_through(arrays: Iterator[Any], request: dict[str, Any]) -> tuple[int, list]:
    """Reads the arrays that an operation yields: returns their frames, and points for the check."""
    import numpy as np

    frames, points, previous = 0, [], None
    for array in arrays:
        seen = check.points(array)
        if array.ndim == 4:  # a frame that nobody keeps may lie where the one before was
            if previous is not None and np.may_share_memory(array, previous):
                raise RuntimeError("an array lies in the memory of the one before")
            previous = array
        frames += len(seen)
        if request["check"]:
            points.append(seen)
        if 0 < request["most"] <= frames:
            break
    return frames, points


def _run(peer: peers.Peer, request: dict[str, Any]) -> dict[str, Any]:
    operation, arguments = request["operation"], request["arguments"]
    method = getattr(peer, operation)
    gc.collect()
    before_kb = _status_kb("VmRSS")
    _reset_peak()
    peer.prepare(operation, arguments)
    repeat, points = request["repeat"], []
    cpu, start = _cpu_seconds(), time.perf_counter()
    for _ in range(repeat):
        result = method(**arguments)
        if isinstance(result, Iterator):
            result, points = _read_through(result, request)
    answer: dict[str, Any] = {"seconds": (time.perf_counter() - start) / repeat}
    answer["cpu_seconds"] = (_cpu_seconds() - cpu) / repeat
    answer.update(before_kb=before_kb, peak_kb=_status_kb("VmHWM"))
    if points:
        answer["points"] = check.encode(*points)
    if isinstance(result, bytes):
        answer["bytes"] = len(result)
        if request.get("save"):
            Path(request["save"]).write_bytes(result)
    elif isinstance(result, int):
        answer["frames"] = result
    else:
        answer["shape"] = [int(size) for size in result.shape]
        if request.get("check"):
            answer["thumbnails"] = check.encode(check.thumbnails(result))
    return answer


def _serve(name: str, replies: TextIO) -> None:
    def reply(answer: dict[str, Any]) -> None:
        replies.write(json.dumps(answer) + "\n")
        replies.flush()

    peer = peers.every()[name]()
    try:
        peer.load()
        reply({"version": peer.version()})
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        reply({"absent": f"{type(error).__name__}: {error}"})
        return
    for line in sys.stdin:
        try:
            reply(_run(peer, json.loads(line)))
        except NotImplementedError as error:
            reply({"not_offered": str(error) or "no such operation"})
        except Exception as error:  # a peer may fail in any way
            reply({"error": f"{type(error).__name__}: {error}"[:300]})


if __name__ == "__main__":
    # Libraries print to stdout, so the protocol keeps the real one for itself.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _serve(sys.argv[1], channel)
