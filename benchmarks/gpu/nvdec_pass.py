"""Measures one pass over 1080p videos on NVDEC: clips in order and iter_video.

    python -m benchmarks.gpu.nvdec_pass [--clips FOLDER] [--rounds 3]

It needs a GPU with NVDEC and the clips of harness/clips.py. On machines without ffmpeg, --clips
names a folder with h264_1080p.mp4 and hevc_1080p.mp4. Figures are frames/s
of all videos together:

    rate        14 calls of decode_video at once, whole clips at 224x224 on the GPU: NVDEC's rate
    clips       VideoDataset over 14 videos, consecutive clips of 16 at 224x224 in host memory
    chunks      14 iterators of iter_video at once, chunks of 16 at 224x224 on the GPU
    iterate     one iter_video, chunks of 64 RGB frames of full size on the GPU
    peer        one session of PyNvVideoCodec, every frame to RGB of full size on the GPU
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.gpu.nvdec_decode import CODECS, FRAMES, RESULTS, clips_folder, gpu
from benchmarks.gpu.nvdec_peers import PEERS, SIDE
from benchmarks.harness import machine

VIDEOS, CLIP, CHUNK = 14, 16, 64
PEER = "PyNvVideoCodec"


def median_rate(call: Callable[[], int], rounds: int) -> float:
    """Returns the median of frames/s over `rounds` calls after a first one."""
    call()
    rates = []
    for _ in range(rounds):
        began = time.perf_counter()
        frames = call()
        rates.append(frames / (time.perf_counter() - began))
    return statistics.median(rates)


class Ours:
    def __init__(self) -> None:
        import tensorflow as tf

        for each in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(each, True)
        import tf_nvcodec as nvc

        self._tf, self._nvc = tf, nvc
        self._last = tf.function(lambda frames: tf.reshape(frames[-1], [-1])[-1])

    def _at_once(self, call: Callable[[], int]) -> int:
        with ThreadPoolExecutor(VIDEOS) as threads:
            return sum(threads.map(lambda _: call(), range(VIDEOS)))

    def rate(self, path: str) -> int:
        contents = self._tf.io.read_file(path)

        def one() -> int:
            with self._tf.device("/GPU:0"):
                frames = self._nvc.decode_video(contents, size=(SIDE, SIDE), backend="nvdec").frames
                self._last(frames).numpy()
            return int(frames.shape[0])

        return self._at_once(one)

    def clips(self, path: str) -> int:
        made = self._nvc.VideoDataset(
            [path] * VIDEOS, CLIP, size=(SIDE, SIDE), backend="nvdec", index_cache=False
        )
        options = self._tf.data.Options()
        options.autotune.enabled = False  # the end of the iterator would wait for it
        return sum(len(element["frames"]) for element in made.with_options(options))

    def chunks(self, path: str) -> int:
        return self._at_once(lambda: self._iterate(path, CLIP, size=(SIDE, SIDE)))

    def iterate(self, path: str) -> int:
        return self._iterate(path, CHUNK)

    def _iterate(self, path: str, count: int, **options: Any) -> int:
        frames = 0
        with self._tf.device("/GPU:0"):
            chunks = self._nvc.iter_video(
                path, count, backend="nvdec", index_cache=False, **options
            )
            for chunk in chunks:
                self._last(chunk.frames).numpy()
                frames += int(chunk.frames.shape[0])
        return frames


def peers_rate(path: str, rounds: int) -> dict[str, Any]:
    """Runs the peer in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.gpu.nvdec_pass", "--peer", path]
    command += ["--rounds", str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        return {"absent": (done.stderr or "no figure")[-300:]}
    return json.loads(lines[-1])


def measure(folder: Path, rounds: int) -> dict[str, Any]:
    ours, found = Ours(), {}
    for codec in CODECS:
        path = str(folder / f"{codec}_1080p.mp4")
        row: dict[str, Any] = {}
        for name in ("rate", "clips", "chunks", "iterate"):
            call = getattr(ours, name)
            row[name] = median_rate(lambda: call(path), rounds)  # noqa: B023
            print(codec, name, f"{row[name]:.0f} frames/s", flush=True)
        row["peer"] = peers_rate(path, rounds)
        print(codec, PEER, row["peer"], flush=True)
        row["clips_of_rate"] = row["clips"] / row["rate"]
        row["chunks_of_rate"] = row["chunks"] / row["rate"]
        found[codec] = row
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.nvdec_pass")
    parser.add_argument("--clips", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        peer = PEERS[PEER]()
        fps = median_rate(lambda: peer.whole(options.peer), options.rounds)
        print(json.dumps({"version": peer.version(), "fps": fps}))
        return
    with clips_folder(options.clips) as folder:
        found = measure(folder, options.rounds)
    result = {
        "machine": {**machine.describe(), "gpu": gpu()},
        "frames_of_a_clip": FRAMES,
        "videos": VIDEOS,
        "clip_length": CLIP,
        "chunk": CHUNK,
        "frames_per_second": found,
    }
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "nvdec_pass.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
