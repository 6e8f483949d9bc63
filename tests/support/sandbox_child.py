"""Answers decode requests on stdin, one JSON object in each line. sandbox.py starts this script and
names the device.

A request has "data" (base64) and "calls": a list of ["probe" | "decode" | "frames_at", options].
For each call, the answer has the error's name and message, or the result, and the seconds that the
call took (the lesser of wall and CPU time). It also has the megabytes by which the process grew at
its peak. A line before the first request says that the child is ready.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

import tf_nvcodec as nvc

_DEVICE = sys.argv[1]
_STATUS = Path("/proc/self/status")


def _megabytes(field: str) -> float:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def _reset_peak() -> float:
    """Resets the peak of resident memory (VmHWM). Returns the megabytes that are resident now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _megabytes("VmRSS")


def _clocks() -> tuple[float, float]:
    """Returns wall time and CPU time. Wall time grows while other processes run, and CPU time grows
    with the number of threads. So the lesser of both is a fair measure."""
    return time.monotonic(), time.process_time()


def _call(name: str, data: tf.Tensor, options: dict[str, Any]) -> dict[str, Any]:
    if name == "probe":
        return {"frames": int(nvc.probe(data, **options).num_frames)}
    decode = nvc.decode_video if name == "decode" else nvc.decode_frames_at
    frames, pts, valid = decode(data, return_valid=True, **options)
    return {
        "frames": len(frames),
        "pts": pts.numpy().tolist(),
        "valid": valid.numpy().tolist(),
        "md5": [hashlib.md5(frame.tobytes()).hexdigest() for frame in frames.numpy()],
    }


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    data = tf.constant(base64.b64decode(request["data"]))
    resident = _reset_peak()
    outcomes = []
    for name, options in request["calls"]:
        begin = _clocks()
        outcome: dict[str, Any] = {"call": name, "error": None, "message": ""}
        try:
            with tf.device(_DEVICE):
                outcome.update(_call(name, data, options))
        except Exception as error:
            outcome.update(error=type(error).__name__, message=str(error))
        outcome["seconds"] = min(now - then for then, now in zip(begin, _clocks()))
        outcomes.append(outcome)
    return {"outcomes": outcomes, "grown_mb": _megabytes("VmHWM") - resident}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What libraries print must not get into the answers.
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), file=answers, flush=True)


main()
