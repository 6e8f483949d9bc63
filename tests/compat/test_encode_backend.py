"""CreateEncoder chooses between NVENC and the CPU's encoders."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from compat_streams import HEIGHT, WIDTH

import tf_nvcodec.compat as nvc
from tf_nvcodec.compat import encode_backend
from tf_nvcodec.compat.encoder_library import NativeEncoder, Nvenc

GATE = "TF_NVCODEC_EXPERIMENTAL_NVENC"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode_backend, "_said", set())


def stream(**options: Any) -> bytes:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", **options)
    data = encoder.Encode(np.zeros(WIDTH * HEIGHT * 3 // 2, np.uint8))
    return data + encoder.EndEncode()


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Nvenc | None, dict[str, str]]]:
    """Notes which encoders CreateEncoder asks for. Instead of NVENC, the CPU encodes."""
    asked: list[tuple[Nvenc | None, dict[str, str]]] = []

    def new(nvenc: Nvenc | None = None, **arguments: Any) -> NativeEncoder:
        asked.append((nvenc, arguments["options"]))
        if nvenc is not None:
            arguments["options"] = {}
        return NativeEncoder(**arguments)

    monkeypatch.setattr(encode_backend, "NativeEncoder", new)
    return asked


def test_the_cpu_unless_switched_on(
    made_up: list[tuple[Nvenc | None, dict[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(GATE, raising=False)
    assert stream() and stream(backend="cpu")
    monkeypatch.setenv(GATE, "0")
    assert stream()
    monkeypatch.setenv(GATE, "1")
    assert stream(backend="cpu")
    assert [nvenc for nvenc, _ in made_up] == [None] * 4


def test_nvenc_is_told_all(
    made_up: list[tuple[Nvenc | None, dict[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GATE, "1")
    assert stream(preset="P6", gop=30)
    with pytest.warns(nvc.IgnoredParameterWarning, match="max_res has no effect: with NVENC"):
        assert stream(
            backend="nvenc", usecpuinputbuffer=False, gpu_id=1, cudacontext=5, max_res="640x480"
        )
    assert [nvenc for nvenc, _ in made_up] == [Nvenc(None, False, 0), Nvenc(1, True, 5)]
    assert made_up[0][1]["preset"] == "p6"


def test_without_nvenc_auto_is_the_cpu_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: Any) -> NativeEncoder:
        raise nvc.PyNvVCException("no NVENC on a GPU of this test")

    monkeypatch.setattr(encode_backend, "_with_nvenc", fail)
    monkeypatch.setenv(GATE, "1")
    with caplog.at_level(logging.WARNING, "tf_nvcodec"):
        assert stream() == stream() == stream(backend="cpu")
    assert [record.getMessage() for record in caplog.records] == [
        "encoding on the CPU, not with NVENC: no NVENC on a GPU of this test"
    ]


def test_what_libavcodec_can_not_tell_nvenc_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(GATE, "1")
    with caplog.at_level(logging.WARNING, "tf_nvcodec"):
        assert stream(slice={"mode": 3, "data": 2})
        assert stream(slice={"mode": 3, "data": 2})
    assert len(caplog.records) == 1
    assert "slice::data=2: libavcodec has NVENC make one" in caplog.records[0].getMessage()
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match='backend="nvenc": slice::mode=3'):
        stream(slice={"mode": 3, "data": 2}, backend="nvenc")


def test_what_neither_takes_is_the_cpus_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(GATE, "1")
    caplog.set_level(logging.WARNING, "tf_nvcodec")
    with pytest.raises(ValueError, match="321x192"):
        nvc.CreateEncoder(321, HEIGHT, "NV12", True)
    assert not caplog.records


def test_nvenc_alone_raises_where_there_is_none() -> None:
    try:
        assert stream(backend="nvenc")
    except nvc.PyNvVCExceptionUnsupported as error:
        message = str(error)
        assert message.startswith('backend="nvenc": ')
        assert any(why in message for why in ("libcuda.so.1", "libnvidia-encode", "no NVENC on"))
        assert message.endswith('backend="auto" or "cpu" encodes on the CPU')


@pytest.mark.parametrize("backend", ["gpu", "", None])
def test_a_backend_that_is_none(backend: Any) -> None:
    with pytest.raises(ValueError, match="backend must be one of auto, cpu, nvenc; got"):
        stream(backend=backend)


@pytest.mark.parametrize("name", ["cudacontext", "cudastream"])
def test_handles_are_numbers(name: str) -> None:
    with pytest.raises(ValueError, match=f"handle of {name} must be .* got 'x'"):
        stream(**{name: "x"})
