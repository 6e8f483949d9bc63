"""Asks a child process for TensorFlow and the op library, so that a crash there is a finding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

_TIMEOUT_S = 120
_STEPS = ("tensorflow", "library", "nvdec", "nvenc")

# Prints one JSON object for each step, so that the steps before a crash are known.
_QUESTIONS = """
import json, sys
sys.path[:] = [path for path in sys.path if path]  # not what lies in the working folder

def say(name, **found):
    print("@" + json.dumps({name: found}), flush=True)

def attempt(name, ask):
    try:
        say(name, **ask())
        return True
    except BaseException as error:
        say(name, error=f"{type(error).__name__}: {error}")
        return False

def tensorflow():
    import tensorflow
    return {"version": tensorflow.__version__}

def library():
    import tf_nvcodec
    return {"build_info": tf_nvcodec.build_info()}

def engine(name):
    import tf_nvcodec
    available, detail = tf_nvcodec.is_available(name, reason=True)
    return {"available": bool(available), "detail": str(detail)}

if attempt("tensorflow", tensorflow) and attempt("library", library):
    for name in ("nvdec", "nvenc"):
        attempt(name, lambda: engine(name))
"""


def ask_child() -> dict[str, Any]:
    """Returns {"tensorflow": {"version" | "error"}, "library": ..., "nvdec": ..., "nvenc": ...}.

    A step that was not reached is absent. A step that ended the process, or did not end in time,
    has an "error".
    """
    package_parent = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = [os.environ.get("PYTHONPATH", ""), package_parent]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(entry for entry in path if entry),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    said, why = "", ""
    try:
        child = subprocess.run(
            [sys.executable, "-c", _QUESTIONS],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        said = child.stdout
        if child.returncode != 0:
            last = child.stderr.strip().splitlines()[-1:] or ["no output"]
            why = f"ended the process with code {child.returncode}: {last[0]}"
    except subprocess.TimeoutExpired as ended:
        said = (ended.stdout or b"").decode(errors="replace")
        why = f"no answer within {_TIMEOUT_S} s"
    answers: dict[str, Any] = {}
    for line in said.splitlines():
        if line.startswith("@"):
            answers.update(json.loads(line[1:]))
    unanswered = [step for step in _STEPS if step not in answers]
    if why and unanswered:
        answers[unanswered[0]] = {"error": why}
    return answers
