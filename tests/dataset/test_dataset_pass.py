"""Clips in order are read in one pass over their video: which ones, positions and memory."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from clip_reference import Whole, check_clip, wanted_clips
from clip_table import SOUND
from fork_server import printed_by
from golden_clips import Clips
from golden_datasets import without_prefetch

import tf_nvcodec as nvc

REAL = Path(__file__).parents[1] / "golden" / "media" / "bigbuckbunny_720p.mp4"


def draw(choose: random.Random) -> dict[str, Any]:
    """Draws the arguments that choose clips in order."""
    choice: dict[str, Any] = {"clip_length": choose.randint(1, 20)}
    rate = choose.choice(
        [{}, {}, {"fps": choose.uniform(5, 60)}, {"stride": choose.uniform(0.02, 0.2)}]
    )
    if not rate:
        choice["stride"] = choose.randint(1, 4)
    if choose.random() < 0.8:
        choice["clip_step"] = choose.randint(1, 30)
    return {**choice, **rate}


@pytest.mark.parametrize("name", SOUND)
def test_random_windows_are_those_of_the_whole_video(clips: Clips, name: str) -> None:
    whole = Whole.read(clips.path(name), pixel_format="native")
    choose = random.Random(name)
    for _ in range(2):
        choice = draw(choose)
        made = nvc.VideoDataset(
            [whole.name],
            pixel_format="native",
            index_cache=False,
            num_threads=choose.choice([0, 1, 3]),
            num_parallel_calls=choose.choice([1, 2, 6]),
            **choice,
        )
        elements = list(made.as_numpy_iterator())
        wanted = wanted_clips(whole, **choice)
        assert len(elements) == len(wanted), choice
        for element, want in zip(elements, wanted):
            check_clip(element, whole, want)


@pytest.mark.parametrize("name", ["h264.mp4", "hevc_open_gop.mkv", "av1.mp4", "vp9_altref.webm"])
def test_overlapping_windows_read_the_file_once(clips: Clips, name: str) -> None:
    path = clips.path(name)
    made = nvc.VideoDataset([str(path)], clip_length=16, clip_step=1, index_cache=False)
    count = sum(1 for _ in made)
    assert count > 20
    # Once for the index, of which a part is read again, and once for the pass.
    assert made.statistics().bytes_read <= 4 * path.stat().st_size


def test_a_restored_iterator_goes_on_at_every_element(clips: Clips, tmp_path: Path) -> None:
    def made() -> tf.data.Dataset:
        names = [str(clips.path(name)) for name in ("h264.mp4", "hevc_open_gop.mkv")]
        return without_prefetch(
            nvc.VideoDataset(names, 8, clip_step=5, size=(32, 32), index_cache=tmp_path / "index")
        )

    def key(element: Any) -> tuple[int, int, bytes]:
        return (
            int(element["video_index"]),
            int(element["clip_index"]),
            element["frames"].numpy().tobytes(),
        )

    whole = [key(element) for element in made()]
    iterator = iter(made())
    for place in range(len(whole)):
        path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / f"at{place}"))
        restored = iter(made())
        tf.train.Checkpoint(iterator=restored).restore(path).assert_consumed()
        assert [key(element) for element in restored] == whole[place:]
        assert key(next(iterator)) == whole[place]


def test_shards_of_clips_skip_what_is_not_theirs(clips: Clips, tmp_path: Path) -> None:
    made = nvc.VideoDataset(
        [str(clips.path("h264.mp4"))], 4, clip_step=4, index_cache=tmp_path, build_index=True
    )
    whole = {int(e["clip_index"]): e["frames"].numpy().tobytes() for e in made}
    for index in range(3):
        shard = {int(e["clip_index"]): e["frames"].numpy().tobytes() for e in made.shard(3, index)}
        assert shard == {clip: whole[clip] for clip in whole if clip % 3 == index}


ROW = [i / 20 for i in range(16)]  # ascending times


@pytest.mark.parametrize(
    ("times", "reads"),
    [
        (ROW[:2], 1),
        ([0.0, 0.2, 0.2, 0.3], 1),
        (ROW + ROW, 2),
        ([*ROW, 0.0], 2),
        (ROW[:3] + ROW[:1], 4),
        (ROW[::-1], 16),
        (random.Random(1).sample(ROW, 16), 16),
    ],
)
def test_clips_that_go_back_are_read_one_by_one(
    clips: Clips, times: list[float], reads: int
) -> None:
    """A read, which opens the file, is a pass over many clips that ascend, or a clip by itself."""
    whole = Whole.read(clips.path("h264.mp4"), pixel_format="native")
    made = nvc.VideoDataset([whole.name], 4, clip_at=times, pixel_format="native")
    elements = list(made.as_numpy_iterator())
    assert made.statistics().files_opened == reads
    wanted = wanted_clips(whole, 4, clip_at=times)
    assert len(elements) == len(wanted)
    for element, want in zip(elements, wanted):
        check_clip(element, whole, want)


def test_clips_that_go_back_are_decoded_side_by_side() -> None:
    """One at the beginning of a long GOP ends before one at its end that began earlier."""
    options = tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 4  # The default on one core is one thread.
    for _ in range(20):
        made = nvc.VideoDataset(
            [str(REAL)], 4, clip_at=[4.9, 4.5, 0.0], size=(32, 32), num_parallel_calls=4
        )
        first = next(made.with_options(options).as_numpy_iterator())
        if first["clip_index"] == 2:
            return
    raise AssertionError("the clip with the least work was never the first")


def test_a_plain_shard_skips_clips_that_the_pass_has_not(clips: Clips) -> None:
    """TensorFlow's own shard skips in the middle of a pass, which ends where clips go back."""
    made = nvc.VideoDataset([str(clips.path("h264.mp4"))], 4, clip_at=[ROW[:9] + ROW[:8] + ROW[:2]])
    whole = [e["frames"].numpy().tobytes() for e in made]
    for index in range(4):
        shard = made.with_options(tf.data.Options()).shard(4, index)
        assert [e["frames"].numpy().tobytes() for e in shard] == whole[index::4]


def test_skipping_past_a_video_does_not_wait_for_it(clips: Clips) -> None:
    names = [str(clips.path(name)) for name in ("h264.mp4", "hevc.mp4", "vp9.webm")]
    made = nvc.VideoDataset(names, 4, size=(32, 32), index_cache=False, num_parallel_calls=1)
    whole = [(int(e["video_index"]), int(e["clip_index"])) for e in made]
    for count in (1, len(whole) // 2, len(whole) - 1):
        iterator = iter(without_prefetch(made))
        next(iterator)
        rest = [(int(e["video_index"]), int(e["clip_index"])) for e in made.skip(count)]
        assert rest == whole[count:]


def test_an_iterator_that_is_left_ends_its_pass() -> None:
    for _ in range(20):
        iterator = iter(nvc.VideoDataset([str(REAL)], 4, clip_step=1, index_cache=False))
        next(iterator)
        del iterator


_MANY_WINDOWS = """
import sys
import tensorflow as tf
import tf_nvcodec as nvc

def resident():
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024

made = nvc.VideoDataset(
    [sys.argv[1]] * 100, clip_length=16, clip_step=1, size=(64, 64), index_cache=False
)
options = tf.data.Options()
options.autotune.enabled = False
sizes, count = [], 0
for element in made.with_options(options):
    count += 1
    if count % 2000 == 0:
        sizes.append(resident())
    if count == 10000:
        break
print(count, max(sizes[1:]) - sizes[0])
"""


@pytest.mark.slow
@pytest.mark.serial
def test_ten_thousand_windows_take_no_more_memory() -> None:
    count, growth = printed_by("-c", _MANY_WINDOWS, str(REAL)).split()
    assert count == "10000"
    assert float(growth) < 25
