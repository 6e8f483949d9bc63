"""Tests the parameters of CreateEncoder: every name, type, range and codec, and the
documentation."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from pathlib import Path

import pytest

import tf_nvcodec.compat as nvc
from tf_nvcodec.compat import encode_parameters, encode_table

# The guide's Table 1.
GUIDE = [
    *("codec", "bitrate", "fps", "initqp", "idrperiod", "constqp", "qmin", "gop", "tuning_info"),
    *("preset", "maxbitrate", "vbvinit", "vbvbufsize", "rc", "multipass", "bf", "max_res"),
    *("temporalaq", "lookahead", "aq", "ldkfs", "colorspace", "timingInfo::num_unit_in_ticks"),
    *("timingInfo::timescale", "slice::mode", "slice::data", "repeatspspps"),
]


def read(**params: object) -> encode_parameters.EncodeParameters:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nvc.IgnoredParameterWarning)
        return encode_parameters.read(params, 320, 192)


def test_the_table_has_every_parameter_of_the_guide() -> None:
    assert set(GUIDE) <= set(encode_table.BY_NAME)


@pytest.mark.parametrize(
    ("name", "value", "attribute", "want"),
    [
        ("codec", "HEVC", "codec", "hevc"),
        ("bitrate", "5M", "bitrate", 5 * 1024 * 1024),
        ("bitrate", "1000K", "bitrate", 1024000),
        ("bitrate", 4e6, "bitrate", 4000000),
        ("bitrate", "750000", "bitrate", 750000),
        ("fps", 29.97, "fps", Fraction(30000, 1001)),
        ("fps", "25", "fps", Fraction(25)),
        ("fps", "30000/1001", "fps", Fraction(30000, 1001)),
        ("constqp", 30, "qp", (30, 30, 30)),
        ("constqp", [28, 31, 25], "qp", (28, 31, 25)),
        ("constqp", "28,31,25", "qp", (28, 31, 25)),
        ("preset", "p7", "preset", 7),
        ("tuning_info", "ultra_low_latency", "tuning", "ultra_low_latency"),
        ("multipass", "fullres", "multipass", "fullres"),
        ("bf", "3", "b_frames", 3),
        ("gop", "30", "gop", 30),
        ("gop", [30, 30, 30], "gop", 30),
        ("gpuid", 1, "gpu", 1),
        ("idrperiod", 60, "gop", 60),
        ("temporalaq", True, "temporal_aq", 1),
        ("lookahead", "16", "lookahead", 16),
        ("aq", 8, "aq", 8),
        ("ldkfs", 100, "key_frame_scale", 100),
        ("colorspace", "bt709", "color_space", "bt709"),
        ("repeatspspps", "1", "repeat_sets", True),
        ("max_res", [4096, 4096], "codec", "h264"),
        ("slice", {"mode": 3, "data": 4}, "slices", (3, 4)),
        ("timinginfo", {"num_unit_in_ticks": 1, "timescale": 50}, "tick", (1, 50)),
    ],
)
def test_values_come_as_strings_or_numbers(
    name: str, value: object, attribute: str, want: object
) -> None:
    assert getattr(read(**{name: value}), attribute) == want


def test_zero_leaves_unset() -> None:
    zeros = {"maxbitrate": 0, "vbvinit": "0", "vbvbufsize": 0.0}
    zeros.update(qmin="0,0,0", qmax=0)
    zeros["initqp"] = [0, 0, 0]
    given = {"bitrate": "5M", "rc": "vbr"}
    assert read(**given, **zeros) == read(**given)
    with warnings.catch_warnings():
        warnings.simplefilter("error", nvc.IgnoredParameterWarning)
        nvc.CreateEncoder(64, 64, "NV12", True, codec="h264", **given, **zeros).EndEncode()


def test_bounds_of_the_qp_that_leave_none() -> None:
    with pytest.raises(ValueError, match=r"qmin=\[30, 30, 30\] is above qmax=\[40, 20, 40\]"):
        read(bitrate="5M", qmin=30, qmax=[40, 20, 40])


BAD = {
    "codec": ["vp9", 264],
    "bitrate": ["5G", "fast", 0, -1, 2**31],
    "fps": [0, -25, "often", 2000],
    "initqp": [52, [20, 20], "20;20;20"],
    "idrperiod": [0, -1, "x"],
    "constqp": [-1, 52, [28, 31], [28, 31, 60], "a,b,c"],
    "qmin": [-1, 52],
    "qmax": [-1, 52],
    "gop": [0, 1.5, "many"],
    "tuning_info": ["hq", "ultra_high_quality", 1],
    "preset": ["P0", "P8", "slow", 4],
    "maxbitrate": ["x", 1],
    "vbvinit": ["x", 1],
    "vbvbufsize": ["x", 1],
    "rc": ["abr", 1],
    "multipass": ["full", 2],
    "bf": [-1, 17, "two"],
    "max_res": [4096, [1, 2, 3], "wide"],
    "temporalaq": [2, "yes"],
    "lookahead": [-1, 256],
    "aq": [-1, 16],
    "ldkfs": [-1, 256],
    "colorspace": ["bt470", 709],
    "timingInfo::num_unit_in_ticks": [0, "x"],
    "timingInfo::timescale": [0, -1],
    "slice::mode": [4, -1, "rows"],
    "slice::data": [-1, "x"],
    "repeatspspps": [2, "yes"],
}


def test_every_parameter_is_tried_with_bad_values() -> None:
    assert set(BAD) == {*GUIDE, "qmax"}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD.items() for v in values])
def test_a_bad_value_names_the_parameter_the_value_and_what_is_allowed(
    name: str, value: object
) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(value))) as raised:
        read(**{name: value})
    assert str(raised.value).startswith(f"{name} must be ")
    assert isinstance(raised.value, nvc.PyNvVCException)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no parameter 'bitrates' \(got 5\).*bitrate, fps"):
        read(bitrates=5)


@pytest.mark.parametrize("name", ["slice::mode", "slice::data", "repeatspspps"])
def test_a_parameter_of_other_codecs_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}=1 is for codec h264 and hevc; got codec av1"):
        read(codec="av1", **{name: 1})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"bitrate": 2000000, "constqp": 30}, "exclude each other"),
        ({"rc": "cbr", "constqp": 30}, "needs rc constqp"),
        ({"rc": "vbr", "bitrate": "2M", "maxbitrate": "1M"}, "maxbitrate=1048576 is below"),
        ({"rc": "vbr", "vbvinit": 1000}, "vbvinit=1000 does not fit"),
        ({"vbvbufsize": 1000, "vbvinit": 2000}, "vbvinit=2000 does not fit"),
        ({"tuning_info": "lossless", "bitrate": "2M"}, "lossless leaves no rate"),
        ({"tuning_info": "lossless", "rc": "vbr"}, "lossless leaves no rate"),
        ({"slice::mode": 3}, "slice::mode=3 needs slice::data"),
        ({"timingInfo::timescale": 60}, "needs timingInfo::num_unit_in_ticks"),
        ({"max_res": [100, 100]}, "less than the frames' 320x192"),
        ({"slice": {"mode": 3, "data": 2}, "slice_mode": 3}, "slice::mode is given twice"),
    ],
)
def test_parameters_that_contradict_each_other(params: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(**params)


@pytest.mark.parametrize(
    ("params", "rc"),
    [
        ({}, "constqp"),
        ({"bitrate": "2M"}, "cbr"),
        ({"vbvbufsize": "2M"}, "cbr"),
        ({"rc": "vbr"}, "vbr"),
        ({"tuning_info": "lossless"}, "constqp"),
    ],
)
def test_the_rate_control_that_is_asked_for(params: dict[str, object], rc: str) -> None:
    assert read(**params).rc == rc


def test_the_documentation_has_the_table() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "pynvvideocodec_encoding.md"
    if not page.exists():
        pytest.skip("the documentation is not beside the tests")
    assert encode_table.as_markdown() in page.read_text()
