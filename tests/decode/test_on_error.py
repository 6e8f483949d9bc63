"""Decodes clips with one broken packet by each policy of on_error. No wrong frame counts as
good."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from clip_frames import ClipFrames
from clip_table import CLIPS
from frame_checks import digests
from golden_clips import Clips

import tf_nvcodec as nvc

BROKEN = sorted(name for name in CLIPS if name.startswith("broken_"))
# In these clips, the coefficients of one packet are overwritten. FFmpeg's decoder may not notice.
GARBLED = sorted(name for name in CLIPS if name.startswith("garbled_"))


def repeated(clips: Clips, name: str) -> nvc.DecodedVideoWithValidity:
    return nvc.decode_video(
        clips.data(name), pixel_format="native", on_error="repeat", return_valid=True
    )


def whole(clips: Clips, name: str) -> ClipFrames:
    """Returns the frames of the clip from which the broken one was made."""
    return clips.frames(CLIPS[name].of)


def frame_at(golden: ClipFrames, seconds: float) -> str:
    """Returns the digest of the undamaged frame with this time."""
    nearest = min(golden.pts, key=lambda time: abs((time or 0.0) - seconds))
    assert nearest == pytest.approx(seconds, abs=1e-6)
    return golden.md5[golden.pts.index(nearest)]


@pytest.mark.parametrize("name", BROKEN)
def test_repeat_keeps_the_length_and_tells_what_is_good(clips: Clips, name: str) -> None:
    golden = whole(clips, name)
    frames, pts, valid = (tensor.numpy() for tensor in repeated(clips, name))
    assert len(frames) == len(pts) == len(valid) == int(nvc.probe(clips.data(name)).num_frames)
    # If the broken packet's type can't be read, it may not count as a frame.
    assert len(golden) - 1 <= len(frames) <= len(golden)
    assert not valid.all()
    got = digests(frames)
    for i in np.flatnonzero(valid):
        assert got[i] == frame_at(golden, pts[i]), f"frame {i} is called good and is not"
    good = np.flatnonzero(valid)
    for i in np.flatnonzero(~valid):
        before = good[good < i]
        assert got[i] == got[before[-1] if len(before) else good[0]], f"frame {i} repeats another"
    # A broken packet spoils at most the rest of its group of pictures.
    assert valid.mean() >= 0.6
    assert valid[-1]


@pytest.mark.parametrize("name", BROKEN)
def test_skip_leaves_out_what_is_not_good(clips: Clips, name: str) -> None:
    frames, pts, valid = (tensor.numpy() for tensor in repeated(clips, name))
    skipped = nvc.decode_video(
        clips.data(name), pixel_format="native", on_error="skip", return_valid=True
    )
    assert skipped.valid.numpy().all()
    np.testing.assert_array_equal(skipped.pts, pts[valid])
    np.testing.assert_array_equal(skipped.frames, frames[valid])


@pytest.mark.parametrize("name", BROKEN)
def test_raise_names_the_frame(clips: Clips, name: str) -> None:
    data = clips.data(name)
    valid = repeated(clips, name).valid.numpy()
    first = int(np.flatnonzero(~valid)[0])
    with pytest.raises(tf.errors.DataLossError) as caught:
        nvc.decode_video(data)
    assert re.search(rf"frame {first}\b", caught.value.message)
    assert "packet" in caught.value.message
    assert "on_error" in caught.value.message


@pytest.mark.parametrize("name", BROKEN)
def test_raise_is_about_the_frames_asked_for(clips: Clips, name: str) -> None:
    """The call succeeds if it asks for good frames only. Asking for any other frame raises."""
    data = clips.data(name)
    valid = repeated(clips, name).valid.numpy()
    good, bad = np.flatnonzero(valid), np.flatnonzero(~valid)
    frames, pts = nvc.decode_frames_at(data, good, pixel_format="native")
    assert digests(frames.numpy()) == [frame_at(whole(clips, name), time) for time in pts.numpy()]
    for i in bad:
        with pytest.raises(tf.errors.DataLossError, match=rf"frame {i}\b"):
            nvc.decode_frames_at(data, [good[0], i])


@pytest.mark.parametrize("name", BROKEN)
def test_a_batch_of_nothing_good(clips: Clips, name: str) -> None:
    data = clips.data(name)
    bad = np.flatnonzero(~repeated(clips, name).valid.numpy())[:1]
    options = {"pixel_format": "native", "return_valid": True}
    skipped = nvc.decode_frames_at(data, bad, on_error="skip", **options)
    assert skipped.frames.shape[0] == skipped.pts.shape[0] == skipped.valid.shape[0] == 0
    # A request for bad frames only has no good frame to repeat.
    with pytest.raises(tf.errors.DataLossError, match=rf"frame {bad[0]}\b"):
        nvc.decode_frames_at(data, bad, on_error="repeat", **options)


@pytest.mark.parametrize("name", BROKEN)
def test_every_request_sees_the_same_damage(clips: Clips, name: str) -> None:
    """Whether a frame counts as good does not depend on the other frames of the request."""
    data = clips.data(name)
    frames, _, valid = (tensor.numpy() for tensor in repeated(clips, name))
    asked = np.random.default_rng(0).integers(0, len(frames), 12)
    asked = np.append(asked, np.flatnonzero(valid)[0])
    options = {"pixel_format": "native", "on_error": "repeat", "return_valid": True}
    some = nvc.decode_frames_at(data, asked, **options)
    np.testing.assert_array_equal(some.valid, valid[asked])
    good = valid[asked]
    np.testing.assert_array_equal(some.frames.numpy()[good], frames[asked][good])


@pytest.mark.parametrize("name", GARBLED)
def test_garbled_coefficients(clips: Clips, name: str) -> None:
    """All frames outside the damaged group of pictures are right, even if the decoder does not
    notice the damage."""
    golden = whole(clips, name)
    frames, pts, valid = (tensor.numpy() for tensor in repeated(clips, name))
    got = digests(frames)
    wrong = [i for i in range(len(got)) if valid[i] and got[i] != frame_at(golden, pts[i])]
    assert len(frames) == len(golden)
    assert len(wrong) + (~valid).sum() <= 12


def without_second_slice(mp4: bytes, picture: int) -> bytes:
    """Makes decoders skip the second slice of a picture in HEVC, by a reserved type."""
    copy, at = bytearray(mp4), mp4.index(b"mdat") + 4
    first = 0
    while True:
        (length,) = struct.unpack_from(">I", copy, at)
        at += 4
        is_slice, begins_picture = copy[at] >> 1 < 32, copy[at + 2] & 0x80
        first += bool(is_slice and begins_picture)
        if is_slice and not begins_picture and first == picture:
            copy[at] = 41 << 1 | copy[at] & 0x81
            return bytes(copy)
        at += length


def with_short_packet(ivf: bytes, packet: int) -> bytes:
    """Cuts off the second half of a packet."""
    at = 32
    for _ in range(packet):
        at += 12 + int(struct.unpack_from("<I", ivf, at)[0])
    (length,) = struct.unpack_from("<I", ivf, at)
    header = struct.pack("<I", length // 2) + ivf[at + 4 : at + 12]
    return ivf[:at] + header + ivf[at + 12 : at + 12 + length // 2] + ivf[at + 12 + length :]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("name", "damage"), [("hevc_slices.mp4", without_second_slice), ("vp8.ivf", with_short_packet)]
)
def test_incomplete_pictures(
    clips: Clips, name: str, damage: Callable[[bytes, int], bytes], threads: int
) -> None:
    """FFmpeg's decoders leave out the lost part of the picture and say nothing."""
    golden = clips.frames(name)
    for place in (5, 9):
        data = damage(clips.data(name), place)
        frames, pts, valid = nvc.decode_video(
            data,
            pixel_format="native",
            on_error="repeat",
            return_valid=True,
            num_threads=threads,
        )
        assert len(frames) == len(golden)
        assert not valid.numpy().all()
        got = digests(frames.numpy())
        for i in np.flatnonzero(valid):
            assert got[i] == frame_at(golden, pts[i].numpy()), f"frame {i} is called good"
        with pytest.raises(tf.errors.DataLossError, match="can't be decoded"):
            nvc.decode_video(data, num_threads=threads)


@pytest.mark.parametrize("policy", ["raise", "skip", "repeat"])
def test_sound_clips_do_not_care(clips: Clips, policy: str) -> None:
    for name in ("h264.mp4", "hevc_open_gop.mkv", "vp9_altref.webm", "mpeg2.ts"):
        decoded = nvc.decode_video(
            clips.data(name), pixel_format="native", on_error=policy, return_valid=True
        )
        assert decoded.valid.numpy().all()
        assert digests(decoded.frames.numpy()) == clips.frames(name).md5


@pytest.mark.parametrize(
    ("name", "threads"), [("broken_h264.mp4", 0), ("broken_h264.ts", 2), ("broken_mpeg2.ts", 8)]
)
def test_damage_is_found_with_any_number_of_threads(clips: Clips, name: str, threads: int) -> None:
    """The test decodes all frames together, and then each frame beside a good one."""
    data = tf.constant(clips.data(name))
    options = {"on_error": "repeat", "return_valid": True, "pixel_format": "native"}
    one = nvc.decode_video(data, num_threads=1, **options)
    other = nvc.decode_video(data, num_threads=threads, **options)
    np.testing.assert_array_equal(one.valid, other.valid)
    np.testing.assert_array_equal(one.frames, other.frames)
    valid = one.valid.numpy()
    assert valid[0]
    alone = [
        nvc.decode_frames_at(data, [0, i], num_threads=threads, **options).valid.numpy()[1]
        for i in range(len(valid))
    ]
    assert alone == valid.tolist()
