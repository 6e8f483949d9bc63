"""Measures what Triton adds to a model that takes video, beside the same model in this process.

    python -m benchmarks.models.serving [--clip FILE] [--network resnet50] [--requests 64]
        [--rounds 3]
    python -m benchmarks.models.serving --engines FOLDER --network resnet50_engines

It needs the packages of requirements/serving.txt. The model decodes 16 frames spread over 6 s of
1080p H.264, the clip of harness/clips.py or --clip, and runs a network of keras.applications
with random weights on them; with --network mean, it takes their mean colour, so the requests
themselves weigh more. --engines names a network that `trt-convert` has converted, such as
bytes_to_labels.py prepares. `tf-nvcodec deploy triton` and `serve` put the model on a
server. Clients ask by gRPC from threads of this process, each with one video a request, as the
threads do that call the model without a server. The two take turns, round by round. Figures are
requests/s and milliseconds.

What a request costs beyond the model depends on its size. So one client also sends bytes of several
sizes that are no video, which the model answers at once.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import clips, machine
from benchmarks.models.bytes_to_labels import export_elsewhere
from benchmarks.models.callers import figures, measure

CLIENTS = (1, 8, 32)
FRAMES, SIDE = 16, 224
NO_VIDEO_MEGABYTES = (0, 1, 8)
TARGET, TARGET_CLIENTS = 0.9, 32
PORTS = {"http": 18000, "grpc": 18001, "metrics": 18002}


def export(folder: str, network: str, engines: Path | None) -> None:
    if engines is not None:
        export_elsewhere(engines, folder)
        return
    import tensorflow as tf
    import tf_nvcodec as nvc

    if network == "mean":
        takes = tf.TensorSpec([None, SIDE, SIDE, 3])
        nvc.export_video_model(lambda frames: tf.reduce_mean(frames, [1, 2]), folder, takes=takes)
        return
    made = {
        "resnet50": tf.keras.applications.ResNet50,
        "mobilenet": tf.keras.applications.MobileNetV2,
    }[network](weights=None)
    nvc.export_video_model(made, folder)


@contextlib.contextmanager
def served(repository: str) -> Iterator[None]:
    ports = [f"--{name}-port={port}" for name, port in PORTS.items()]
    command = [sys.executable, "-m", "tf_nvcodec.cli", "serve", repository, *ports]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            while not _ready():
                if server.poll() is not None:
                    log.seek(0)
                    sys.exit(log.read().decode(errors="replace")[-5000:])
                time.sleep(0.2)
            yield
        finally:
            server.terminate()
            server.wait()


def _ready() -> bool:
    url = f"http://127.0.0.1:{PORTS['http']}/v2/health/ready"
    try:
        with urllib.request.urlopen(url):
            return True
    except urllib.error.URLError:
        return False


def by_client(contents: bytes, is_video: bool = True) -> Callable[[int], None]:
    """Returns a call of the server; each client has a connection of its own."""
    import tritonclient.grpc as triton

    url = f"127.0.0.1:{PORTS['grpc']}"
    connections = [triton.InferenceServerClient(url) for _ in range(max(CLIENTS))]

    def call(client: int) -> None:
        tensor = triton.InferInput("contents", [1, 1], "BYTES")
        tensor.set_data_from_numpy(np.array([[contents]], object))
        answer = connections[client].infer("measured", [tensor])
        assert bool(answer.as_numpy("status")[0, 0]) != is_video

    return call


def in_process(model: Any, contents: bytes, is_video: bool = True) -> Callable[[int], None]:
    import tensorflow as tf

    def call(client: int) -> None:
        answer = model.signatures["serving_default"](contents=tf.constant([contents]))
        assert bool(answer["status"].numpy()[0]) != is_video

    return call


def added_by_size(model: Any, rounds: int) -> dict[str, float]:
    """The median milliseconds that a request takes longer than the model, by its megabytes."""
    added = {}
    for megabytes in NO_VIDEO_MEGABYTES:
        contents = bytes(megabytes * 1_000_000 or 1)
        ways = {
            "triton": by_client(contents, False),
            "in process": in_process(model, contents, False),
        }
        times = {name: [measure(call, 1, 20) for _ in range(rounds)] for name, call in ways.items()}
        p50 = {name: figures(some)["p50_ms"] for name, some in times.items()}
        added[str(megabytes)] = p50["triton"] - p50["in process"]
    return added


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models.serving")
    parser.add_argument("--clip", type=Path)
    parser.add_argument("--network", default="resnet50", help="resnet50, mobilenet or mean")
    parser.add_argument("--engines", type=Path, help="this network instead")
    parser.add_argument("--max-batch", type=int, help="of `tf-nvcodec deploy`")
    parser.add_argument("--batches", type=int, help="likewise")
    parser.add_argument("--requests", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=clips.RESULTS)
    options = parser.parse_args()
    contents = (options.clip or clips.path("h264_1080p_6s")).read_bytes()

    import tensorflow as tf
    from tf_nvcodec.deploy.triton_repository import write_repository

    with tempfile.TemporaryDirectory() as made:
        model, repository = f"{made}/model", f"{made}/models"
        export(model, options.network, options.engines)
        sizes = {"max_batch": options.max_batch, "batches": options.batches}
        write_repository(model, repository, "measured", **sizes)
        with served(repository):
            loaded = tf.saved_model.load(model)  # the engines live as long as this object
            ways = {"triton": by_client(contents), "in process": in_process(loaded, contents)}
            for call in ways.values():
                measure(call, max(CLIENTS), max(CLIENTS))
            found: dict[str, dict[str, dict[str, float]]] = {}
            for clients in CLIENTS:
                rounds: dict[str, list[Any]] = {name: [] for name in ways}
                for turn in range(options.rounds):
                    for name in sorted(ways, reverse=bool(turn % 2)):
                        rounds[name].append(measure(ways[name], clients, options.requests))
                found[str(clients)] = {name: figures(some) for name, some in rounds.items()}
                print(clients, json.dumps(found[str(clients)]), flush=True)
            added = added_by_size(loaded, options.rounds)
    ratios = {
        clients: row["triton"]["requests_per_s"] / row["in process"]["requests_per_s"]
        for clients, row in found.items()
    }
    one = found["1"]
    result = {
        "machine": machine.describe(),
        "clip": (options.clip or clips.path("h264_1080p_6s")).stem,
        "network": options.network,
        **sizes,
        "frames": FRAMES,
        "clients": found,
        "ratios": ratios,
        "ms_added_to_one_request": one["triton"]["p50_ms"] - one["in process"]["p50_ms"],
        "ms_added_by_megabytes_of_no_video": added,
        "targets": [
            {
                "target": f"{TARGET_CLIENTS} clients: {TARGET} of the model in process",
                "ratio": ratios[str(TARGET_CLIENTS)],
                "met": ratios[str(TARGET_CLIENTS)] >= TARGET,
            }
        ],
    }
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / f"serving_{options.network}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
