"""Iterators that are opened, skipped, saved, restored and left at any time give what they should,
and none hangs. TF_NVCODEC_SOAK sets the number of iterators."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from golden_clips import Clips
from golden_datasets import without_prefetch

import tf_nvcodec as nvc

ROUNDS = int(os.environ.get("TF_NVCODEC_SOAK", "80"))
NAMES = ["h264.mp4", "hevc_open_gop.mkv", "vp9_altref.webm", "mpeg4.avi"]
KINDS: list[dict[str, Any]] = [
    {"clip_step": 3},
    {"clip_step": 8, "num_parallel_calls": 1, "num_threads": 1},
    {"clip_step": 1, "num_parallel_calls": 4},
    {"clips_per_video": 3, "sampling": "uniform"},
    {"clip_at": [0.0, 0.2, 0.3, 0.1, 0.5]},
    {"clip_step": 5, "shuffle": True, "seed": 7, "reshuffle_each_iteration": False},
    {"clips_per_video": 4, "sampling": "random", "seed": 7, "reshuffle_each_iteration": False},
]


def key(element: Any) -> tuple[int, int, int]:
    frames = element["frames"].numpy().tobytes()
    return int(element["video_index"]), int(element["clip_index"]), hash(frames)


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_lives_of_iterators(clips: Clips, tmp_path: Path, kind: int) -> None:
    names = [str(clips.path(name)) for name in NAMES]

    def made() -> tf.data.Dataset:
        dataset = nvc.VideoDataset(
            names, 4, size=(16, 16), index_cache=tmp_path / "index", **KINDS[kind]
        )
        return without_prefetch(dataset)

    whole = [key(element) for element in made()]
    choose = random.Random(kind)
    saved = None
    for _ in range(ROUNDS // len(KINDS) + 1):
        skipped = choose.choice([0, 0, 1, choose.randint(0, len(whole))])
        place = skipped
        if saved is not None and choose.random() < 0.3:
            place, path = saved
            skipped = 0
            iterator = iter(made())
            tf.train.Checkpoint(iterator=iterator).restore(path).assert_consumed()
        else:
            iterator = iter(made().skip(skipped) if skipped else made())
        for _ in range(choose.choice([0, 1, 3, 10, len(whole)])):
            element = next(iterator, None)
            assert (element is None) == (place >= len(whole))
            if element is None:
                break
            assert key(element) == whole[place]
            place += 1
        if skipped == 0 and choose.random() < 0.4:
            path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "saved"))
            saved = place, path
