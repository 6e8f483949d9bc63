"""Tries an installed wheel: decoding, encoding, a dataset, a saved model, a file by the muxer.

    python tests/package/smoke.py [--report FILE]

It needs nothing but the wheel and this project's test media, so it runs in a fresh virtual
environment. `scripts/release.sh` runs it for each TensorFlow and each Python. It ends with an error
at the first thing that is wrong. The report is a JSON object of the seconds that steps took.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
_MEDIA = Path(__file__).resolve().parents[1] / "golden" / "media"

# What the ffmpeg program (5.1 and 7.1) decodes: the SHA-256 of all pictures as they were coded,
#     ffmpeg -flags bitexact -i FILE -fps_mode passthrough -f rawvideo - | sha256sum
_PICTURES = {
    "bframes_160x90.mp4": "125b27824e10347f905a2b95c3fce12c887f4f34bef732de8ee15f012723745f",
    "av1_160x90.mp4": "9108ef54b20c8e76cd8b18335232c9216cf5b5bb2423e983f820eaa4a83c0f19",
    "vc1.mkv": "035521785f77e47fa8333c8ebfc63bfd671b123e646b89eed4ad20f651e35ec3",
}
_LOAD = """
import sys
import tensorflow as tf
import tf_nvcodec
served = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
print(served(contents=tf.io.read_file(sys.argv[2]))["mean"].numpy().tolist())
"""

seconds: dict[str, float] = {}


@contextmanager
def timed(step: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds[step] = round(time.perf_counter() - begin, 3)


with timed("import tensorflow"):
    import tensorflow as tf
with timed("import tf_nvcodec"):
    import numpy as np

    import tf_nvcodec as nvc
    from tf_nvcodec import compat


def the_wheel_is_what_is_tried() -> None:
    info = nvc.build_info()
    library = Path(info["library"])
    assert Path(sys.prefix) in library.parents, f"{library} is not in this environment"
    assert info["tensorflow"]["build"].split(".")[:2] == tf.__version__.split(".")[:2]
    if not info["flavour"]:
        return
    gpl = info["flavour"] == "portable-gpl"
    version = importlib.metadata.version("tf_nvcodec")
    assert ("+gpl." in version) == gpl, version
    assert info["ffmpeg"]["linked"] == "static"
    assert info["ffmpeg"]["license"] == (
        "GPL version 3 or later" if gpl else "LGPL version 2.1 or later"
    )
    encoders = info["ffmpeg"]["encoders"].split(",")
    assert {"libx264" in encoders, "libx265" in encoders} == {gpl}, encoders
    licenses = library.with_name("licenses")
    texts = {path.name for path in licenses.iterdir()}
    assert {"README.txt", "VERSIONS.txt", "ffmpeg.txt"} <= texts, texts
    assert ("COPYING.GPLv3" if gpl else "COPYING.LGPLv2.1") in texts, texts
    assert ("GPL flavour" in (licenses / "README.txt").read_text()) == gpl
    loaded = Path("/proc/self/maps").read_text()
    assert "libavcodec" not in loaded, "another FFmpeg is loaded"


def contents_of(name: str) -> bytes:
    return (_MEDIA / name).read_bytes()


def decoding() -> None:
    with timed("first frame"):
        nvc.decode_frames_at(contents_of("bigbuckbunny_720p.mp4"), [0])
    for name, pictures in _PICTURES.items():
        frames = nvc.decode_video(contents_of(name), pixel_format="native").frames.numpy()
        assert hashlib.sha256(frames.tobytes()).hexdigest() == pictures, name


def encoding() -> None:
    frames = nvc.decode_video(contents_of("bframes_160x90.mp4")).frames.numpy()
    exact = nvc.encode_video(frames, codec="ffv1", container="mkv", pixel_format="bgr0")
    np.testing.assert_array_equal(nvc.decode_video(exact).frames, frames)
    encoders = nvc.build_info()["ffmpeg"]["encoders"].split(",")
    for codec, encoder in [("h264", ""), ("av1", "libsvtav1"), ("vp9", ""), ("hevc", "libx265")]:
        if encoder and encoder not in encoders:
            continue
        with timed(f"encode {codec}"):
            encoded = nvc.encode_video(frames, codec=codec)
        decoded = nvc.decode_video(encoded).frames.numpy().astype(float)
        psnr = 10 * np.log10(255**2 / np.mean((decoded - frames) ** 2))
        assert psnr > 30, f"{codec}: {psnr:.1f} dB"


def muxing(path: Path) -> None:
    """FFmpeg itself writes this file; all other bytes go through the library's own streams."""
    frames = nvc.decode_frames_at(contents_of("bframes_160x90.mp4"), [0]).frames
    packet = nvc.encode_video(frames, codec="h264", container="raw").numpy()
    height, width = frames.shape[1:3]
    muxer = compat.FFmpegMuxer(path, compat.MEDIA_FORMAT.MP4, "h264", width, height)
    muxer.Mux(packet, 0, 0, duration=3000, is_key_frame=True)
    muxer.Finalize()
    muxed = nvc.decode_video(path.read_bytes()).frames
    np.testing.assert_array_equal(muxed, nvc.decode_video(packet).frames)


def dataset() -> None:
    path = str(_MEDIA / "bframes_160x90.mp4")
    whole = nvc.decode_video(contents_of("bframes_160x90.mp4")).frames.numpy()
    clips = list(nvc.VideoDataset([path], clip_length=4, pad="drop").as_numpy_iterator())
    assert len(clips) == len(whole) // 4 > 0
    for clip in clips:
        begin = 4 * clip["clip_index"]
        np.testing.assert_array_equal(clip["frames"], whole[begin : begin + 4])


class MeanOfVideo(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([], tf.string, name="contents")])
    def __call__(self, contents: tf.Tensor) -> dict[str, tf.Tensor]:
        frames = nvc.decode_video(contents, size=(32, 32), dtype=tf.float32).frames
        return {"mean": tf.reduce_mean(frames, axis=[1, 2, 3])}


def saved_model(folder: str) -> None:
    model, path = MeanOfVideo(), str(_MEDIA / "av1_160x90.mp4")
    tf.saved_model.save(model, folder, signatures={"serving_default": model.__call__})
    loaded = subprocess.run(
        [sys.executable, "-c", _LOAD, folder, path], check=True, capture_output=True, text=True
    )
    want = model(tf.io.read_file(path))["mean"].numpy()
    assert np.ptp(want) > 0
    np.testing.assert_array_equal(np.float32(json.loads(loaded.stdout)), want)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--report", type=Path)
    report = parser.parse_args().report
    the_wheel_is_what_is_tried()
    decoding()
    encoding()
    dataset()
    with tempfile.TemporaryDirectory() as folder:
        muxing(Path(folder) / "muxed.mp4")
        saved_model(folder)
    if report is not None:
        report.write_text(json.dumps(seconds) + "\n")
    print("smoke test passed:", nvc.build_info()["flavour"] or "shared", tf.__version__, seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
