"""RGB is within 1 of the float64 reference for every matrix, range and depth."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from all_pairs import all_pairs
from clip_table import RANGES, SPACES, colour_clip
from golden_clips import Clips
from reference import Frame, View, differences

import tf_nvcodec as nvc

# Fixed-point arithmetic may round a value near a half the other way. At most this share of the
# samples may be off by 1.
MOST_OFF_BY_ONE = 0.05


WHOLE = View()


def check_rgb8(frames: tf.Tensor, want: list[Frame], view: View = WHOLE) -> None:
    got = frames.numpy()
    assert len(got) == len(want)
    for ours, frame in zip(got, want):
        difference = differences(ours, frame.rgb(view) * 255)
        assert difference.max() <= 1, f"off by {difference.max()} at {np.argmax(difference)}"
        assert (difference > 0).mean() <= MOST_OFF_BY_ONE, (
            f"{(difference > 0).mean():.4f} are 1 off"
        )


@pytest.mark.parametrize(
    ("space", "colour_range", "depth"), all_pairs(list(SPACES), list(RANGES), [8, 10])
)
def test_tagged_noise(clips: Clips, space: str, colour_range: str, depth: int) -> None:
    name = colour_clip(space, colour_range, depth)
    frames, _ = nvc.decode_video(clips.data(name))
    check_rgb8(frames, clips.reference(name, 2, space=space, colour_range=colour_range))


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("colour_range", RANGES)
def test_tags_in_the_bitstream(clips: Clips, space: str, colour_range: str) -> None:
    name = f"h264_{space}_{colour_range}.mp4"
    frames, _ = nvc.decode_video(clips.data(name))
    check_rgb8(frames, clips.reference(name, 3, space=space, colour_range=colour_range))


@pytest.mark.parametrize("name", ["hevc_bt2020.mp4", "vp9_bt709.webm"])
def test_tags_of_other_codecs(clips: Clips, name: str) -> None:
    frames, _ = nvc.decode_video(clips.data(name), stop=2)
    space = name.partition(".")[0].partition("_")[2]
    check_rgb8(frames, clips.reference(name, 2, space=space, colour_range="limited"))


@pytest.mark.parametrize("name", ["colour_422.mkv", "colour_444.mkv", "colour_444_12.mkv"])
def test_other_chroma(clips: Clips, name: str) -> None:
    frames, _ = nvc.decode_video(clips.data(name))
    check_rgb8(frames, clips.reference(name, 2, space="bt709"))


def test_odd_size(clips: Clips) -> None:
    frames, _ = nvc.decode_video(clips.data("colour_odd.mkv"))
    assert frames.shape == (2, 65, 97, 3)
    check_rgb8(frames, clips.reference("colour_odd.mkv", 2, space="bt709"))


@pytest.mark.parametrize(
    ("name", "colour_range"),
    [
        ("ffv1_yuv411p.mkv", "limited"),
        ("ffv1_alpha.mkv", "limited"),
        ("vp9_yuv440p.webm", "limited"),
        ("mjpeg.avi", "full"),
        ("mjpeg_422.mkv", "full"),
        ("h264_gray.mp4", "full"),
        ("ffv1_gray.mkv", "full"),
        ("ffv1_gray12le.mkv", "full"),
        ("ffv1_gray16.mkv", "full"),
        ("vp9_gbrp.webm", "full"),
        ("ffv1_rgb.mkv", "full"),
    ],
)
def test_other_formats(clips: Clips, name: str, colour_range: str) -> None:
    tagged = clips.frames(name).stream.get("color_range")
    assert tagged in (None, "unknown", RANGES[colour_range])
    frames, _ = nvc.decode_video(clips.data(name), stop=2)
    check_rgb8(frames, clips.reference(name, 2, colour_range=colour_range))


def test_untagged_streams_are_guessed_by_size(clips: Clips) -> None:
    """Without tags, the matrix is BT.601 for small pictures and BT.709 from 1280 columns on. The
    range is limited."""
    frames, _ = nvc.decode_video(clips.data("colour_untagged.mkv"))
    check_rgb8(frames, clips.reference("colour_untagged.mkv", 2, space="bt601"))
    for name in ("colour_untagged_hd.mp4", "bbb.mp4"):
        frames, _ = nvc.decode_video(clips.data(name), stop=1)
        check_rgb8(frames, clips.reference(name, 1, space="bt709"))


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("colour_range", RANGES)
def test_overrides(clips: Clips, space: str, colour_range: str) -> None:
    name = colour_clip("bt601", "limited", 8)
    data = clips.data(name)
    frames, _ = nvc.decode_video(data, color_space=space, color_range=colour_range)
    check_rgb8(frames, clips.reference(name, 2, space=space, colour_range=colour_range))
    frames, _ = nvc.decode_video(data, color_space=space)
    check_rgb8(frames, clips.reference(name, 2, space=space, colour_range="limited"))
    frames, _ = nvc.decode_video(data, color_range=colour_range)
    check_rgb8(frames, clips.reference(name, 2, space="bt601", colour_range=colour_range))


# A stream that does not say its siting means left, as in MPEG-2 and all codecs since.
SITINGS = {"left": (-1, 0), "center": (0, 0), "topleft": (-1, -1)}


@pytest.mark.parametrize("siting", SITINGS)
def test_bilinear_chroma_follows_the_siting(clips: Clips, siting: str) -> None:
    name = f"h264_siting_{siting}.mp4"
    assert clips.frames(name).stream["chroma_location"] == siting
    frames, _ = nvc.decode_video(clips.data(name), chroma_upsampling="bilinear")
    check_rgb8(frames, clips.reference(name, 2), View(siting=SITINGS[siting]))


@pytest.mark.parametrize("name", ["colour_odd.mkv", "colour_422.mkv", "colour_444.mkv"])
def test_bilinear_chroma_of_unsited_streams(clips: Clips, name: str) -> None:
    frames, _ = nvc.decode_video(clips.data(name), chroma_upsampling="bilinear")
    check_rgb8(frames, clips.reference(name, 2, space="bt709"), View(siting=SITINGS["left"]))


@pytest.mark.parametrize("argument", ["color_space", "color_range", "chroma_upsampling"])
def test_unknown_names_are_refused(clips: Clips, argument: str) -> None:
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=argument):
        nvc.decode_video(clips.data("one_frame.mp4"), **{argument: "sepia"})
