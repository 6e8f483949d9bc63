"""Measures what running calls together gives a network that decoding does not hold up.

    python -m benchmarks.models.batched_requests MODELS --prepare   # converts the network: minutes
    python -m benchmarks.models.batched_requests MODELS [--clips FOLDER] [--seconds 2] [--rounds 2]

It needs a GPU with NVDEC, TensorRT and the clip h264_small of harness/clips.py; --clips names a
folder with h264_small.mp4. A request is one video of 320x180, of which one frame goes through
ResNet152 (random weights, FP16 engines for up to 16 frames): so many layers one after the other
that a batch of 16 takes little longer than one frame. The model is exported with and without
`batch_requests`. Each runs in a process of its own, and the two take turns.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.gpu.nvdec_decode import RESULTS, clips_folder, gpu
from benchmarks.harness import machine
from benchmarks.models.bytes_to_labels import convert_networks, export_elsewhere
from benchmarks.models.callers import figures, measure

NETWORK, SIDE, LARGEST = "resnet152", 224, 16
CALLERS = (1, 4, 16, 32)
WAYS = {"one by one": "", "together": f"batch_requests={LARGEST}"}


def serve(folder: str, clip: str) -> None:
    """Answers each line "callers requests" with the seconds of all and of each request."""
    import tensorflow as tf
    import tf_nvcodec  # noqa: F401

    model = tf.saved_model.load(folder)  # the engines live as long as this object
    contents = tf.io.read_file(clip)[None]

    def call(_: int) -> None:
        answer = model.signatures["serving_default"](contents=contents)
        assert not answer["status"].numpy()[0]
        answer["scores"].numpy()

    for line in sys.stdin:
        callers, requests = map(int, line.split())
        print(json.dumps(measure(call, callers, requests)), flush=True)


class Served:
    """An exported model in a process of its own."""

    def __init__(self, network: Path, folder: str, clip: Path, options: str) -> None:
        how = f'clips_per_video=1, sampling="center", clip_length=1, {options}'
        export_elsewhere(network, folder, how)
        command = [sys.executable, "-m", "benchmarks.models.batched_requests", folder, "--serve"]
        self._process = subprocess.Popen(
            [*command, str(clip)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def measure(self, callers: int, requests: int) -> tuple[float, list[float]]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{callers} {requests}\n")
        self._process.stdin.flush()
        total, each = json.loads(self._process.stdout.readline())
        return total, each


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models.batched_requests")
    parser.add_argument("models", type=Path, metavar="MODELS")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--clips", type=Path)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a turn, about")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--serve", metavar="CLIP", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(str(options.models), options.serve)
        return
    if options.prepare:
        import tensorflow as tf

        shapes = ["--shape", f"frames:{LARGEST}x{SIDE}x{SIDE}x3"]
        model = tf.keras.applications.ResNet152(weights=None)
        convert_networks(options.models, {NETWORK: (model, [SIDE, SIDE, 3], shapes)})
        return
    found: dict[str, dict[str, Any]] = {}
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(clips_folder(options.clips, "_small"))
        work = stack.enter_context(tempfile.TemporaryDirectory())
        clip, network = folder / "h264_small.mp4", options.models / NETWORK
        served = {
            way: stack.enter_context(Served(network, f"{work}/{index}", clip, how))
            for index, (way, how) in enumerate(WAYS.items())
        }
        for callers in CALLERS:
            rounds: dict[str, list[Any]] = {way: [] for way in served}
            counts = {}
            for way, one in served.items():
                one.measure(callers, 4 * callers)
                took, _ = one.measure(callers, 4 * callers)
                counts[way] = 4 * callers * max(1, round(options.seconds / took))
            for turn in range(options.rounds):
                for way in sorted(served, reverse=bool(turn % 2)):
                    rounds[way].append(served[way].measure(callers, counts[way]))
            row: dict[str, Any] = {way: figures(some) for way, some in rounds.items()}
            alone, together = (row[way]["requests_per_s"] for way in WAYS)
            found[str(callers)] = {**row, "gain": together / alone}
            print(callers, json.dumps(found[str(callers)]), flush=True)
    result = {"machine": {**machine.describe(), "gpu": gpu()}, "network": NETWORK}
    result |= {"largest_batch": LARGEST, "callers": found}
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "batched_requests.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
