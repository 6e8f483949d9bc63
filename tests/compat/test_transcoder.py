"""Transcoder copies whole videos and segments: every frame, with its time."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tf_nvcodec.compat as nvc

LOSSLESS = {"codec": "h264", "tuning_info": "lossless", "preset": "P1"}


def probe(path: Path) -> dict:
    ask = ["ffprobe", "-v", "error", "-of", "json", "-show_streams", "-show_frames"]
    ask += ["-select_streams", "v", str(path)]
    done = subprocess.run(ask, capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    return json.loads(done.stdout)


def times(path: Path) -> list[float]:
    return [float(frame["pts_time"]) for frame in probe(path)["frames"]]


def planes(path: Path, *options: str) -> bytes:
    ask = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(path), "-fps_mode", "passthrough"]
    ask += [*options, "-f", "rawvideo", "-"]
    return subprocess.run(ask, capture_output=True, check=True).stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds with B-frames and a key frame every half second."""
    path = tmp_path_factory.mktemp("source") / "in.mp4"
    ask = ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi"]
    ask += ["-i", "testsrc2=size=160x96:rate=24:duration=2", "-pix_fmt", "yuv420p"]
    ask += ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]
    ask += ["-c:v", "libx264", "-g", "12", "-bf", "2", "-bitexact", str(path)]
    subprocess.run(ask, check=True)
    return path


@pytest.mark.parametrize("kind", ["mp4", "mkv"])
def test_a_lossless_copy_has_every_frame_at_its_time(
    source: Path, kind: str, tmp_path: Path
) -> None:
    out = tmp_path / f"out.{kind}"
    nvc.Transcoder(source, out, 0, 0, 0, **LOSSLESS).transcode_with_mux()
    assert planes(out) == planes(source)
    assert times(out) == pytest.approx(times(source), abs=1e-3)
    stream = probe(out)["streams"][0]
    assert stream["color_space"] == "bt709" and stream["avg_frame_rate"].startswith("24")


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_every_codec(source: Path, codec: str, tmp_path: Path) -> None:
    out = tmp_path / "out.mp4"
    nvc.Transcoder(source, out, **{"codec": codec, "preset": "P1", "gop": 20}).transcode_with_mux()
    found = probe(out)
    assert found["streams"][0]["codec_name"] == codec
    assert len(found["frames"]) == 48
    assert [i for i, frame in enumerate(found["frames"]) if frame["key_frame"]] == [0, 20, 40]
    before = np.frombuffer(planes(source), np.uint8).astype(int)
    assert np.abs(np.frombuffer(planes(out), np.uint8) - before).mean() < 8


@pytest.mark.parametrize(("start", "end"), [(0, 0.5), (0.3, 0.8), (1, 2), (0.7, 5), (0.49, 0.51)])
def test_a_segment_has_the_frames_of_its_time(
    source: Path, start: float, end: float, tmp_path: Path
) -> None:
    name = nvc.Transcoder(source, tmp_path / "cut.mp4", **LOSSLESS).segmented_transcode(start, end)
    out = tmp_path / f"cut_{start:g}_{end:g}.mp4"
    assert name == str(out)
    at = times(source)
    chosen = [i for i, time in enumerate(at) if start <= time < end]
    size = 160 * 96 * 3 // 2
    whole = planes(source)
    assert planes(out) == b"".join(whole[i * size : (i + 1) * size] for i in chosen)
    want = [at[i] - at[chosen[0]] for i in chosen]
    assert times(out) == pytest.approx(want, abs=1e-3)


def test_segments_of_a_video_make_the_video(source: Path, tmp_path: Path) -> None:
    transcoder = nvc.Transcoder(source, tmp_path / "part.mp4", **LOSSLESS)
    parts = [transcoder.segmented_transcode(i * 0.4, (i + 1) * 0.4) for i in range(5)]
    assert b"".join(planes(Path(part)) for part in parts) == planes(source)


@pytest.mark.parametrize(
    ("pixel_format", "colour_range"),
    [("yuv420p10le", "tv"), ("yuv444p", "tv"), ("yuvj420p", "pc"), ("yuv444p10le", "tv")],
)
def test_depth_chroma_and_range_are_kept(
    pixel_format: str, colour_range: str, tmp_path: Path
) -> None:
    path = tmp_path / "in.mp4"
    ask = ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi"]
    ask += ["-i", "testsrc2=size=160x96:rate=24:duration=0.2", "-pix_fmt", pixel_format]
    ask += ["-c:v", "libx264", "-color_range", colour_range, str(path)]
    subprocess.run(ask, check=True)
    out = tmp_path / "out.mp4"
    nvc.Transcoder(path, out, **LOSSLESS).transcode_with_mux()
    stream = probe(out)["streams"][0]
    assert stream["pix_fmt"] == probe(path)["streams"][0]["pix_fmt"]
    assert stream.get("color_range", "tv") == colour_range
    assert planes(out) == planes(path)


def test_uneven_times_are_kept(source: Path, tmp_path: Path) -> None:
    uneven = tmp_path / "uneven.mkv"
    ask = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(source), "-fps_mode", "passthrough"]
    ask += ["-vf", "select='mod(n,5)'", "-c:v", "libx264", "-qp", "0", str(uneven)]
    subprocess.run(ask, check=True)
    out = tmp_path / "out.mkv"
    nvc.Transcoder(uneven, out, **LOSSLESS).transcode_with_mux()
    start = times(uneven)[0]
    assert times(out) == pytest.approx([time - start for time in times(uneven)], abs=2e-3)


def test_what_can_not_be_transcoded(source: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="names no container"):
        nvc.Transcoder(source, tmp_path / "out.txt")
    transcoder = nvc.Transcoder(source, tmp_path / "out.mp4")
    for start, end in ((-1, 1), (1, 1), (2, 1), (0, float("inf")), (float("nan"), 1)):
        with pytest.raises(ValueError, match="a segment begins at 0"):
            transcoder.segmented_transcode(start, end)
    with pytest.raises(ValueError, match="shows no frame from 7 to 8 seconds"):
        transcoder.segmented_transcode(7, 8)
    with pytest.raises(nvc.PyNvVCException, match="missing"):
        nvc.Transcoder(tmp_path / "missing.mp4", source).transcode_with_mux()
    with pytest.raises(ValueError, match="is the video itself"):
        nvc.Transcoder(source, source).transcode_with_mux()
    with pytest.raises(ValueError, match="preset must be"):
        nvc.Transcoder(source, tmp_path / "out.mp4", preset="slow").transcode_with_mux()
    assert not list(tmp_path.iterdir())


def test_a_damaged_video_leaves_no_file(source: Path, tmp_path: Path) -> None:
    data = bytearray(source.read_bytes())
    start = data.index(b"mdat") + 4000
    data[start : start + 3000] = bytes(3000)
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(data)
    with pytest.raises(nvc.PyNvVCException):
        nvc.Transcoder(broken, tmp_path / "out.mp4", **LOSSLESS).transcode_with_mux()
    assert [path.name for path in tmp_path.iterdir()] == ["broken.mp4"]
