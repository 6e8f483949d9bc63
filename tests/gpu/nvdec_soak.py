"""Sends damaged videos to NVDEC from many threads, and compares each answer with the CPU's.

    python tests/gpu/nvdec_soak.py [--inputs 100000] [--threads 32] [--seed 1] [--results FILE]

An input is a clip of the GPU tests with flipped bits, lost, repeated, zeroed or foreign bytes, or
several of them. The report counts

- `decoded` and `refused`: NVDEC's path gave frames, or an error;
- `wrong`: it gave frames, and so did the CPU, but others; or it gave frames where the CPU found
  damage. These are the frames that are called good and are not;
- `unsteady`: the CPU gave different frames in two more decodes, so that there is nothing to compare
  with. FFmpeg makes up pictures that are missing;
- `slow`: inputs that took longer than SLOW seconds;
- `good`: undamaged clips in between, each of which must be exact.

Memory is what malloc has given out. TensorFlow's allocator of oneDNN takes blocks that double and
keeps them, so oneDNN is off. TensorFlow 2.17 also keeps about 720 bytes for each error of any op.

The exit code is 1 if a frame was wrong, an input was slow, a session stayed in use, or the memory
of the process or of the GPU grew.
"""

from __future__ import annotations

import argparse
import collections
import gc
import json
import os
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from cuda_arrays import free_memory  # noqa: E402
from gpu_checks import on_cpu, on_gpu, taken  # noqa: E402
from gpu_clips import SOUND, data  # noqa: E402
from resident import allocated_bytes, resident_bytes  # noqa: E402

import tf_nvcodec as nvc  # noqa: E402

SLOW = 5.0
LARGEST_CLIP = 300_000
# After so many inputs, undamaged clips are decoded and the memory is measured.
BATCH = 2000
MOST_HOST, MOST_DEVICE = 32 << 20, 64 << 20
# What TensorFlow keeps of an input that NVDEC and the CPU refuse, rounded up.
KEPT = 2048
KINDS = ("decoded", "refused", "wrong", "unsteady", "slow", "good")
# Damage may ask for much larger pictures, which both sides must refuse.
OPTIONS = {"pixel_format": "native", "max_pixels": 1 << 20, "max_frames": 400}


def damaged(whole: bytes, other: bytes, draw: random.Random) -> bytes:
    """Returns a copy of `whole` with one to three kinds of damage."""
    copy = bytearray(whole)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        kind = draw.randrange(6)
        at = draw.randrange(len(copy))
        length = min(1 << draw.randrange(12), len(copy) - at)
        if kind == 0:
            for _ in range(1 << draw.randrange(7)):
                bit = draw.randrange(8 * len(copy))
                copy[bit // 8] ^= 1 << bit % 8
        elif kind == 1:
            copy[at : at + length] = bytes(length)
        elif kind == 2:
            del copy[at : at + length]
        elif kind == 3:
            copy[at:at] = copy[at : at + length]
        elif kind == 4:
            source = draw.randrange(len(other))
            copy[at : at + length] = other[source : source + length]
        else:
            del copy[max(at, 1) :]
        if not copy:
            return bytes(1)
    return bytes(copy)


class Soak:
    """The counts, which all threads add to."""

    def __init__(self, names: list[str], seed: int, examples: Path | None) -> None:
        self.names, self.seed, self.examples = names, seed, examples
        self.counts: collections.Counter[str] = collections.Counter()
        self.errors: collections.Counter[str] = collections.Counter()
        # The wrong answers by the clip's codec, and by what the CPU gives.
        self.wrong: collections.Counter[str] = collections.Counter()
        self.slowest = 0.0
        self._lock = threading.Lock()

    def run(self, number: int) -> None:
        draw = random.Random(self.seed << 32 | number)
        name, other = draw.choice(self.names), draw.choice(self.names)
        contents = damaged(data(name), data(other), draw)
        begin = time.monotonic()
        got = _answer(on_gpu, contents)
        seconds = time.monotonic() - begin
        want = _answer(on_cpu, contents)
        with self._lock:
            self.slowest = max(self.slowest, seconds)
            self.counts["slow"] += seconds > SLOW
            if isinstance(got, str):
                self.counts["refused"] += 1
                self.errors[got] += 1
                return
            self.counts["decoded"] += 1
        if np.array_equal(got, want):
            return
        # One thread and several make up missing pictures in different ways.
        others = [_answer(on_cpu, contents, num_threads=threads) for threads in (1, 3)]
        kind = "wrong" if all(np.array_equal(want, other) for other in others) else "unsteady"
        codec = name.split("_")[0].split(".")[0]
        with self._lock:
            self.counts[kind] += 1
            if kind == "wrong":
                self.wrong[f"{codec}, {_difference(got, want)}"] += 1
            said = want if isinstance(want, str) else f"{want.shape}, not {got.shape}"
            print(f"{kind}: input {number} of {name}: the CPU gives {said}", flush=True)
            if self.examples is not None and self.counts[kind] <= 20:
                (self.examples / f"{kind}_{number}_{name}").write_bytes(contents)

    def run_good(self, name: str) -> None:
        same = np.array_equal(_answer(on_gpu, data(name)), _answer(on_cpu, data(name)))
        with self._lock:
            self.counts["good"] += 1
            self.counts["wrong"] += not same


def _difference(got: Any, want: Any) -> str:
    """Returns in what the answer of the CPU differs from NVDEC's."""
    if isinstance(want, str):
        return want
    if got.shape[0] != want.shape[0]:
        return "another number of frames"
    return "other frames" if got.shape == want.shape else "another size"


def _answer(call: Any, contents: bytes, **options: Any) -> Any:
    """Returns the frames, or the name of the error."""
    try:
        return call(contents, **OPTIONS, **options).frames.numpy()
    except tf.errors.OpError as error:
        return type(error).__name__


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, help="end after so long")
    parser.add_argument("--threads", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, help="file for the report")
    parser.add_argument("--examples", type=Path, help="folder for inputs with wrong frames")
    options = parser.parse_args()
    names = sorted(taken(name for name in SOUND if len(data(name)) <= LARGEST_CLIP))
    soak = Soak(names, options.seed, options.examples)
    begin = time.monotonic()
    memory: list[dict[str, int]] = []
    done = 0
    with ThreadPoolExecutor(options.threads) as threads:
        while done < options.inputs:
            if options.seconds and time.monotonic() - begin > options.seconds:
                break
            size = min(BATCH, options.inputs - done)
            list(threads.map(soak.run, range(done, done + size)))
            list(threads.map(soak.run_good, names[:8]))
            done += size
            gc.collect()
            pool = nvc.decoder_pool()
            memory.append(
                {
                    "inputs": done,
                    "host_mib": resident_bytes() >> 20,
                    "allocated": allocated_bytes(),
                    "gpu_free_mib": free_memory() >> 20,
                    "in_use": pool.in_use,
                    "failed_sessions": pool.failed,
                    "decoded_again": pool.decoded_again,
                }
            )
            print(json.dumps(memory[-1]), dict(soak.counts), flush=True)
    # The first batch fills pools and opens sessions.
    host = memory[-1]["allocated"] - memory[0]["allocated"] - KEPT * soak.counts["refused"]
    device = (memory[0]["gpu_free_mib"] - memory[-1]["gpu_free_mib"]) << 20
    report = {
        "inputs": done,
        "clips": names,
        "seconds": round(time.monotonic() - begin, 1),
        "threads": options.threads,
        "seed": options.seed,
        **{name: soak.counts[name] for name in KINDS},
        "slowest_seconds": round(soak.slowest, 3),
        "errors": dict(soak.errors),
        "wrong_by_codec": dict(sorted(soak.wrong.items())),
        "memory": [memory[0], memory[-1]],
    }
    if options.results:
        options.results.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report))
    leaks = host > MOST_HOST or device > MOST_DEVICE or any(each["in_use"] for each in memory)
    return int(bool(soak.counts["wrong"] or soak.counts["slow"] or leaks))


if __name__ == "__main__":
    sys.exit(main())
