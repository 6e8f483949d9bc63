"""Encodes with every codec into every container that can hold it. FFmpeg's tools read the files."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import tensorflow as tf
from all_pairs import pairs_of
from encoded import CONTAINERS, FAST, OPENH264, PAIRS, Encoded, moving, psnr

import tf_nvcodec as nvc

COUNT, HEIGHT, WIDTH = 20, 66, 98
# These containers keep times, and streams in them start at the time that the caller gives.
TIMED = [
    (codec, container) for codec, container in PAIRS if container in ("mp4", "mov", "mkv", "webm")
]
MATRICES = {"bt601": "smpte170m", "bt709": "bt709", "bt2020": "bt2020nc"}


def encode(codec: str, container: str, **options: object) -> Encoded:
    options.setdefault("preset", FAST.get(codec))
    if codec in ("h264", "hevc"):
        options.setdefault("crf", 22)
    frames = options.pop("frames", moving(COUNT, HEIGHT, WIDTH))
    data = nvc.encode_video(frames, options.pop("fps", 30), codec, container, **options).numpy()
    return Encoded(data, codec, container)


@pytest.mark.parametrize(("codec", "container"), PAIRS)
def test_reads_back(codec: str, container: str) -> None:
    video = encode(codec, container)
    assert video.stream["codec_name"] == codec
    assert (video.stream["width"], video.stream["height"]) == (WIDTH, HEIGHT)
    assert int(video.stream["nb_read_packets"]) == COUNT
    frames = np.frombuffer(video.planes("rgb24"), np.uint8).reshape(COUNT, HEIGHT, WIDTH, 3)
    assert psnr(frames, moving(COUNT, HEIGHT, WIDTH)) > 27
    decoded = nvc.decode_video(video.data)
    assert decoded.frames.shape == (COUNT, HEIGHT, WIDTH, 3)
    assert psnr(decoded.frames.numpy(), moving(COUNT, HEIGHT, WIDTH)) > 27
    # Elementary streams of AV1, MJPEG and OpenH264 store no rate, and FFmpeg assumes 25.
    no_rate = ("av1", "mjpeg", "h264") if OPENH264 else ("av1", "mjpeg")
    fps = 25 if container in ("raw", "obu") and codec in no_rate else 30
    slack = 0.0011 if container in ("mkv", "webm") else 1e-5
    times = decoded.pts.numpy()
    np.testing.assert_allclose(times - times[0], np.arange(COUNT) / fps, atol=slack)


@pytest.mark.parametrize(
    ("codec", "container", "fps"),
    pairs_of((*pair, fps) for pair in TIMED for fps in (30, 29.97, 24000 / 1001, 12.5)),
)
def test_rate_is_kept(codec: str, container: str, fps: float) -> None:
    video = encode(codec, container, fps=fps)
    exact = {29.97: Fraction(30000, 1001), 24000 / 1001: Fraction(24000, 1001)}
    assert video.rate == exact.get(fps, Fraction(fps))
    slack = 0.0006 if container in ("mkv", "webm") else 1e-6
    np.testing.assert_allclose(video.pts, np.arange(COUNT) / float(video.rate), atol=slack)


UNEVEN = np.cumsum([0.5, *np.random.default_rng(1).uniform(0.005, 0.2, COUNT - 1).round(4)])


TIMES = [
    (codec, container, bf, first, even)
    for codec, container in [*TIMED, ("h264", "ts"), ("hevc", "ts"), ("av1", "ivf"), ("vp9", "ivf")]
    for bf in ((0, 2) if codec in ("h264", "hevc") else (None,))
    for first in (0, 0.0005, 0.1234567, 3.3333)
    for even in (True, False)
]
ALL_TIMES = [row for row in TIMES if row[:2] in (("h264", "mp4"), ("h264", "ts"))]


@pytest.mark.parametrize(
    ("codec", "container", "bf", "first", "even"), dict.fromkeys([*ALL_TIMES, *pairs_of(TIMES)])
)
def test_times_are_kept(
    codec: str, container: str, bf: int | None, first: float, even: bool
) -> None:
    pts = first + (np.arange(COUNT) / 25 if even else UNEVEN - UNEVEN[0])
    # Only fragmented MP4 has B-frames at uneven times.
    fragmented = container in ("mp4", "mov") and bool(bf)
    video = encode(codec, container, pts=pts, bf=bf, fragmented=fragmented)
    if not OPENH264:
        assert bool(video.stream.get("has_b_frames")) == bool(bf)
    tick = {"mkv": 1e-3, "webm": 1e-3, "ts": 1 / 90000}.get(container, 1e-6)
    np.testing.assert_allclose(video.pts, pts, rtol=0, atol=0.51 * tick + 5e-7)
    np.testing.assert_allclose(nvc.decode_video(video.data).pts, pts, rtol=0, atol=0.51 * tick)
    if first == 0:
        assert video.pts[0] == 0


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1", "vp9", "mjpeg"])
def test_fragmented(codec: str) -> None:
    gop = {} if codec == "mjpeg" else {"gop": 5}
    video = encode(codec, "mp4", fragmented=True, **gop)
    assert video.data.count(b"moof") >= COUNT // 5
    assert b"moof" not in encode(codec, "mp4", **gop).data
    np.testing.assert_allclose(video.pts, np.arange(COUNT) / 30, atol=1e-6)
    assert nvc.decode_video(video.data).frames.shape[0] == COUNT


def test_fragmented_mov() -> None:
    assert b"moof" in encode("h264", "mov", fragmented=True).data


def test_index_is_in_front_by_default() -> None:
    fast, slow = encode("h264", "mp4").data, encode("h264", "mp4", faststart=False).data
    assert fast.index(b"moov") < fast.index(b"mdat")
    assert slow.index(b"moov") > slow.index(b"mdat")


def test_hevc_has_the_tag_that_apple_reads() -> None:
    assert encode("hevc", "mp4").stream["codec_tag_string"] == "hvc1"


@pytest.mark.parametrize(("codec", "container"), PAIRS)
def test_one_frame(codec: str, container: str) -> None:
    video = encode(codec, container, frames=moving(1, 64, 64))
    if (codec, container) == ("mjpeg", "raw"):
        # One JPEG is an image file, which the demuxer does not take for a video.
        assert video.data.startswith(b"\xff\xd8\xff")
        return
    assert nvc.decode_video(video.data).frames.shape == (1, 64, 64, 3)


@pytest.mark.parametrize("codec", CONTAINERS)
def test_other_containers_are_refused_with_a_list(codec: str) -> None:
    everything = {"mp4", "mov", "mkv", "webm", "avi", "ts", "raw", "ivf", "obu"}
    for container in sorted(everything - set(CONTAINERS[codec])):
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            encode(codec, container)
        assert f"containers that can: {', '.join(CONTAINERS[codec])}" in str(error.value)


@pytest.mark.parametrize(
    ("codec", "container", "color_space", "color_range"),
    pairs_of(
        (*pair, space, color_range)
        for pair in PAIRS
        for space in MATRICES
        for color_range in ("limited", "full")
        if pair[0] != "mjpeg"
    ),
)
def test_colours_are_tagged(codec: str, container: str, color_space: str, color_range: str) -> None:
    options = {"color_space": color_space, "color_range": color_range, "pixel_format": "yuv420p"}
    frames = moving(2, HEIGHT, WIDTH)
    if codec == "ffv1" and container != "mkv":
        lost = color_range == "full" or (container == "avi" and color_space != "bt601")
        if lost:
            with pytest.raises(tf.errors.InvalidArgumentError, match="use container mkv"):
                encode(codec, container, frames=frames, **options)
            return
    video = encode(codec, container, frames=frames, **options)
    if (codec, container) == ("ffv1", "avi"):
        return  # AVI stores no tags. encode_video allows it because these are the defaults.
    info = nvc.probe(video.data)
    assert info.color_space.numpy().decode() == MATRICES[color_space]
    assert video.stream["color_space"] == MATRICES[color_space]
    if codec != "ffv1" or container == "mkv":
        assert info.color_range.numpy().decode() == color_range
        assert video.stream["color_range"] == {"limited": "tv", "full": "pc"}[color_range]
    if codec in ("h264", "hevc"):
        # OpenH264 does not write where chroma lies.
        assert video.stream["chroma_location"] == ("left" if OPENH264 else "center")
        assert video.stream["color_primaries"] == MATRICES[color_space].replace("nc", "")


@pytest.mark.parametrize(("codec", "container"), PAIRS)
def test_tags_that_are_options(codec: str, container: str) -> None:
    """FFmpeg's tools and probe find them in the bitstream, or else in the container."""
    tags = {"color_trc": "smpte2084", "color_primaries": "bt2020", "sar": "4/3"}
    video = encode(codec, container, frames=moving(2, 72, 96), options=tags)
    info = nvc.probe(video.data)
    tagged = container in ("mp4", "mov", "mkv", "webm")
    if tagged or codec in ("h264", "hevc", "av1"):
        assert video.stream["color_transfer"] == info.color_transfer.numpy().decode() == "smpte2084"
        assert video.stream["color_primaries"] == info.color_primaries.numpy().decode() == "bt2020"
    if tagged or codec not in ("av1", "vp9"):
        assert video.stream["sample_aspect_ratio"] == "4:3"
        assert float(info.sample_aspect_ratio) == pytest.approx(4 / 3)
    if container in ("mp4", "mov"):
        assert b"pasp\0\0\0\4\0\0\0\3" in video.data
    if container == "mp4":
        assert b"colrnclx\0\x09\0\x10" in video.data


# If these streams had B-frames, FFmpeg's reader would stop before their last frames.
HARD = [
    ("hevc", 3, [0, 0.5, 0.6, 0.7, 0.8]),
    ("hevc", 2, [0, 2, 2.5, 2.6, 2.7, 2.8, 2.9, 3.4]),
    ("h264", 2, [0, 2, 2.1, 2.2, 2.7, 2.8, 2.9]),
]


@pytest.mark.parametrize("container", ["mp4", "mov"])
@pytest.mark.parametrize(("codec", "gop", "pts"), HARD)
def test_no_frame_of_uneven_times_is_lost(
    codec: str, gop: int, pts: list[float], container: str
) -> None:
    frames = moving(len(pts), HEIGHT, WIDTH)
    video = encode(codec, container, frames=frames, pts=pts, gop=gop)
    np.testing.assert_allclose(video.pts, pts, atol=1e-6)
    np.testing.assert_allclose(nvc.decode_video(video.data).pts, pts, atol=1e-6)


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1", "vp9", "mjpeg"])
def test_the_last_frame_lasts_as_long_as_the_one_before(codec: str) -> None:
    pts = [0, 0.1, 0.25, 0.3, 0.9]
    video = encode(codec, "mp4", frames=moving(len(pts), HEIGHT, WIDTH), pts=pts)
    assert float(video.stream["duration"]) == pytest.approx(1.5, abs=1e-6)


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_uneven_times_and_b_frames(codec: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="set bf to 0 and no bframes"):
        encode(codec, "mp4", pts=UNEVEN, bf=2)
    params = {"h264": "x264-params", "hevc": "x265-params"}[codec]
    with pytest.raises(tf.errors.InvalidArgumentError, match="no bframes in options, or pass frag"):
        encode(codec, "mp4", pts=UNEVEN, options={params: "bframes=3"})
    assert len(encode(codec, "mp4", pts=UNEVEN, bf=2, gop=1).pts) == COUNT
    for options in ({"fragmented": True}, {"fps": 30, "pts": None}):
        video = encode(codec, "mp4", **{"pts": UNEVEN, "bf": 2, **options})
        assert len(video.pts) == COUNT


def test_raw_mjpeg_of_one_frame_is_read_back() -> None:
    frames = moving(1, HEIGHT, WIDTH)
    data = nvc.encode_video(frames, codec="mjpeg", container="raw")
    assert int(nvc.probe(data).num_frames) == 1
    assert psnr(nvc.decode_video(data).frames.numpy(), frames) > 30
