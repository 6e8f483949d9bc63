"""Runs an exported video model in a fresh process and compares its answers."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# How far an output may be from the reference, as a part of its largest value. Another order of
# adding changes the last digits of a float32.
_TOLERANCE = 1e-3
_PACKAGE = Path(__file__).resolve().parents[2]

_LOAD_AND_RUN = """
import pathlib, sys
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
np.savez(answers, **{n: v.astype("S") if v.dtype == object else v for n, v in plain.items()})
"""


def differences_in_a_fresh_process(
    folder: str, contents: Sequence[bytes], reference: Mapping[str, Any]
) -> dict[str, float]:
    """Returns the largest difference of each output of numbers from `reference`.

    Raises:
      RuntimeError: The model does not load or run, or an output differs.
    """
    answers = _answers(folder, contents)
    missing = sorted(set(reference) ^ set(answers))
    if missing:
        raise RuntimeError(f"{folder}: a fresh process has or lacks the outputs {missing}")
    found = {}
    for name, tensor in reference.items():
        want, got = np.asarray(tensor), answers[name]
        if want.dtype == object or want.dtype.kind == "S":
            if want.astype("S").tolist() != got.tolist():
                raise RuntimeError(f"{folder}: in a fresh process, {name!r} is {got}, not {want}")
            continue
        exact = np.float64 if want.dtype.kind == "f" else want.dtype
        apart = np.abs(got.astype(exact) - want.astype(exact)).max(initial=0)
        found[name] = float(apart)
        allowed = _TOLERANCE * float(np.abs(want.astype(exact)).max(initial=0))
        if not (got.shape == want.shape and apart <= (allowed if exact == np.float64 else 0)):
            raise RuntimeError(
                f"{folder}: in a fresh process, {name!r} differs by up to {apart}; decoding and "
                "network one after the other give the other values"
            )
    return found


def _answers(folder: str, contents: Sequence[bytes]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="tf_nvcodec_") as made:
        videos, answers = Path(made, "videos"), Path(made, "answers.npz")
        videos.mkdir()
        for place, video in enumerate(contents):
            (videos / f"{place:06}").write_bytes(video)
        paths = [str(_PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run(
            [sys.executable, "-c", _LOAD_AND_RUN, folder, str(videos), str(answers)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            said = "\n".join(done.stderr.strip().splitlines()[-3:])
            raise RuntimeError(f"{folder} does not run in a fresh process: {said}")
        with np.load(answers) as arrays:
            return dict(arrays)
