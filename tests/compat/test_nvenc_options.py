"""NVENC's options are compared with libavcodec's tables of options, which needs no GPU."""

from __future__ import annotations

import pytest

import tf_nvcodec.compat as nvc
from tf_nvcodec.compat import encode_nvenc, encode_parameters, encode_table

ENCODERS = ["h264_nvenc", "hevc_nvenc", "av1_nvenc"]


def options(**params: object) -> dict[str, str]:
    return encode_nvenc.options_for(encode_parameters.read(params, 320, 192))


def ignored(**params: object) -> list[str]:
    values = encode_parameters.read(params, 320, 192)
    return [name for name, _ in encode_nvenc.ignored_by(values, params)]


def need(encoder: str) -> None:
    try:
        encode_nvenc.check_options(encoder, {})
    except nvc.PyNvVCExceptionUnsupported as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"rc": "cbr", "bitrate": "5M", "vbvbufsize": "5M", "vbvinit": "2M", "gop": 60, "bf": 0},
        {"rc": "vbr", "bitrate": "5M", "maxbitrate": "9M", "qmin": 20},
        {"rc": "vbr", "bitrate": "5M", "qmin": 20, "qmax": 40, "initqp": [30, 32, 28]},
        {"constqp": [28, 31, 25], "bf": 2, "idrperiod": 2**32 - 1},
        {"aq": 0, "lookahead": 32, "temporalaq": 1, "multipass": "qres", "ldkfs": 255},
        {"aq": 15, "multipass": "fullres", "gpu_id": 1, "gop": 1},
        *({"preset": f"P{i}"} for i in range(1, 8)),
        *(
            {"tuning_info": name}
            for name in ("high_quality", "low_latency", "ultra_low_latency", "lossless")
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::tf_nvcodec.compat.IgnoredParameterWarning")
def test_libavcodec_has_the_options_and_takes_their_values(
    encoder: str, params: dict[str, object]
) -> None:
    need(encoder)
    codec = encoder.partition("_")[0]
    encode_nvenc.check_options(encoder, options(codec=codec, **params))


@pytest.mark.parametrize("encoder", ENCODERS)
def test_libavcodec_has_every_option_that_the_table_names(encoder: str) -> None:
    need(encoder)
    probe = {"tune": "hq", "rc": "cbr", "preset": "p4", "multipass": "qres"}
    probe |= {"colorspace": "bt709", "color_primaries": "bt709", "color_trc": "bt709"}
    probe |= {"color_range": "tv"}
    named = {name for row in encode_table.PARAMETERS for name in row.nvenc}
    encode_nvenc.check_options(encoder, {name: probe.get(name, "1") for name in sorted(named)})


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_check_catches_wrong_names_and_values(encoder: str) -> None:
    need(encoder)
    with pytest.raises(ValueError, match=f'{encoder} has no option "no-such"'):
        encode_nvenc.check_options(encoder, {"preset": "p1", "no-such": "1"})
    with pytest.raises(ValueError, match='option "preset" does not take "p9"'):
        encode_nvenc.check_options(encoder, {"preset": "p9"})


def test_what_options_become() -> None:
    assert options(constqp=[30, 33, 26])["i_qoffset"] == "-4"
    assert options(constqp=[30, 33, 26])["b_qoffset"] == "3"
    assert options(tuning_info="low_latency")["bf"] == "0"
    assert options(tuning_info="low_latency")["delay"] == "0"
    assert "delay" not in options(tuning_info="low_latency", lookahead=8)
    assert "aq-strength" not in options(aq=0)
    assert options(tuning_info="lossless")["qp"] == "0"
    assert options(bitrate=5000)["bufsize"] == "5000"
    assert "bufsize" not in options(bitrate=5000, rc="vbr")
    assert options(bitrate=5000, rc="vbr", initqp=[30, 33, 26])["init_qpB"] == "33"
    assert encode_nvenc.encoder_of("hevc") == "hevc_nvenc"


def test_b_frames_are_always_told() -> None:
    """The times of packets depend on the number of B-frames. libavcodec does not report the
    number that NVENC would choose."""
    assert [options(codec=codec)["bf"] for codec in ("h264", "hevc", "av1")] == ["2", "0", "0"]
    assert options(codec="hevc", bf=3)["bf"] == "3"
    assert options(bf=3, gop=1)["bf"] == "0"


def test_what_libavcodec_does_not_pass_on_is_ignored() -> None:
    assert ignored(bitrate="5M", vbvinit=5000, max_res="4096x4096") == ["max_res", "vbvinit"]
    assert ignored(bitrate="5M", qmin=20, initqp=30) == ["initqp", "qmin"]
    assert ignored(bitrate="5M", rc="vbr", qmin=20, initqp=30) == []
    assert ignored(bitrate="5M", rc="vbr", qmin=[20, 22, 18], qmax=[40, 40, 41]) == ["qmin", "qmax"]
    assert ignored(bitrate="5M", rc="vbr", qmax=40) == ["qmax"]
    assert "qmax" not in options(bitrate="5M", rc="vbr", qmax=40)
    assert "qmin" not in options(bitrate="5M", qmin=20, qmax=40)


def test_one_slice_is_what_libavcodec_asks_for() -> None:
    assert options(slice={"mode": 3, "data": 1}) == options()


def test_slices_are_not_passed_on() -> None:
    with pytest.raises(
        nvc.PyNvVCExceptionUnsupported, match="slice::mode=3 with slice::data=4: libavcodec"
    ):
        options(slice={"mode": 3, "data": 4})


def test_an_encoder_that_this_ffmpeg_lacks() -> None:
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="no_such_nvenc"):
        encode_nvenc.check_options("no_such_nvenc", {})
