"""`tf-nvcodec transcode`: segments, damaged frames, times that go back, and memory."""

from __future__ import annotations

import json
import shutil
import tracemalloc
import weakref
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from clip_surgery import packets
from encoded import FAST, moving

import tf_nvcodec as nvc
from tf_nvcodec import api
from tf_nvcodec.cli import main, source

QUICK = ["--size", "80x48", "--preset", FAST["h264"]] if "h264" in FAST else ["--size", "80x48"]


@pytest.fixture
def clip(clips) -> str:
    """48 frames of 160x96, 25 a second."""
    return str(clips.path("h264.mp4"))


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """20 frames, of which 5 to 9 are damaged."""
    path = tmp_path / "damaged.mp4"
    path.write_bytes(nvc.encode_video(moving(20, 48, 64), 25, codec="mjpeg").numpy())
    data = bytearray(path.read_bytes())
    for packet in packets(path)[5:10]:
        first, size = int(packet["pos"]), int(packet["size"])
        data[first : first + size] = bytes(index * 73 % 256 for index in range(size))
    path.write_bytes(data)
    return path


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def one_line_error(capsys) -> str:
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    return error


def test_the_pieces_of_a_ts_fit_together(clip, tmp_path):
    out = tmp_path / "x.ts"
    assert main(["transcode", clip, str(out), "--size", "320x192", "--memory", "1"]) == 0
    video = nvc.decode_video(out.read_bytes(), size=(8, 8))
    np.testing.assert_allclose(video.pts, np.arange(48) / 25, atol=6e-6)


@pytest.mark.parametrize("container", ["mp4", "mkv"])
def test_each_segment_starts_at_0(clip, tmp_path, capsys, container):
    out = tmp_path / "new" / f"x_%02d.{container}"
    assert main(["transcode", clip, str(out), "--segment", "20", "--json", *QUICK]) == 0
    assert json.loads(capsys.readouterr().out)["frames"] == 48
    assert names_in(out.parent) == [f"x_{number:02}.{container}" for number in range(3)]
    for number, count in enumerate((20, 20, 8)):
        data = (out.parent / f"x_{number:02}.{container}").read_bytes()
        video = nvc.decode_video(data)
        assert video.frames.shape == (count, 48, 80, 3)
        np.testing.assert_allclose(video.pts, np.arange(count) / 25, atol=1e-9)
        if container == "mp4":
            # The one edit takes back the delay of B-frames; a second one would show nothing.
            assert data[data.index(b"elst") + 8 : data.index(b"elst") + 12] == b"\0\0\0\1"


def test_segments_of_uneven_frames_start_at_0(tmp_path):
    times = np.cumsum(np.random.default_rng(0).uniform(0.02, 0.1, 9).round(3))
    (tmp_path / "in.mkv").write_bytes(
        nvc.encode_video(moving(9, 48, 64), container="mkv", pts=times).numpy()
    )
    out = str(tmp_path / "x_%d.mp4")
    assert main(["transcode", str(tmp_path / "in.mkv"), out, "--segment", "3"]) == 0
    for number in range(3):
        pts = nvc.decode_video((tmp_path / f"x_{number}.mp4").read_bytes()).pts
        own = times[3 * number : 3 * number + 3]
        np.testing.assert_allclose(pts, own - own[0], atol=1e-5)


def test_segments_are_one_output(clip, tmp_path, capsys):
    """Those of an earlier run are refused, and with --force none of them stays."""
    argv = ["transcode", clip, str(tmp_path / "x_%d.mp4"), *QUICK]
    for name in ("x_5.mp4", "x_05.mp4", "y_5.mp4"):
        (tmp_path / name).write_bytes(b"old")
    assert main([*argv, "--segment", "24"]) == 1
    assert "x_5.mp4: exists already (use --force" in one_line_error(capsys)
    assert names_in(tmp_path) == ["x_05.mp4", "x_5.mp4", "y_5.mp4"]
    assert main([*argv, "--segment", "24", "--force"]) == 0
    assert names_in(tmp_path) == ["x_0.mp4", "x_05.mp4", "x_1.mp4", "y_5.mp4"]


def test_a_segment_does_not_replace_the_input(clip, tmp_path, capsys):
    shutil.copy(clip, tmp_path / "x_7.mp4")
    argv = ["transcode", str(tmp_path / "x_7.mp4"), str(tmp_path / "x_%d.mp4"), "--segment", "24"]
    assert main([*argv, "--force"]) == 2
    assert "x_7.mp4: is named twice" in one_line_error(capsys)
    assert names_in(tmp_path) == ["x_7.mp4"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), ValueError("no space")])
def test_a_failed_run_leaves_no_segment(clip, tmp_path, monkeypatch, stop):
    argv = ["transcode", clip, str(tmp_path / "out" / "x_%d.mp4"), "--segment", "16", *QUICK]
    encode, calls = api.encode_video, []

    def third_fails(*args, **keywords):
        calls.append(args)
        if len(calls) == 3:
            raise stop
        return encode(*args, **keywords)

    monkeypatch.setattr(api, "encode_video", third_fails)
    assert main(argv) == (130 if isinstance(stop, KeyboardInterrupt) else 1)
    assert names_in(tmp_path) == []
    assert main(argv) == 0  # nothing of the first run is in its way
    assert len(names_in(tmp_path / "out")) == 3


def test_a_segment_of_damage_is_left_out(damaged, tmp_path, capsys):
    argv = ["transcode", str(damaged), str(tmp_path / "x_%d.mkv"), "--segment", "5"]
    assert main([*argv, "--on-error", "skip", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["frames"], result["broken_frames"]) == (15, 5)
    assert names_in(tmp_path) == ["damaged.mp4", "x_0.mkv", "x_2.mkv", "x_3.mkv"]
    only = [*argv, "--on-error", "skip", "--start", "5", "--stop", "10", "--force"]
    assert main(only) == 1
    assert one_line_error(capsys).endswith("damaged.mp4: no frame can be decoded\n")
    assert "x_3.mkv" in names_in(tmp_path)


@pytest.mark.parametrize("extension", ["mkv", "ts"])
@pytest.mark.parametrize(("policy", "frames"), [("skip", 15), ("repeat", 20)])
def test_broken_frames_are_reported(damaged, tmp_path, capsys, extension, policy, frames):
    argv = ["transcode", str(damaged), str(tmp_path / f"x.{extension}"), "--on-error", policy]
    assert main(argv) == 0
    assert capsys.readouterr().out.endswith(" bytes, 5 broken\n")
    assert main([*argv, "--force", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["frames"], result["broken_frames"]) == (frames, 5)


@pytest.mark.parametrize("extension", ["mp4", "ts", "avi"])
def test_joined_streams_name_the_cure(tmp_path, capsys, extension):
    stream = nvc.encode_video(moving(10, 48, 64), 25, container="ts").numpy()
    (tmp_path / "in.ts").write_bytes(stream + stream)
    # The pieces of .ts have 10 frames, so that the times go back between two of them.
    argv = ["transcode", str(tmp_path / "in.ts"), str(tmp_path / f"x.{extension}")]
    assert main([*argv, "--size", "640x480", "--memory", "10"]) == 1
    error = one_line_error(capsys)
    assert "in.ts: the frames' times must rise, but go from " in error
    assert error.endswith("(give an even rate with --fps)\n")
    assert names_in(tmp_path) == ["in.ts"]
    assert main([*argv, "--fps", "25"]) == 0
    again = nvc.decode_video((tmp_path / f"x.{extension}").read_bytes())
    np.testing.assert_allclose(np.diff(again.pts), np.full(19, 1 / 25), atol=1e-4)


@pytest.mark.parametrize(
    ("output", "blocks"), [("x.mp4", [48]), ("x_%d.mp4", [48]), ("x.ts", [27, 21])]
)
def test_frames_are_held_once(clip, tmp_path, monkeypatch, output, blocks):
    """Counts the bytes of decoded frames that live while a block is encoded."""
    megabytes, frame_bytes = 5, 320 * 192 * 3 // 2
    live: dict[int, int] = {}
    seen: list[int] = []
    held: list[int] = []
    block_of, encode = source._block, api.encode_video

    def counted(*args):
        block = block_of(*args)
        size = int(tf.size(block.tensor))
        live[id(block.tensor)] = size
        weakref.finalize(block.tensor, live.pop, id(block.tensor))
        return block

    def watched(frames, *args, **keywords):
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        copies = tracemalloc.take_snapshot().filter_traces([arrays]).traces
        held.append(sum(live.values()) + sum(copy.size for copy in copies))
        # encode_video copies what is no tensor.
        held[-1] += 0 if isinstance(frames, tf.Tensor) else np.asarray(frames).nbytes
        seen.append(len(frames))
        return encode(frames, *args, **keywords)

    monkeypatch.setattr(source, "_block", counted)
    monkeypatch.setattr(api, "encode_video", watched)
    argv = ["transcode", clip, str(tmp_path / output), "--size", "320x192"]
    argv += ["--memory", str(megabytes), *(["--segment", "48"] if "%" in output else [])]
    tracemalloc.start()
    try:
        assert main(argv) == 0
    finally:
        tracemalloc.stop()
    assert seen == blocks
    small = 100_000  # times, and what other code keeps
    for count, size in zip(blocks, held):
        assert size <= count * frame_bytes + small <= megabytes * 1_000_000
