"""iter_video gives decode_video's frames in chunks, from every kind of source."""

from __future__ import annotations

import gc
import gzip
import io
import os
import random
import re
import tempfile
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from clip_table import SOUND
from golden_clips import Clips

import tf_nvcodec as nvc
from tf_nvcodec.python import iter_video as module

EVERYTHING = slice(None)
REAL = Path(__file__).parents[1] / "golden" / "media" / "bigbuckbunny_720p.mp4"


def joined(chunks: list[Any]) -> tuple[np.ndarray, list[float]]:
    frames = np.concatenate([np.asarray(chunk.frames) for chunk in chunks])
    return frames, [float(pts) for chunk in chunks for pts in chunk.pts]


def check(chunks: list[Any], count: int, whole: Any, chosen: slice = EVERYTHING) -> None:
    """Asserts that chunks of `count` frames are these frames of the whole video."""
    wanted = whole.frames.numpy()[chosen]
    frames, pts = joined(chunks)
    assert frames.dtype == wanted.dtype
    assert frames.shape == wanted.shape
    assert frames.tobytes() == wanted.tobytes()
    assert pts == whole.pts.numpy()[chosen].tolist()
    sizes = [len(chunk.frames) for chunk in chunks]
    assert sizes[:-1] == [count] * (len(sizes) - 1)
    assert 1 <= sizes[-1] <= count


@pytest.mark.parametrize("name", SOUND)
def test_random_ranges_are_those_of_decode_video(clips: Clips, name: str) -> None:
    data = clips.data(name)
    whole = nvc.decode_video(data, pixel_format="native")
    total = len(whole.pts)
    choose = random.Random(name)
    check(list(nvc.iter_video(data, 64, pixel_format="native")), 64, whole)
    for _ in range(2):
        start, stop = sorted(
            choose.sample(range(-total, total + 1), 2), key=lambda i: i % (total + 1)
        )
        chosen = slice(start, stop, choose.randint(1, 4))
        if not range(*chosen.indices(total)):
            continue
        count = choose.randint(1, 20)
        made = nvc.iter_video(
            data,
            count,
            chosen.start,
            chosen.stop,
            chosen.step,
            pixel_format="native",
            num_threads=choose.choice([0, 1, 3]),
        )
        assert made.num_frames == len(range(*chosen.indices(total)))
        check(list(made), count, whole, chosen)


OPTIONS: list[dict[str, Any]] = [
    {"size": (45, 80)},
    {"crop": (8, 8, 64, 80), "dtype": tf.float32, "mean": 0.5, "std": [0.2, 0.3, 0.4]},
    {"pixel_format": "nv12"},
    {"pixel_format": "gray", "dtype": "float16", "layout": "tchw"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ", ".join(options))
def test_options_are_those_of_decode_video(options: dict[str, Any]) -> None:
    data = REAL.read_bytes()
    whole = nvc.decode_video(data, 0, 40, **options)
    check(list(nvc.iter_video(data, 13, 0, 40, **options)), 13, whole)


@pytest.mark.parametrize(
    ("options", "count"),
    [({}, 24), ({"dtype": tf.float32}, 6), ({"size": (36, 64)}, 64), ({"size": (5000, 5000)}, 1)],
    ids=lambda value: str(value),
)
def test_by_default_a_chunk_has_at_most_64_mebibytes(options: dict[str, Any], count: int) -> None:
    stop = min(132, count + 3)
    whole = nvc.decode_video(REAL.read_bytes(), 0, stop, **options)
    check(list(nvc.iter_video(REAL, stop=stop, **options)), count, whole)


class ReadOnly:
    """A file object that can neither seek nor tell a descriptor, and reads little at a time."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def read(self, count: int) -> bytes:
        return self._file.read(min(count, 100_000))


def sources(folder: Path) -> dict[str, Any]:
    data = REAL.read_bytes()
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("clip.mp4", data)
    tf.io.gfile.copy(str(REAL), "ram://iter_video.mp4", overwrite=True)
    unlinked = open(folder / "unlinked.mp4", "w+b")  # noqa: SIM115
    unlinked.write(data)
    unlinked.flush()
    os.unlink(unlinked.name)
    with gzip.open(folder / "clip.mp4.gz", "wb") as packed:
        packed.write(data)
    unflushed = tempfile.NamedTemporaryFile(buffering=len(data) + 1)  # noqa: SIM115
    unflushed.write(data)
    moved = open(REAL, "rb")  # noqa: SIM115
    moved.seek(1000)
    return {
        "path": REAL,
        "str": str(REAL),
        "url": "ram://iter_video.mp4",
        "bytes": data,
        "bytearray": bytearray(data),
        "tensor": tf.io.read_file(str(REAL)),
        "file": moved,
        "file without a name": unlinked,
        "file that is not flushed": unflushed,
        "gzip": gzip.open(folder / "clip.mp4.gz"),
        "BytesIO": io.BytesIO(data),
        "GFile": tf.io.gfile.GFile(str(REAL), "rb"),
        "zip member": zipfile.ZipFile(folder / "a.zip").open("clip.mp4"),
        "read alone": ReadOnly(data),
    }


def test_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = nvc.decode_video(REAL.read_bytes(), size=(36, 64))
    for limit in (64 << 20, 200_000):  # in memory, and by a temporary file
        monkeypatch.setattr(module, "_IN_MEMORY", limit)
        for kind, source in sources(tmp_path).items():
            chunks = list(nvc.iter_video(source, 50, size=(36, 64), index_cache=tmp_path / "index"))
            assert [len(chunk.pts) for chunk in chunks] == [50, 50, 32], kind
            check(chunks, 50, whole)


def test_bad_sources_are_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty.mp4"
    empty.write_bytes(b"")
    with pytest.raises(tf.errors.NotFoundError, match="no-such.mp4"):
        nvc.iter_video(tmp_path / "no-such.mp4")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"empty.mp4.*empty"):
        nvc.iter_video(empty)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not a video"):
        nvc.iter_video(b"no video")
    with pytest.raises(TypeError, match="source must be"):
        nvc.iter_video(5)
    with pytest.raises(TypeError, match="binary mode"):
        nvc.iter_video(io.StringIO("text"))
    with pytest.raises(TypeError, match="unknown keyword 'sise'"):
        nvc.iter_video(REAL, sise=(1, 1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="frames must be at least 1, got 0"):
        nvc.iter_video(REAL, 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="stride must be at least 1, got 0"):
        nvc.iter_video(REAL, stride=0)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="max_frames is 100"):
        nvc.iter_video(REAL, max_frames=100)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="max_bytes"):
        next(nvc.iter_video(REAL, max_bytes=1000))
    with pytest.raises(ValueError, match="use VideoDataset"):
        tf.function(lambda: nvc.iter_video(REAL))()


def test_an_empty_range_has_no_chunks() -> None:
    made = nvc.iter_video(REAL, start=200)
    assert made.num_frames == 0
    assert list(made) == []
    assert list(made) == []


@pytest.mark.parametrize("count", [1, 4, 64])
def test_damage_in_the_middle(clips: Clips, count: int) -> None:
    """Each policy gives what decode_video gives, but "repeat" looks no further than the chunk."""
    data = clips.data("broken_h264.mp4")
    skipped = nvc.decode_video(data, on_error="skip", return_valid=True)
    chunks = list(nvc.iter_video(data, count, on_error="skip"))
    frames, pts = joined(chunks)
    assert frames.tobytes() == skipped.frames.numpy().tobytes()
    assert pts == skipped.pts.numpy().tolist()
    good = set(pts)
    before = 0
    made = nvc.iter_video(data, count)
    with pytest.raises(tf.errors.DataLossError, match=r"frame \d+ .* can't be decoded: packet \d+"):
        for chunk in made:
            assert good.issuperset(chunk.pts.numpy())
            before += len(chunk.pts)
    assert before < len(pts) + count
    assert list(made) == [], "an error ends the iteration"
    if count == 64:
        repeated = nvc.decode_video(data, on_error="repeat", return_valid=True)
        only = list(nvc.iter_video(data, count, on_error="repeat", return_valid=True))
        assert len(only) == 1
        for got, want in zip(only[0], repeated):
            assert got.numpy().tobytes() == want.numpy().tobytes()


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def comes_back_to(before: int) -> bool:
    """Whether the number of threads falls to `before`. The kernel may list one a little longer."""
    deadline = time.monotonic() + 10
    while threads() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    return threads() <= before


def test_closing_early_frees_everything() -> None:
    list(nvc.iter_video(REAL, 8, 0, 8, num_threads=3))  # starts TensorFlow's own threads
    gc.collect()
    before = threads()
    with nvc.iter_video(REAL, 8, num_threads=3) as made:
        first = next(made)
        assert threads() > before
    assert comes_back_to(before)
    assert list(made) == []
    made = nvc.iter_video(REAL, 8, num_threads=3)
    next(made)
    made.close()
    made.close()
    assert comes_back_to(before)
    made = nvc.iter_video(REAL, 8, num_threads=3)
    del made
    gc.collect()
    assert comes_back_to(before)
    wanted = nvc.decode_video(REAL.read_bytes(), 0, 8)
    assert first.frames.numpy().tobytes() == wanted.frames.numpy().tobytes()


def test_collecting_while_a_function_is_traced_closes_it() -> None:
    list(nvc.iter_video(REAL, 8, 0, 8, num_threads=3))
    gc.collect()
    before = threads()
    kept = [nvc.iter_video(REAL, 8, num_threads=3)]
    next(kept[0])

    @tf.function
    def traced() -> tf.Tensor:
        kept.clear()
        gc.collect()
        return tf.constant(1)

    assert traced() == 1
    assert comes_back_to(before)


def test_closing_ends_a_wait_in_another_thread() -> None:
    made = nvc.iter_video(REAL, 132, num_threads=1)
    ended = []

    def wait() -> None:
        try:
            next(made)
        except (tf.errors.CancelledError, StopIteration):
            ended.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    made.close()
    thread.join(timeout=30)
    assert not thread.is_alive()


def test_chunks_that_are_kept_stay_as_they_are() -> None:
    """Memory is used again only once nobody has a chunk, or a view of it, any more."""
    views = [np.asarray(chunk.frames) for chunk in nvc.iter_video(REAL, 10, size=(90, 160))]
    whole = nvc.decode_video(REAL.read_bytes(), size=(90, 160))
    assert np.concatenate(views).tobytes() == whole.frames.numpy().tobytes()


def test_a_slow_loop_needs_no_more_memory() -> None:
    """Two chunks are decoded ahead, and a third has the memory of the one that the loop frees."""
    places, held = set(), None
    for chunk in nvc.iter_video(REAL, 33):
        time.sleep(0.05)  # two chunks are held while the pass wants memory
        held = np.asarray(chunk.frames)
        places.add(held.__array_interface__["data"][0])
    assert len(places) == 3


@pytest.mark.serial
def test_the_next_video_has_the_memory_of_the_last() -> None:
    """It waits for the next video, and the system may take it meanwhile."""

    def waiting() -> int:
        found = re.search(r"LazyFree: +(\d+) kB", Path("/proc/self/smaps_rollup").read_text())
        if found is None:
            pytest.skip("this system does not tell what it may take back")
        return int(found[1]) // 1024

    def read() -> set[int]:
        addresses = set()
        for chunk in nvc.iter_video(REAL, 30):
            addresses.add(np.asarray(chunk.frames).__array_interface__["data"][0])
        return addresses

    least = 2 * 30 * 720 * 1280 * 3 // 2**20  # two chunks, in MiB
    first = read()
    gc.collect()
    assert waiting() >= least - 4  # without the ends of blocks, which are no whole huge pages
    second = read()
    gc.collect()
    assert second & first
    assert waiting() >= least - 4


@pytest.mark.parametrize("last", [None, 6])
def test_a_slow_loop_that_keeps_its_chunks(last: int | None) -> None:
    """Several decoders wait for memory that does not come back; a break ends the waits, too."""
    drawn = np.random.default_rng(0).integers(0, 255, (240, 6, 8, 3), np.uint8)
    frames = np.kron(drawn, np.ones((1, 8, 8, 1), np.uint8))
    contents = nvc.encode_video(frames, 25, "vp9", "webm", gop=30, preset="8").numpy()
    held = []
    with nvc.iter_video(contents, 8, timeout=60) as chunks:
        for chunk in chunks:
            held.append(chunk)
            if len(held) == last:
                break
            time.sleep(0.05 if len(held) < 8 else 0)
    assert len(held) == (last or 30)


def test_several_iterators_at_once() -> None:
    whole = nvc.decode_video(REAL.read_bytes(), size=(36, 64))
    made = [nvc.iter_video(REAL, 7 + i, size=(36, 64)) for i in range(5)]
    chunks: list[list[Any]] = [[] for _ in made]
    for _ in range(len(whole.pts)):
        for each, got in zip(made, chunks):
            got.extend(chunk for chunk in [next(each, None)] if chunk)
    for i, got in enumerate(chunks):
        check(got, 7 + i, whole)
