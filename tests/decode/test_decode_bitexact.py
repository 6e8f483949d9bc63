"""Some of FFmpeg's decoders take shortcuts unless a flag forbids it. Our frames are the exact
ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import tensorflow as tf
from clip_table import MEDIA
from ffmpeg_program import ffmpeg

import tf_nvcodec as nvc

SIZE, FRAMES = (96, 128), 12
EXACT = ["-flags", "bitexact"]


def frames_of(clip: Path, *options: str) -> npt.NDArray[np.uint8]:
    raw = ffmpeg(*options, "-i", clip, "-fps_mode", "passthrough", "-f", "rawvideo", "-")
    return np.frombuffer(raw, np.uint8).reshape(FRAMES, -1)


# For each codec: the flags that give the exact frames, and the flags that give other frames. MPEG-4
# needs the flag "bitexact" for the mismatch control of MPEG's quantizer. JPEG 2000 must not have
# it: its irreversible transform uses real numbers, and the flag would replace it by one of
# integers.
@pytest.mark.parametrize(
    ("name", "encoder", "exact", "other"),
    [
        ("mpeg4.avi", "mpeg4 -mpeg_quant 1 -q:v 2 -bf 0", EXACT, []),
        ("jpeg2000.mkv", "jpeg2000 -pred dwt97int -q:v 8", [], EXACT),
    ],
)
def test_frames_are_the_exact_ones(
    tmp_path: Path, name: str, encoder: str, exact: list[str], other: list[str]
) -> None:
    clip = tmp_path / name
    height, width = SIZE
    source = f"testsrc2=size={width}x{height}:rate=10,noise=alls=20:all_seed=1"
    made = f"-frames:v {FRAMES} -pix_fmt yuv420p -c:v {encoder}".split()
    ffmpeg("-f", "lavfi", "-i", source, *made, clip)
    want = frames_of(clip, *exact)
    # The test proves something only if the flags matter for this clip.
    assert (frames_of(clip, *other) != want).any()
    frames = nvc.decode_video(clip.read_bytes(), pixel_format="native").frames
    np.testing.assert_array_equal(frames, want)


def test_vc1_is_decoded_on_the_cpu() -> None:
    """FFmpeg has no encoder for VC-1, so the repository has this clip as a file.
    tests/nv/decode/decode_backend_test.cc tests that NVDEC refuses it, and so does the end of this
    test on a machine with a GPU."""
    clip = MEDIA / "vc1.mkv"
    want = frames_of(clip, *EXACT)
    if int(nvc.build_info()["ffmpeg"]["release"].split(".")[0]) < 8:
        assert (frames_of(clip) != want).any()  # later decoders are exact without the flag
    contents = clip.read_bytes()
    assert nvc.probe(contents).codec.numpy() == b"vc1"
    for backend in ("auto", "cpu"):
        frames, pts = nvc.decode_video(contents, pixel_format="native", backend=backend)
        np.testing.assert_array_equal(frames, want)
        assert np.all(np.diff(pts) > 0)
        indices = [11, 3, 3, 0, 7]
        some = nvc.decode_frames_at(
            contents, indices=indices, pixel_format="native", backend=backend
        )
        np.testing.assert_array_equal(some.frames, want[indices])
        np.testing.assert_array_equal(some.pts, pts.numpy()[indices])
    if nvc.is_available("nvdec"):
        with pytest.raises(tf.errors.UnimplementedError, match="NVDEC is not used for codec 'vc1'"):
            nvc.decode_video(contents, backend="nvdec")
