"""What can't be read is called by its name, and the error says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from ffmpeg_program import ffmpeg
from golden_clips import Clips

import tf_nvcodec as nvc

READERS: list[Callable[[Any], Any]] = [
    nvc.probe,
    nvc.decode_video,
    lambda data: nvc.decode_frames_at(data, indices=[0]),
    lambda data: next(iter(nvc.iter_video(data))),
]


def refusal(read: Callable[[Any], Any], data: bytes) -> str:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        read(data)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("x.dv", "-s 720x576 -pix_fmt yuv420p -c:v dvvideo", "DV (Digital Video) (dv)"),
        ("x.rm", "-c:v rv20", "RealMedia (rm)"),
        ("x.swf", "-c:v flv1", "SWF (ShockWave Flash) (swf)"),
        ("x.png", "-frames:v 1", "a still image (png_pipe), which tf.io.decode_image"),
    ],
)
def test_a_format_is_named(name: str, arguments: str, says: str, tmp_path: Path) -> None:
    source = "testsrc2=size=96x64:rate=25:duration=0.2"
    ffmpeg("-f", "lavfi", "-i", source, *arguments.split(), tmp_path / name)
    error = refusal(nvc.probe, (tmp_path / name).read_bytes())
    assert f"it is {says}" in error
    assert ("ffmpeg -i FILE -c copy out.mkv" in error) == (name != "x.png")


@pytest.mark.parametrize("read", READERS)
def test_common_encryption_is_no_damage(
    clips: Clips, tmp_path: Path, read: Callable[[Any], Any]
) -> None:
    key = "76a6c65c5ea762046bd749a2e632ccbb"
    secret, clear = tmp_path / "secret.mp4", tmp_path / "clear.mp4"
    encryption = ["-encryption_scheme", "cenc-aes-ctr", "-encryption_key", key]
    source = clips.path("h264.mp4")
    ffmpeg("-i", source, "-c", "copy", *encryption, "-encryption_kid", key[::-1], secret)
    error = refusal(read, secret.read_bytes())
    assert "is encrypted (cenc): decrypt it first, ffmpeg -decryption_key KEY -i FILE" in error
    # The cure that the error names works.
    ffmpeg("-decryption_key", key, "-i", secret, "-c", "copy", clear)
    read(clear.read_bytes())


def test_encryption_of_matroska_is_no_damage(clips: Clips) -> None:
    """A key's name in the track says that its frames are encrypted (RFC 9559, 5.1.4.1.31)."""
    data = clips.data("h264.mkv")
    key = _element("47e2", bytes(range(16)))
    encryption = _element("5035", _element("47e1", b"\5") + key)
    encoding = _element("5031", b"\0") + _element("5032", b"\1") + _element("5033", b"\1")
    encodings = _element("6d80", _element("6240", encoding + encryption))
    begin, track, rest = _split(data, data.rindex(bytes.fromhex("1654ae6b")), 4)
    crc, fields, others = _split(track, 6, 1)
    assert (crc[:1], others) == (b"\xbf", b"")
    tracks = _element("1654ae6b", _element("ae", fields + encodings))
    segment = begin.index(bytes.fromhex("18538067")) + 4
    unknown = b"\x01" + b"\xff" * 7
    edited = begin[:segment] + unknown + begin[segment + 8 :] + tracks + rest
    assert "is encrypted (Matroska's ContentEncryption)" in refusal(nvc.decode_video, edited)


def _element(name: str, content: bytes) -> bytes:
    """An EBML element. A length of eight bytes begins with 1 (RFC 8794)."""
    return bytes.fromhex(name) + (1 << 56 | len(content)).to_bytes(8, "big") + content


def _split(data: bytes, at: int, name_bytes: int) -> tuple[bytes, bytes, bytes]:
    """Returns what is before the element at `at`, its content, and what is behind."""
    size_at = at + name_bytes
    width = 9 - data[size_at].bit_length()
    begin = size_at + width
    size = int.from_bytes(data[size_at:begin], "big") & (1 << 7 * width) - 1
    return data[:at], data[begin:][:size], data[begin + size :]
