"""gs:// through tensorflow-io-gcs-filesystem, against an emulator of the service on localhost.

The functions called on_... run in child processes, where gs:// is the emulator (GcsServer.run).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gcs_server import CACHED, DEFAULTS, EXACT, GcsServer, missing_plugin, sha256
from golden_clips import Clips

CLIP = "h264.mp4"
SETTINGS = pytest.mark.parametrize(
    "settings",
    [
        pytest.param(DEFAULTS, id="defaults"),
        pytest.param(EXACT, id="exact", marks=pytest.mark.slow),
        pytest.param(CACHED, id="cached", marks=pytest.mark.slow),
    ],
)


@pytest.fixture(scope="module")
def gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GcsServer]:
    import tensorflow as tf

    server = GcsServer(tmp_path_factory.mktemp("gcs"))
    try:
        missing = missing_plugin(server)
        if missing and tf.__version__.startswith("2.17."):
            pytest.fail(f"with TensorFlow {tf.__version__} gs:// must work: {missing}")
        if missing:
            pytest.skip(f"TensorFlow {tf.__version__}: {missing}")
        yield server
    finally:
        server.close()


@pytest.fixture(scope="module")
def noise() -> bytes:
    return random.Random(1).randbytes(5_000_000)


@pytest.fixture(scope="module")
def noise_name(gcs: GcsServer, noise: bytes) -> str:
    return gcs.upload(noise, "noise/five megabytes.bin")


@pytest.fixture(scope="module")
def clip_name(gcs: GcsServer, clips: Clips) -> str:
    return gcs.upload(clips.path(CLIP), f"clips/{CLIP}")


def on_files(name: str) -> dict[str, Any]:
    import tensorflow as tf

    gfile = tf.io.gfile
    try:
        tf.io.read_file(name + ".gone")
        error = ""
    except tf.errors.NotFoundError:
        error = "NotFoundError"
    return {
        "exists": [gfile.exists(name), gfile.exists(name + ".gone")],
        "length": gfile.stat(name).length,
        "changed": gfile.stat(name).mtime_nsec,
        "glob": gfile.glob(str(name).rsplit(".", 1)[0] + "*"),
        "error": error,
    }


def test_files(gcs: GcsServer, noise_name: str, noise: bytes) -> None:
    answer = gcs.run(on_files, noise_name)
    assert answer.value.pop("changed") > 0
    assert answer.value == {
        "exists": [True, False],
        "length": len(noise),
        "glob": [noise_name],
        "error": "NotFoundError",
    }
    assert not any(request.authorized for request in answer.requests)
    assert not any("computeMetadata" in request.path for request in answer.requests)


def on_whole_file(name: str) -> str:
    import tensorflow as tf

    return sha256(tf.io.read_file(name).numpy())


@SETTINGS
def test_read_file(gcs: GcsServer, noise_name: str, noise: bytes, settings: dict[str, str]) -> None:
    answer = gcs.run(on_whole_file, noise_name, settings=settings)
    assert answer.value == sha256(noise)
    assert answer.bytes_read >= len(noise)


def on_ranges(name: str, ranges: list[tuple[int, int]]) -> list[str]:
    import tensorflow as tf

    digests = []
    for offset, size in ranges:
        # The plugin crashes when it reads backwards in a file, unless it reads exactly
        # (GCS_READ_CACHE_BLOCK_SIZE_MB=0) or caches. A file opened anew is never read backwards.
        with tf.io.gfile.GFile(name, "rb") as file:
            file.seek(offset)
            digests.append(sha256(file.read(size)))
    return digests


@SETTINGS
def test_ranges(gcs: GcsServer, noise_name: str, noise: bytes, settings: dict[str, str]) -> None:
    ranges = [(4_000_000, 1000), (1000, 65536), (4_999_000, 5000), (0, 10)]
    answer = gcs.run(on_ranges, noise_name, ranges, settings=settings)
    assert answer.value == [sha256(noise[offset : offset + size]) for offset, size in ranges]
    assert all(request.range is not None and request.status == 206 for request in answer.reads)
    if settings is EXACT:  # but for GFile's own buffer of 512 KiB
        assert answer.bytes_read <= 4 * 2**19


def on_clip(name: str) -> dict[str, Any]:
    import tensorflow as tf

    import tf_nvcodec as nvc

    data = tf.io.read_file(name)
    frames = nvc.decode_video(data).frames
    return {
        "frames": int(nvc.probe(data).num_frames),
        "shape": frames.shape.as_list(),
        "digest": sha256(frames.numpy().tobytes()),
    }


def on_clips(pattern: str) -> list[str]:
    import tensorflow as tf

    import tf_nvcodec as nvc

    files = tf.data.Dataset.list_files(pattern, shuffle=False)
    frames = files.map(
        lambda name: nvc.decode_video(tf.io.read_file(name)).frames, num_parallel_calls=2
    )
    return [sha256(one.tobytes()) for one in frames.as_numpy_iterator()]


def test_decode(gcs: GcsServer, clips: Clips, clip_name: str) -> None:
    local = on_clip(str(clips.path(CLIP)))
    assert local["frames"] == local["shape"][0] == len(clips.frames(CLIP))
    assert gcs.run(on_clip, clip_name).value == local
    copy = gcs.upload(clips.path(CLIP), f"clips/2_{CLIP}")
    folder = copy.rsplit("/", 1)[0]
    assert gcs.run(on_clips, f"{folder}/*.mp4").value == [local["digest"]] * 2


def on_dataset(videos: Any, index_cache: str, **arguments: Any) -> dict[str, Any]:
    import tf_nvcodec as nvc

    cache = index_cache or False
    arguments.setdefault("clip_length", 4)
    made = nvc.VideoDataset(videos, index_cache=cache, **arguments)
    clips = [
        [int(clip["video_index"]), int(clip["clip_index"]), sha256(clip["frames"].tobytes())]
        for clip in made.as_numpy_iterator()
    ]
    used = made.statistics()
    return {"clips": clips, "indexed": used.files_indexed, "bytes": used.bytes_read}


def on_dataset_of(request: dict[str, Any]) -> dict[str, Any]:
    return on_dataset(**request)


@SETTINGS
def test_dataset(gcs: GcsServer, clips: Clips, settings: dict[str, str]) -> None:
    """Glob, clips in order from two decodes at once: the same as from local files."""
    names = [CLIP, "hevc.mp4", "vp9.webm"]
    for name in names:
        gcs.upload(clips.path(name), f"dataset/{name}")
    request = {"index_cache": "", "clip_step": 10, "num_parallel_calls": 2}
    local = on_dataset([str(clips.path(name)) for name in sorted(names)], **request)
    answer = gcs.run(
        on_dataset_of, {"videos": "gs://videos/dataset/*", **request}, settings=settings
    )
    assert answer.value["clips"] == local["clips"]
    assert len(local["clips"]) == 13


def test_dataset_reads_ranges(gcs: GcsServer, tmp_path: Path) -> None:
    """For a clip of an MP4 file only the header and the blocks around its GOP are read, with an
    index from before and without."""
    import numpy as np

    import tf_nvcodec as nvc

    noise = np.random.default_rng(1).integers(0, 256, (96, 480, 640, 3), np.uint8)
    options = {"fps": 24, "crf": 3, "gop": 6, "preset": "ultrafast"}
    data = nvc.encode_video(noise, **options).numpy()
    assert len(data) > 40_000_000
    name = gcs.upload(data, "large/noise.mp4")
    local = tmp_path / "noise.mp4"
    local.write_bytes(data)
    request = {"videos": [name], "index_cache": str(tmp_path / "index"), "clip_at": [2.0]}
    expected = on_dataset_of({**request, "videos": [str(local)]})
    first = gcs.run(on_dataset_of, request, settings=EXACT)
    assert first.value["clips"] == expected["clips"]
    assert first.value["indexed"] == 1
    assert 0 < first.bytes_read < 0.2 * len(data)
    again = gcs.run(on_dataset_of, request, settings=EXACT)
    assert again.value["clips"] == expected["clips"]
    assert again.value["indexed"] == 0
    assert again.bytes_read <= first.bytes_read


def on_wrong_table(name: str) -> dict[str, Any]:
    return on_dataset([name], "", clip_length=6, clip_at=[0.5])


def test_a_sample_table_that_is_wrong(gcs: GcsServer, clips: Clips) -> None:
    """The file calls samples sync samples that are none. The decoder notices, and the packets
    themselves are read."""
    data = bytearray(clips.data(CLIP))
    table = data.index(b"stss")
    # Without a table of sync samples the file says that decoding can begin at every sample.
    data[table : table + 4] = b"free"
    name = gcs.upload(bytes(data), "wrong/table.mp4")
    answer = gcs.run(on_wrong_table, name, settings=EXACT)
    expected = on_wrong_table(str(clips.path(CLIP)))
    assert answer.value["clips"] == expected["clips"]
    assert answer.value["indexed"] == 2


def test_close(tmp_path: Path) -> None:
    server = GcsServer(tmp_path)
    name = server.upload(b"some bytes", "a folder/ä.txt")
    assert name == "gs://videos/a folder/ä.txt"
    assert [request.status for request in server.requests()] == [200]
    server.close()
    assert server._process.returncode == 0
