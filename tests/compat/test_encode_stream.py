"""Tests the parameters that shape the stream. Its headers show their effect."""

from __future__ import annotations

import collections
import time

import numpy as np
import pytest
from compat_streams import HEIGHT, WIDTH, Stream, encode, nv12_frames

import tf_nvcodec.compat as nvc

CODECS = ["h264", "hevc", "av1"]
H26X = ["h264", "hevc"]
FRAMES = nv12_frames(24)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("params", "period"),
    [
        ({"gop": 8}, 8),
        ({"idrperiod": 6}, 6),
        ({"gop": 12, "idrperiod": 5}, 5),
        ({"gop": 5, "idrperiod": 10}, 5),
        ({"gop": 1}, 1),
        ({}, 250),
    ],
)
def test_key_frames_come_at_the_gop(codec: str, params: dict[str, int], period: int) -> None:
    stream = encode(FRAMES, codec, preset="P1", **params)
    assert len(stream.file.frames) == len(FRAMES)
    assert stream.key_frames == list(range(0, len(FRAMES), period))


@pytest.mark.parametrize("codec", H26X)
def test_a_cut_makes_no_key_frame_of_its_own(codec: str) -> None:
    frames = nv12_frames(6) + [255 - frame for frame in nv12_frames(6, seed=1)]
    assert encode(frames, codec, gop=8).key_frames == [0, 8]


@pytest.mark.parametrize("codec", H26X)
@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_b_frames_come_in_the_number_asked_for(codec: str, count: int) -> None:
    stream = encode(FRAMES[: 1 + 3 * (count + 1)], codec, bf=count)
    assert stream.picture_types == "I" + ("B" * count + "P") * 3


def longest_run(types: str) -> int:
    """Returns the largest number of B-frames in a row."""
    return max(map(len, types.replace("I", "P").split("P")))


@pytest.mark.parametrize(
    ("codec", "params", "want"),
    [
        *((codec, {"preset": f"P{preset}"}, None) for codec in H26X for preset in range(1, 8)),
        *((codec, {"bf": count}, count) for codec in H26X for count in (0, 1, 4)),
        *((codec, {"gop": 1}, 0) for codec in (*H26X, "av1")),
        *((codec, {"tuning_info": "low_latency"}, 0) for codec in (*H26X, "av1")),
        ("hevc", {"preset": "P7", "lookahead": 3}, 2),
        ("av1", {"rc": "cbr", "bitrate": 100000}, 0),
        ("av1", {}, 15),
    ],
)
def test_the_number_of_b_frames_is_told(
    codec: str, params: dict[str, object], want: int | None
) -> None:
    """For x265, whose settings are not in the stream, the number is a limit."""
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec=codec, **params)
    told = encoder.GetNumBFrames()
    data = b"".join(encoder.Encode(frame) for frame in nv12_frames(36)) + encoder.EndEncode()
    assert encoder.GetNumBFrames() == told
    if want is not None:
        assert told == want
    elif codec == "h264":  # x264 writes its settings into the stream
        assert f" bframes={told} ".encode() in data
    else:
        assert 0 < longest_run(Stream(data, codec).picture_types) <= told


@pytest.mark.parametrize(
    ("params", "want"),
    [
        ({"preset": "P1", "bf": 16}, 16),
        ({"preset": "P4", "bf": 15}, 15),
        ({"preset": "P7", "lookahead": 0, "bf": 2}, 2),
        ({"tuning_info": "low_latency", "bf": 2}, 2),
    ],
)
def test_x265_looks_past_its_b_frames(params: dict[str, object], want: int) -> None:
    assert longest_run(encode(nv12_frames(36), "hevc", gop=40, **params).picture_types) == want


def test_x265_has_no_more_b_frames_than_it_looks_ahead() -> None:
    few = encode(FRAMES, "hevc", preset="P7", lookahead=3).picture_types
    assert 0 < longest_run(few) <= 2
    assert longest_run(encode(FRAMES, "hevc", preset="P7", lookahead=0).picture_types) > 0
    with pytest.raises(ValueError, match="lookahead=3: libx265 looks further ahead than bf=3"):
        encode(FRAMES, "hevc", lookahead=3, bf=3)


def test_av1_without_b_frames_shows_frames_as_they_are_decoded() -> None:
    assert all(
        unit.fields.get("show_frame", 1) == 1 and not unit.fields.get("show_existing_frame")
        for units in encode(FRAMES, "av1", bf=0).slices()
        for unit in units
    )
    with pytest.warns(nvc.IgnoredParameterWarning, match="bf has no effect"):
        encode(FRAMES[:2], "av1", bf=2)


LOW_LATENCIES = pytest.mark.parametrize("tuning", ["low_latency", "ultra_low_latency"])


@pytest.mark.parametrize("codec", H26X)
@LOW_LATENCIES
def test_low_latency_gives_a_packet_for_every_frame(codec: str, tuning: str) -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec=codec, tuning_info=tuning)
    assert all(encoder.Encode(frame) for frame in FRAMES[:8])
    assert not encoder.EndEncode()


@pytest.mark.serial
@LOW_LATENCIES
def test_low_latency_gives_av1_within_a_few_frames(tuning: str) -> None:
    """SVT-AV1 encodes in its own threads. The first packet comes after two frames on an idle
    machine and later on a busy one. With high quality it comes after some thirty frames."""
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec="av1", tuning_info=tuning)
    for i, frame in enumerate(FRAMES[:20]):
        if encoder.Encode(frame):
            break
        time.sleep(min(0.1 * 1.5**i, 5))
    else:
        encoder.EndEncode()
        pytest.fail("20 frames in a minute gave no packet")
    assert encoder.EndEncode()


@pytest.mark.parametrize(
    ("codec", "mode", "data", "want"),
    [
        ("h264", 0, 60, 4),  # The picture has 20 x 12 macroblocks.
        ("h264", 2, 4, 3),
        ("h264", 3, 6, 6),
        ("hevc", 3, 3, 3),  # The picture has 3 rows of coding tree units.
        ("h264", 0, 0, 1),
        ("hevc", 0, 0, 1),
    ],
)
def test_slices_of_a_picture(codec: str, mode: int, data: int, want: int) -> None:
    stream = encode(FRAMES[:6], codec, **{"slice::mode": mode, "slice::data": data})
    counts = {len(units) for units in stream.slices()}
    assert counts == {want}


def test_slices_of_a_number_of_bytes() -> None:
    most = 700
    stream = encode(FRAMES[:4], "h264", constqp=20, **{"slice::mode": 1, "slice::data": most})
    units = [unit for unit in stream.data.split(b"\x00\x00\x01") if unit]
    slices = [len(unit) for unit in units if unit[0] & 31 in (1, 5)]
    assert len(slices) > 8
    assert most // 2 < max(slices) <= most


@pytest.mark.parametrize(
    ("codec", "params", "message"),
    [
        ("hevc", {"slice::mode": 1, "slice::data": 900}, "slice::mode=1: libx265"),
        ("h264", {"slice::mode": 3, "slice::data": 13}, "slice::data=13: a frame has 12 rows"),
        ("hevc", {"slice::mode": 3, "slice::data": 4}, "slice::data=4: a frame has 3 rows"),
    ],
)
def test_slices_that_can_not_be(codec: str, params: dict[str, int], message: str) -> None:
    with pytest.raises(nvc.PyNvVCException, match=message):
        nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec=codec, **params)


@pytest.mark.parametrize(
    ("codec", "titles"),
    [
        ("h264", ["Sequence Parameter Set", "Picture Parameter Set"]),
        ("hevc", ["Video Parameter Set", "Sequence Parameter Set", "Picture Parameter Set"]),
    ],
)
@pytest.mark.parametrize("repeat", [0, 1])
def test_parameter_sets_at_each_idr(codec: str, titles: list[str], repeat: int) -> None:
    stream = encode(FRAMES, codec, gop=8, bf=0, repeatspspps=repeat)
    for title in titles:
        assert stream.sets(title) == ([0, 8, 16] if repeat else [0])


def test_av1_repeats_its_sequence_header() -> None:
    stream = encode(FRAMES, "av1", gop=8, bf=0)
    assert stream.sets("Sequence Header") == [0, 8, 16]
    assert stream.sets("Temporal Delimiter") == list(range(24))


_TICKS = {
    "h264": ("num_units_in_tick", "time_scale"),
    "hevc": ("vui_num_units_in_tick", "vui_time_scale"),
    "av1": ("num_units_in_display_tick", "time_scale"),
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("params", "want"),
    [
        ({"timingInfo::num_unit_in_ticks": 1001, "timingInfo::timescale": 48000}, (1001, 48000)),
        ({"timingInfo::num_unit_in_ticks": 3, "timingInfo::timescale": 77}, (3, 77)),
        ({"fps": 25}, (1, 25)),
        ({"fps": 59.94}, (1001, 60000)),
    ],
)
def test_timing_information(codec: str, params: dict[str, float], want: tuple[int, int]) -> None:
    stream = encode(FRAMES[:2], codec, **params)
    title = "Sequence Header" if codec == "av1" else "Sequence Parameter Set"
    (sets,) = (unit for unit in stream.packets[0] if unit.title == title)
    if codec == "h264" and "fps" in params:
        want = (want[0], 2 * want[1])  # H.264 counts fields, two for each frame.
    assert tuple(sets.fields[name] for name in _TICKS[codec]) == want


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("space", "tags"),
    [
        ("bt601", ("smpte170m", "smpte170m", "smpte170m")),
        ("bt709", ("bt709", "bt709", "bt709")),
        ("bt2020", ("bt2020nc", "bt2020", "bt2020-10")),
        (None, (None, None, None)),
    ],
)
def test_colour_tags(codec: str, space: str | None, tags: tuple[str | None, ...]) -> None:
    params = {"colorspace": space} if space else {}
    shown = encode(FRAMES[:1], codec, **params).file.stream
    names = ("color_space", "color_primaries", "color_transfer")
    assert tuple(shown.get(name) for name in names) == tags
    if space:
        assert shown["color_range"] == "tv"


def test_frames_look_the_same_whatever_their_parameters() -> None:
    """Presets trade time for size. Every stream decodes to nearly the input."""
    for codec in CODECS:
        for preset in ("P1", "P4", "P7"):
            stream = encode(FRAMES[:3], codec, preset=preset, constqp=20 if codec != "av1" else 40)
            decoded = np.frombuffer(stream.file.planes("nv12"), np.uint8)
            error = decoded.astype(int) - np.concatenate(FRAMES[:3]).reshape(-1)
            assert np.abs(error).mean() < 2.5, (codec, preset)


def test_types_of_pictures_of_the_default() -> None:
    counts = collections.Counter(encode(FRAMES, "h264").picture_types)
    assert counts["I"] == 1 and counts["B"] > counts["P"]
