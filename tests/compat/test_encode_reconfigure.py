"""Tests Reconfigure: what can change within a stream, and what can't. The bitrate shows it."""

from __future__ import annotations

import numpy as np
import pytest
from compat_streams import HEIGHT, WIDTH, Stream, nv12_frames

import tf_nvcodec.compat as nvc

FPS = 30
SECONDS = 3


@pytest.fixture(scope="module")
def frames() -> list[np.ndarray]:
    return nv12_frames(2 * SECONDS * FPS)


def halves(frames: list[np.ndarray], params: dict, change: dict) -> tuple[Stream, list[int]]:
    """Encodes the frames and applies `change` in the middle. Returns the stream, and the sizes in
    bytes of its two halves."""
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, fps=FPS, bf=0, **params)
    data, sizes = b"", [0, 0]
    for i, frame in enumerate(frames):
        if i == len(frames) // 2:
            wanted = encoder.GetEncodeReconfigureParams()
            for name, value in change.items():
                setattr(wanted, name, value)
            assert encoder.Reconfigure(wanted)
            assert encoder.GetEncodeReconfigureParams() == wanted
        packet = encoder.Encode(frame)
        sizes[i >= len(frames) // 2] += len(packet)
        data += packet
    return Stream(data + encoder.EndEncode(), "h264"), sizes


LIVE = {"codec": "h264", "tuning_info": "low_latency", "gop": 1000}


@pytest.mark.parametrize("rc", ["cbr", "vbr"])
@pytest.mark.parametrize("factor", [0.4, 2])
def test_the_bitrate_changes_within_the_stream(
    rc: str, factor: float, frames: list[np.ndarray]
) -> None:
    bitrate = 600_000
    params = {**LIVE, "rc": rc, "bitrate": bitrate, "vbvbufsize": bitrate // 2}
    params["maxbitrate"] = bitrate
    change = {"averageBitrate": int(bitrate * factor), "maxBitRate": int(bitrate * factor)}
    change["vbvBufferSize"] = int(bitrate * factor) // 2
    stream, sizes = halves(frames, params, change)
    rates = [size * 8 / SECONDS for size in sizes]
    assert rates[0] == pytest.approx(bitrate, rel=0.25)
    assert rates[1] == pytest.approx(bitrate * factor, rel=0.25)
    # The session did not start again: there is one key frame and one set of headers.
    assert stream.key_frames == [0] and stream.sets("Sequence Parameter Set") == [0]
    assert len(stream.file.frames) == len(frames)


def test_the_frame_rate_changes_the_bits_of_a_frame(frames: list[np.ndarray]) -> None:
    params = {**LIVE, "rc": "cbr", "bitrate": 600_000, "vbvbufsize": 300_000}
    stream, sizes = halves(frames, params, {"frameRateNum": 60, "frameRateDen": 1})
    assert sizes[1] * 8 * 60 / (SECONDS * FPS) == pytest.approx(600_000, rel=0.25)
    assert sizes[1] == pytest.approx(sizes[0] / 2, rel=0.3)
    assert len(stream.file.frames) == len(frames)


def test_cbr_and_vbr_change_into_each_other(frames: list[np.ndarray]) -> None:
    params = {**LIVE, "rc": "cbr", "bitrate": 600_000}
    _, sizes = halves(
        frames, params, {"rateControlMode": nvc.NV_ENC_PARAMS_RC_MODE.VBR, "maxBitRate": 1_200_000}
    )
    assert sizes[1] * 8 / SECONDS == pytest.approx(600_000, rel=0.35)


def test_what_an_encoder_begins_with() -> None:
    encoder = nvc.CreateEncoder(
        WIDTH, HEIGHT, "NV12", True, bitrate=2_000_000, fps=29.97, vbvinit=500_000
    )
    assert encoder.GetEncodeReconfigureParams() == nvc.EncodeReconfigureParams(
        rateControlMode=nvc.NV_ENC_PARAMS_RC_MODE.CBR,
        multiPass=nvc.NV_ENC_MULTI_PASS.DISABLED,
        averageBitrate=2_000_000,
        vbvBufferSize=2_000_000,
        maxBitRate=0,
        vbvInitialDelay=500_000,
        frameRateNum=30000,
        frameRateDen=1001,
    )


def test_asking_for_nothing_new_is_nothing() -> None:
    for codec in ("h264", "hevc", "av1"):
        encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec=codec, bitrate="1M")
        assert encoder.Reconfigure(encoder.GetEncodeReconfigureParams())


def halve(encoder: nvc.PyNvEncoder) -> nvc.EncodeReconfigureParams:
    """Halves the bitrate as the guide's sample does; a buffer has the bits of one frame."""
    params = encoder.GetEncodeReconfigureParams()
    params.averageBitrate = int(params.averageBitrate / 2)
    params.vbvBufferSize = int(params.averageBitrate * params.frameRateDen / params.frameRateNum)
    params.vbvInitialDelay = params.vbvBufferSize
    encoder.Reconfigure(params)
    return params


def test_the_sample_of_the_guide_halves_the_bitrate() -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, rc="cbr")
    with pytest.warns(nvc.IgnoredParameterWarning, match="vbvInitialDelay has no effect"):
        params = halve(encoder)
    assert (params.averageBitrate, params.vbvBufferSize) == (5_000_000, 5_000_000 // 30)
    assert encoder.GetEncodeReconfigureParams() == params


@pytest.mark.parametrize("params", [{}, {"tuning_info": "lossless"}])
def test_the_sample_of_the_guide_needs_a_bitrate(params: dict[str, str]) -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, **params)
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match='constqp: create.*rc "cbr"'):
        halve(encoder)


@pytest.mark.parametrize(
    ("params", "change", "message"),
    [
        ({"codec": "hevc", "bitrate": "1M"}, {"averageBitrate": 500_000}, "libx265.*can't change"),
        ({"codec": "av1", "bitrate": "1M"}, {"averageBitrate": 500_000}, "svtav1.*can't change"),
        ({"codec": "h264"}, {"averageBitrate": 500_000}, "averageBitrate=500000.*rc constqp"),
        ({"bitrate": "1M"}, {"rateControlMode": 0}, "rateControlMode=0.*rc constqp"),
        ({"bitrate": "1M"}, {"multiPass": 1}, "multiPass=1: passes stay"),
        ({"bitrate": "1M"}, {"vbvInitialDelay": 1}, "vbvInitialDelay=1: .* filled only once"),
        ({"bitrate": "1M"}, {"vbvInitialDelay": 2**30}, "vbvInitialDelay=.* is above"),
        ({"bitrate": "1M"}, {"rateControlMode": 9}, "rateControlMode must be of"),
        ({"bitrate": "1M"}, {"averageBitrate": 0}, "averageBitrate must be at least 1000"),
        ({"bitrate": "1M"}, {"averageBitrate": -1}, "averageBitrate must be a whole number"),
        ({"bitrate": "1M"}, {"frameRateDen": 0}, "frameRateDen must be a whole number from 1"),
        ({"bitrate": "1M"}, {"frameRateNum": 2_000_000}, "frames a second"),
        ({"bitrate": "1M", "rc": "vbr"}, {"averageBitrate": 9000}, "only if it has a VBV buffer"),
        ({"bitrate": "1M"}, {"vbvBufferSize": 0}, "only if it has a VBV buffer"),
        (
            {"bitrate": "1M", "rc": "vbr", "maxbitrate": "2M"},
            {"maxBitRate": 5000},
            "maxBitRate=5000 is below",
        ),
    ],
)
def test_what_can_not_change(
    params: dict[str, object], change: dict[str, int], message: str
) -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, **params)
    before = encoder.GetEncodeReconfigureParams()
    wanted = encoder.GetEncodeReconfigureParams()
    for name, value in change.items():
        setattr(wanted, name, value)
    with pytest.raises(nvc.PyNvVCException, match=message):
        encoder.Reconfigure(wanted)
    assert encoder.GetEncodeReconfigureParams() == before
    frame = nv12_frames(1)[0]
    assert encoder.Encode(frame) + encoder.EndEncode()  # The encoder still works.
