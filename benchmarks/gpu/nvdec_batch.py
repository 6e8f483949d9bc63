"""Measures frames of a batch of videos on NVDEC: 16 frames spread over 6 s of 1080p each.

    python -m benchmarks.gpu.nvdec_batch [--clips FOLDER] [--rounds 3] [--videos 64]

It needs a GPU with NVDEC and the clips of harness/clips.py. On machines without ffmpeg, --clips
names a folder with h264_1080p_6s.mp4 and hevc_1080p_6s.mp4. Frames are 224x224 on the GPU. Figures
are videos/s:

    rate        16 threads, each with calls of decode_frames_at, a video a call: NVDEC's rate
    batch 8     one caller of decode_clips, 8 videos a call; also 1, 2, 4, 16 and 32 videos
    callers 2   two callers of decode_clips, 8 videos a call
    map_fn 8    one caller of tf.map_fn over decode_frames_at, 8 videos a call
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.gpu.nvdec_decode import CODECS, RESULTS, clips_folder, gpu
from benchmarks.gpu.nvdec_pass import median_rate
from benchmarks.gpu.nvdec_peers import SIDE
from benchmarks.harness import machine

FRAMES_OF_A_VIDEO, WANTED = 150, 16
# The frames that decode_clips takes.
SPREAD = [i * (FRAMES_OF_A_VIDEO - 1) // (WANTED - 1) for i in range(WANTED)]
THREADS, CALLERS = 16, 2
BATCHES = (1, 2, 4, 8, 16, 32)
TARGET, TARGET_BATCH = 0.95, 8


class Ours:
    """Each method decodes `videos` videos and returns this number."""

    def __init__(self, path: str, videos: int) -> None:
        import tensorflow as tf

        for each in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(each, True)
        import tf_nvcodec as nvc

        self._tf, self._nvc, self._videos = tf, nvc, videos
        self._contents = tf.io.read_file(path)
        self._last = tf.function(lambda frames: tf.reshape(frames, [-1])[-1])

    def _frames_at(self, contents: Any) -> Any:
        return self._nvc.decode_frames_at(
            contents, SPREAD, size=(SIDE, SIDE), backend="nvdec"
        ).frames

    def rate(self) -> int:
        def one(_: int) -> None:
            with self._tf.device("/GPU:0"):
                self._last(self._frames_at(self._contents)).numpy()

        with ThreadPoolExecutor(THREADS) as threads:
            return len(list(threads.map(one, range(self._videos))))

    def batch(self, size: int) -> int:
        for _ in range(self._videos // size):
            with self._tf.device("/GPU:0"):
                decoded = self._nvc.decode_clips(
                    [self._contents] * size,
                    clip_length=1,
                    clips_per_video=WANTED,
                    size=(SIDE, SIDE),
                    backend="nvdec",
                    on_error="raise",
                )
                self._last(decoded.frames).numpy()
        return self._videos // size * size

    def callers(self) -> int:
        with ThreadPoolExecutor(CALLERS) as threads:
            return sum(threads.map(lambda _: self.batch(TARGET_BATCH), range(CALLERS)))

    def map_fn(self) -> int:
        tf = self._tf
        if not hasattr(self, "_mapped"):
            spec = tf.TensorSpec([WANTED, SIDE, SIDE, 3], tf.uint8)

            @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
            def mapped(contents: Any) -> Any:
                return tf.map_fn(
                    self._frames_at,
                    contents,
                    fn_output_signature=spec,
                    parallel_iterations=TARGET_BATCH,
                )

            self._mapped = mapped
        batch = tf.repeat(self._contents[None], TARGET_BATCH)
        for _ in range(self._videos // TARGET_BATCH):
            with tf.device("/GPU:0"):
                self._last(self._mapped(batch)).numpy()
        return self._videos


def measure(path: str, videos: int, rounds: int) -> dict[str, float]:
    ours = Ours(path, videos)
    ways: dict[str, Callable[[], int]] = {"rate": ours.rate}
    ways.update({f"batch {size}": (lambda size=size: ours.batch(size)) for size in BATCHES})
    ways[f"callers {CALLERS}"] = ours.callers
    ways[f"map_fn {TARGET_BATCH}"] = ours.map_fn
    found = {}
    for name, call in ways.items():
        found[name] = median_rate(call, rounds)
        print(Path(path).stem, name, f"{found[name]:.1f} videos/s", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.nvdec_batch")
    parser.add_argument("--clips", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--videos", type=int, default=64, help="a multiple of 32")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    with clips_folder(options.clips, "_6s") as folder:
        found = {
            codec: measure(str(folder / f"{codec}_1080p_6s.mp4"), options.videos, options.rounds)
            for codec in CODECS
        }
    batch = f"batch {TARGET_BATCH}"
    result = {
        "machine": {**machine.describe(), "gpu": gpu()},
        "frames_of_a_video": FRAMES_OF_A_VIDEO,
        "frames_wanted": WANTED,
        "videos_per_second": found,
        "targets": [
            {
                "target": f"{codec}: {batch}, one caller, {TARGET} of the rate",
                "ratio": row[batch] / row["rate"],
                "met": row[batch] >= TARGET * row["rate"],
            }
            for codec, row in found.items()
        ],
    }
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "nvdec_batch.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
