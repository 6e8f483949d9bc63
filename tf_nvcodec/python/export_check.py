"""Runs an exported video model in a fresh process and compares its answers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

# How far an output may be from the reference, as a part of its largest value. Another order of
# adding changes the last digits of a float32.
_TOLERANCE = 1e-3
# What TensorFlow's engines log, each with the name of an engine.
_LOG_ENGINES = ("trt_engine_op=1", "trt_engine_resource_ops=1")
_BUILT = re.compile(r"Building a new TensorRT engine for (\S+)")
_NATIVE = re.compile(r"Executing native segment: (\S+)")
# A line of TensorFlow's log, such as "2026-11-26 10:00:00.123456: I tensorflow/...".
_LOG_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: )?[IWEF]\d{0,4} ?.*\.cc:\d+\]")
_PACKAGE = Path(__file__).resolve().parents[2]

_LOAD_AND_RUN = """
import pathlib, sys
sys.path[:] = [path for path in sys.path if path]  # not what lies in the working folder
import numpy as np
import tensorflow as tf
import tf_nvcodec
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
folder, videos, answers = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
model = tf.saved_model.load(folder)
contents = [path.read_bytes() for path in sorted(videos.iterdir())]
outputs = model.signatures["serving_default"](contents=tf.constant(contents))
plain = {name: output.numpy() for name, output in outputs.items()}
kinds = {"O": "S", "V": np.float32}
np.savez(answers, **{n: v.astype(kinds.get(v.dtype.kind, v.dtype)) for n, v in plain.items()})
"""


def differences_in_a_fresh_process(
    folder: str, contents: Sequence[bytes], reference: Mapping[str, Any]
) -> dict[str, float]:
    """Returns the largest difference of each output of numbers from `reference`.

    Raises:
      RuntimeError: The model does not load or run, an output differs, or a TensorRT engine of the
        network did not do its work.
    """
    answers = _answers(folder, contents)
    missing = sorted(set(reference) ^ set(answers))
    if missing:
        raise RuntimeError(f"a fresh process has or lacks the outputs {missing}")
    found = {}
    for name, tensor in reference.items():
        want, got = _plain(np.asarray(tensor)), answers[name]
        if want.shape != got.shape or want.dtype.kind not in "fiu":
            same_answer = want.shape == got.shape and (
                np.array_equal(want, got)
                or (name == "labels" and _are_ties(want, got, reference.get("scores")))
            )
            if not same_answer:
                raise RuntimeError(f"in a fresh process, output {name!r} is {got}, not {want}")
            continue
        exact = want.dtype.kind != "f"
        want, got = want.astype(np.float64), got.astype(np.float64)
        with np.errstate(invalid="ignore"):  # of infinity - infinity
            same = (want == got) | (np.isnan(want) & np.isnan(got))
            apart = float(np.abs(np.where(same, 0, got - want)).max(initial=0))
        largest = float(np.abs(want[np.isfinite(want)]).max(initial=0))
        allowed = 0.0 if exact else _TOLERANCE * largest
        found[name] = apart
        if not apart <= allowed:
            raise RuntimeError(
                f"in a fresh process, output {name!r} differs by up to {apart} from decoding and "
                "network one after the other"
            )
    return found


def _are_ties(want: np.ndarray, got: np.ndarray, scores: Any) -> bool:
    """Whether the labels only change places, and only where their scores are so close that either
    order is right."""
    if scores is None or np.shape(scores) != want.shape or want.ndim == 0:
        return False
    known = np.asarray(scores, np.float64).reshape(-1, want.shape[-1])
    close = 2 * _TOLERANCE * np.abs(known[np.isfinite(known)]).max(initial=0)
    rows = zip(want.reshape(known.shape), got.reshape(known.shape), known)
    for expected, found, values in rows:
        if sorted(found) != sorted(expected):
            return False
        of_label = dict(zip(expected, values))
        for place in np.flatnonzero(expected != found):
            if not abs(of_label[found[place]] - values[place]) <= close:
                return False
    return True


def _require_engines(log: str) -> None:
    """Raises if an engine was built or left its work to TensorFlow, which takes seconds or gives up
    the speed, and changes no output."""
    for pattern, what in (
        (_BUILT, "TensorRT builds {} again instead of loading it"),
        (_NATIVE, "TensorFlow runs instead of {}"),
    ):
        names = sorted({name.split("/")[-1] for name in pattern.findall(log)})
        if names:
            raise RuntimeError(
                f"in a fresh process, {what.format(', '.join(names))}: the network has no engine "
                "for this number of frames or clips at a time. Convert it for the batches that it "
                "gets (clips_per_video of each video for clips; for images, times clip_length)"
            )


def _plain(values: np.ndarray) -> np.ndarray:
    """Returns the values as the child writes them: NumPy's files know no bfloat16."""
    if values.dtype.kind in "OS":
        return values.astype("S")
    return values.astype(np.float32) if values.dtype.kind == "V" else values


def _answers(folder: str, contents: Sequence[bytes]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="tf_nvcodec_") as made:
        videos, answers = Path(made, "videos"), Path(made, "answers.npz")
        videos.mkdir()
        for place, video in enumerate(contents):
            (videos / f"{place:06}").write_bytes(video)
        paths = [str(_PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run(
            [sys.executable, "-c", _LOAD_AND_RUN, folder, str(videos), str(answers)],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(paths),
                "TF_CPP_MIN_LOG_LEVEL": "0",
                "TF_CPP_VMODULE": ",".join(
                    filter(None, [os.environ.get("TF_CPP_VMODULE"), *_LOG_ENGINES])
                ),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if not _LOG_LINE.match(line)]
            said = "\n".join("\n".join(lines).strip().splitlines()[-3:])
            cure = ""
            if tf.config.list_physical_devices("GPU"):
                cure = (
                    ". Two processes share the GPU here: if it has no memory left, start with "
                    "TF_FORCE_GPU_ALLOW_GROWTH=true"
                )
            raise RuntimeError(f"the model does not run in a fresh process: {said}{cure}")
        _require_engines(done.stderr)
        with np.load(answers) as arrays:
            return dict(arrays)
