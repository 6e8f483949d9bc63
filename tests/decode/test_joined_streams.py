"""Files that hold two streams, one after the other, as after an encoder's restart."""

from __future__ import annotations

import struct
from pathlib import Path

import mp4_join
import numpy as np
import pytest
from ffmpeg_program import ffmpeg

import tf_nvcodec as nvc

SIZE = (160, 96)


def encode(path: Path, source: str, *options: str) -> Path:
    width, height = SIZE
    pictures = f"{source}=size={width}x{height}:rate=25"
    ffmpeg("-f", "lavfi", "-i", pictures, "-frames:v", "40", "-pix_fmt", "yuv420p", *options, path)
    return path


def check(path: Path) -> None:
    """All frames, and each frame by itself, are those of FFmpeg in its order."""
    width, height = SIZE
    raw = ffmpeg("-i", path, "-fps_mode", "passthrough", "-f", "rawvideo", "-")
    want = np.frombuffer(raw, np.uint8).reshape(-1, height * 3 // 2, width)
    data = path.read_bytes()
    got = nvc.decode_video(data, pixel_format="native").frames.numpy()
    np.testing.assert_array_equal(got.reshape(want.shape), want)
    for index in range(len(want)):
        one = nvc.decode_frames_at(data, indices=[index], pixel_format="native").frames.numpy()
        np.testing.assert_array_equal(one.reshape(want[index].shape), want[index], str(index))


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts"])
def test_parameter_sets_that_come_once(tmp_path: Path, suffix: str) -> None:
    """FFmpeg puts the second stream's sets before its IDR pictures. Its recovery points have none,
    and the container's are those of the first stream."""
    x264 = ["-c:v", "libx264", "-x264-params"]
    first = encode(tmp_path / "first.mp4", "testsrc2", *x264, "keyint=10:open-gop=1:crf=18:cabac=0")
    second = encode(
        tmp_path / "second.mp4", "testsrc", *x264, "keyint=10:open-gop=1:crf=30:cabac=0"
    )
    (tmp_path / "list").write_text(f"file {first}\nfile {second}\n")
    joined = tmp_path / f"joined.{suffix}"
    ffmpeg("-f", "concat", "-safe", "0", "-i", tmp_path / "list", "-c", "copy", joined)
    check(joined)


@pytest.mark.parametrize("codec", ["libx264", "libx265"])
def test_clocks_that_overlap(tmp_path: Path, codec: str) -> None:
    """The second clock begins inside the first, half a frame beside it, so no time comes twice."""
    options = ["-c:v", codec, "-g", "10"]
    options += ["-x265-params", "log-level=error"] if codec == "libx265" else []
    first = encode(tmp_path / "first.ts", "testsrc2", *options)
    second = encode(tmp_path / "second.ts", "testsrc", *options, "-output_ts_offset", "0.5")
    joined = tmp_path / "joined.ts"
    joined.write_bytes(first.read_bytes() + second.read_bytes())
    check(joined)


def test_clocks_of_a_codec_without_reordering(tmp_path: Path) -> None:
    options = ["-c:v", "libvpx-vp9", "-g", "10"]
    first = encode(tmp_path / "first.ivf", "testsrc2", *options).read_bytes()
    second = encode(tmp_path / "second.ivf", "testsrc", *options).read_bytes()
    joined = tmp_path / "joined.ivf"
    joined.write_bytes(first[:32] + with_times(first, 0) + with_times(second, 25))
    check(joined)


def test_av1_with_a_second_sample_description(tmp_path: Path) -> None:
    """Its pictures are numbered on from the first stream's, which a decode of some frames needs."""
    options = ["-c:v", "libsvtav1", "-preset", "10", "-g", "10", "-use_editlist", "0"]
    options += ["-movflags", "negative_cts_offsets"]
    first = encode(tmp_path / "first.mp4", "testsrc2", *options)
    encode(tmp_path / "first_second.mp4", "testsrc", *options, "-colorspace", "bt709")
    joined = tmp_path / "joined.mp4"
    joined.write_bytes(mp4_join.with_second(first.read_bytes(), first))
    check(joined)


def with_times(ivf: bytes, begin: int) -> bytes:
    """Returns the frames of an IVF file, which have `begin` and every second tick after it."""
    frames, at = bytearray(), 32
    while at < len(ivf):
        (size,) = struct.unpack_from("<I", ivf, at)
        frames += struct.pack("<IQ", size, begin) + ivf[at + 12 : at + 12 + size]
        at, begin = at + 12 + size, begin + 2
    return bytes(frames)
