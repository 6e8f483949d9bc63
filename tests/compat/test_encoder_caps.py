"""GetEncoderCaps: CreateEncoder takes what it promises and refuses the rest."""

from __future__ import annotations

import pytest

import tf_nvcodec as tnvc
import tf_nvcodec.compat as nvc
from tf_nvcodec.compat import encoder_caps

GATE = "TF_NVCODEC_EXPERIMENTAL_NVENC"


@pytest.fixture(autouse=True)
def _on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(GATE, raising=False)


def takes(codec: str, width: int, height: int, fmt: str = "NV12", **params: object) -> bool:
    try:
        nvc.CreateEncoder(width, height, fmt, True, codec=codec, preset="P1", **params).EndEncode()
    except nvc.PyNvVCException:
        return False
    return True


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_capabilities_are_true(codec: str) -> None:
    caps = nvc.GetEncoderCaps(gpuid=0, codec=codec)
    assert caps["num_encoder_engines"] == 0
    least = caps["width_min"]
    assert takes(codec, least, caps["height_min"])
    assert not takes(codec, least - 2, 128) and not takes(codec, 128, least - 2)
    assert not takes(codec, caps["width_max"] + 2, 128)
    assert not takes(codec, 128, caps["height_max"] + 2)
    assert takes(codec, 128, 128, "P010") == caps["support_10bit_encode"]
    assert takes(codec, 128, 128, "YUV444") == caps["support_yuv444_encode"]
    lossless = takes(codec, 128, 128, tuning_info="lossless")
    assert lossless == caps["support_lossless_encode"]
    slices = takes(codec, 128, 128, slice={"mode": 1, "data": 1000})
    assert slices == caps["support_dynamic_slice_mode"]
    if caps["num_max_bframes"]:
        assert takes(codec, 128, 128, bf=caps["num_max_bframes"])
        assert not takes(codec, 128, 128, bf=caps["num_max_bframes"] + 1)
    encoder = nvc.CreateEncoder(128, 128, "NV12", True, codec=codec, rc="cbr", bitrate="1M")
    rate = encoder.GetEncodeReconfigureParams()
    rate.averageBitrate //= 2
    try:
        changes = encoder.Reconfigure(rate)
    except nvc.PyNvVCExceptionUnsupported:
        changes = False
    assert changes == caps["support_dyn_bitrate_change"]
    encoder.EndEncode()


def test_without_nvenc_the_cause_is_told_or_the_cpu_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if tnvc.is_available("nvenc"):
        pytest.skip("this machine has NVENC")
    cpu = nvc.GetEncoderCaps(codec="hevc", backend="cpu")
    for gate in ("0", "1"):
        monkeypatch.setenv(GATE, gate)
        assert nvc.GetEncoderCaps(codec="hevc") == cpu
        with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="libcuda|no NVENC on|libnvidia"):
            nvc.GetEncoderCaps(codec="hevc", backend="nvenc")


def test_nvencs_are_the_drivers_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """This test makes up the driver's answers. tests/nv checks what the library asks the driver."""
    asked = []

    def answer(gpu: int, codec: bytes, caps: object, room: int, count: object) -> int:
        asked.append((gpu, codec))
        told = {b"num_max_bframes": 4, b"width_max": 8192, b"num_encoder_engines": 3}
        assert room >= len(told)
        for i, (name, value) in enumerate(told.items()):
            caps[i] = (name, value)
        count._obj.value = len(told)
        return 0

    monkeypatch.setattr(encoder_caps, "_get_nvenc_caps", answer)
    want = {"num_max_bframes": 4, "width_max": 8192, "num_encoder_engines": 3}
    assert nvc.GetEncoderCaps(1, "hevc", backend="nvenc") == want
    assert nvc.GetEncoderCaps(0, "h264")["num_encoder_engines"] == 0
    monkeypatch.setenv(GATE, "1")
    assert nvc.GetEncoderCaps(0, "h264") == want
    assert asked == [(1, b"hevc"), (0, b"h264")]


def test_another_codec() -> None:
    with pytest.raises(ValueError, match="codec must be one of h264, hevc, av1; got 'vp9'"):
        nvc.GetEncoderCaps(codec="vp9")
    with pytest.raises(ValueError, match="backend"):
        nvc.GetEncoderCaps(backend="gpu")
