"""Measures tf.data service over loopback: frames sent, or compressed clips that the client decodes.

    python -m benchmarks.cpu.dataset_service [--rounds 3]

A dispatcher and a worker are a process of their own; the client reads random clips of 16 frames at
224x224 in batches of 8. The columns are bytes on the loopback device for each clip, and clips a
second. The machine is worker and trainer at once here, so both decode on the same cores.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.harness import clips, machine

VIDEOS = {
    "1080p, 8 Mb/s, a key frame in 50": "h264_1080p",
    "340x256, 500 kb/s, a key frame in 50": "h264_small_gop50",
    "340x256, 500 kb/s, a key frame in 250": "h264_small_gop250",
}
CLIPS, LENGTH, BATCH, SIZE = 32, 16, 8, (224, 224)


def serve(address: Connection) -> None:
    import tensorflow as tf
    import tf_nvcodec  # noqa: F401

    service = tf.data.experimental.service
    dispatcher = service.DispatchServer(service.DispatcherConfig(port=0))
    where = dispatcher.target.split("://")[1]
    worker = service.WorkerServer(service.WorkerConfig(where, heartbeat_interval_ms=50))
    address.send(dispatcher.target)
    worker.join()


def loopback_bytes() -> int:
    """Returns the bytes that the loopback device has received."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return int(next(line for line in lines if line.strip().startswith("lo:")).split()[1])


def measure(target: str, path: str, decode_here: bool) -> tuple[float, float]:
    """Returns bytes for a clip and clips/s."""
    import tensorflow as tf
    import tf_nvcodec as nvc

    options: dict[str, Any] = {"decode": False} if decode_here else {"size": SIZE}
    made = nvc.VideoDataset([path] * CLIPS, LENGTH, sampling="random", shuffle=True, **options)
    # Threads and names of files are the same for both.
    name = "packets" if decode_here else "frames"
    policy = tf.data.experimental.service.ShardingPolicy.DYNAMIC
    batches = made.map(lambda clip: clip[name]).batch(BATCH)
    batches = batches.apply(tf.data.experimental.service.distribute(policy, target))
    if decode_here:
        batches = batches.map(lambda packets: nvc.decode_packets(packets, SIZE).frames)
    bytes_before, began, count, took = loopback_bytes(), time.perf_counter(), 0, 0.0
    for frames in batches.prefetch(2):
        count += int(frames.shape[0])
        took = time.perf_counter() - began  # the end of the service's epoch takes its own time
    assert count == CLIPS
    return (loopback_bytes() - bytes_before) / count, count / took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there,), daemon=True)
    server.start()
    target = here.recv()
    results: dict[str, Any] = {"machine": machine.describe(), "clips": {}}
    for title, name in VIDEOS.items():
        path = str(clips.path(name))
        rows: dict[str, list[tuple[float, float]]] = {"frames": [], "packets": []}
        for round_ in range(options.rounds + 1):
            for row, taken in rows.items():
                figures = measure(target, path, row == "packets")
                if round_ > 0:  # the first one fills caches
                    taken.append(figures)
        results["clips"][title] = {
            row: {
                "bytes_per_clip": statistics.median(sent for sent, _ in taken),
                "clips_per_s": statistics.median(rate for _, rate in taken),
            }
            for row, taken in rows.items()
        }
        print(title, json.dumps(results["clips"][title]), flush=True)
    server.kill()
    (clips.RESULTS / "dataset_service.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
