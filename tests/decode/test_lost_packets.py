"""A packet that lost its bytes is a damaged frame, where the container has a packet for each frame.
So no frame gets another number, and no call leaves the frame out without a word."""

from __future__ import annotations

from pathlib import Path

import clip_surgery as surgery
import numpy as np
import pytest
import tensorflow as tf
from every_call import EVERY_CALL
from frame_checks import digests
from golden_clips import Clips

import tf_nvcodec as nvc

# With B-frames and without, in each container that counts its packets.
NAMES = [
    "h264.mp4",
    "h264.mov",
    "h264.mkv",
    "h264.avi",
    "h264_no_b.mp4",
    "h264_of_avi.mp4",
    "hevc.mp4",
    "hevc.mkv",
    "mpeg2_odd.mkv",
    "mpeg2_b.avi",
    "mpeg2.avi",
    "mpeg4.mp4",
    "mpeg4.avi",
    "vp9.webm",
    "vp9.mp4",
    "vp9.ivf",
    "vp8.webm",
    "av1.mp4",
    "mjpeg_odd.mov",
    "ffv1_inter.mkv",
]
SAID = "its bytes are missing or are no picture"


def check_all_frames(data: bytes, want: list[str], lost: int) -> None:
    with pytest.raises(tf.errors.DataLossError, match=SAID):
        nvc.decode_video(data)
    assert int(nvc.probe(data).num_frames) == len(want)
    frames, pts, valid = nvc.decode_video(
        data, pixel_format="native", on_error="repeat", return_valid=True
    )
    assert len(frames) == len(want)
    assert np.isfinite(pts).all()
    valid = valid.numpy()
    assert len(valid) - valid.sum() >= lost
    got = digests(frames.numpy())
    assert [got[i] for i in np.flatnonzero(valid)] == [want[i] for i in np.flatnonzero(valid)]


@pytest.mark.parametrize("name", NAMES)
def test_packets_of_zeros(clips: Clips, name: str) -> None:
    path, want = clips.path(name), clips.frames(name).md5
    count = len(surgery.packets(path))
    middle = count // 2
    for which in ([count - 1], [middle], [middle, middle + 3], [count - 2, count - 1]):
        check_all_frames(surgery.zeroed(path, which), want, len(which))


@pytest.mark.parametrize("name", ["h264.mkv", "mpeg2_b.avi", "vp9.mp4"])
def test_every_call_says_it(clips: Clips, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    middle = len(surgery.packets(clips.path(name))) // 2
    path.write_bytes(surgery.zeroed(clips.path(name), [middle]))
    count = int(nvc.probe(path.read_bytes()).num_frames)
    assert count == len(clips.frames(name))
    for call, frames_of in EVERY_CALL.items():
        try:
            frames_of(path, count)
        except (tf.errors.DataLossError, RuntimeError):
            continue
        pytest.fail(f"{call} says nothing")


# Intra pictures too: what is not written keeps what its memory held, and differs from run to run.
CUT = ["h264.avi", "mjpeg.avi", "mjpeg_422.mkv", "huffyuv.avi", "cfhd.mkv", "ffv1_odd.avi"]


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
def test_files_that_end_inside_a_packet(clips: Clips, name: str, share: float) -> None:
    data, want = surgery.cut_last_packet(clips.path(name), share), clips.frames(name).md5
    count = int(nvc.probe(data).num_frames)
    # Of Matroska, FFmpeg's demuxer drops the last packet.
    assert count == len(want) - (1 if name.endswith("mkv") else 0)
    if count == len(want):
        check_all_frames(data, want, 1)


@pytest.mark.parametrize("name", ["mjpeg_odd.mov", "mjpeg.avi", "jpegls.mov", "cfhd.mkv"])
def test_intra_pictures_that_end_early(clips: Clips, name: str) -> None:
    """The container says nothing here: zeros stand where the picture's end was."""
    path = clips.path(name)
    data = bytearray(path.read_bytes())
    first, last = surgery.payload(bytes(data), surgery.packets(path)[-1])
    data[first + (last - first) // 3 : last] = bytes(last - first - (last - first) // 3)
    for threads in (1, 4):
        with pytest.raises(tf.errors.DataLossError):
            nvc.decode_video(bytes(data), num_threads=threads)
        _, _, valid = nvc.decode_video(
            bytes(data), on_error="repeat", return_valid=True, num_threads=threads
        )
        assert valid.numpy().tolist() == [True] * (len(valid) - 1) + [False]
