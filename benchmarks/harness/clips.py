"""Makes the clips that the benchmarks read, once, with the ffmpeg program, under build/bench.

All come from the real clip of the tests (Big Buck Bunny, 1280x720, 132 frames), looped and scaled
up, so that motion, noise and bit rate are those of film rather than of a test card. The 1080p clips
have 663 frames at 24 frames/s, a closed GOP of 50 frames and 2 B-frames; `gop_clip` names those
with other GOPs.

    python -m benchmarks.harness.clips    # make what is missing, print the paths
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
CACHE = Path(os.environ.get("NVC_BENCH_CACHE", ROOT / "build" / "bench"))
SOURCE = ROOT / "tests" / "golden" / "media" / "bigbuckbunny_720p.mp4"

FULL_FRAMES = 663
GOP = 50
FIRST_FRAME_RATES = {"h264": (17, 23, 28), "hevc": (17, 22, 28)}  # codec -> crf
_LOOP = ["-stream_loop", "-1", "-i", "{source}", "-an", "-frames:v", "{frames}"]
_1080P = ["-vf", "scale=1920:1080:flags=bicubic,setpts=N/24/TB", "-r", "24", "-pix_fmt", "yuv420p"]
_TAGS = ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]
# Frames from one key frame to the next. In an open GOP, pictures that are shown before its key
# frame refer to the GOP before it ("leading pictures").
GOPS = {"gop 50": GOP, "gop 250": 250, "open gop": GOP, "intra": 1}
CODECS = ("h264", "hevc", "av1")
# The 1080p clips: a codec and its GOP.
_FILMS = (
    *((codec, "gop 50") for codec in CODECS),
    ("hevc", "gop 250"),
    ("h264", "open gop"),
    ("h264", "intra"),
)


def _encoder(codec: str, gop: str) -> list[str]:
    """Returns ffmpeg's arguments for a codec with a GOP of GOPS."""
    length, is_open = str(GOPS[gop]), gop == "open gop"
    if codec == "h264":
        arguments = ["-c:v", "libx264", "-preset", "medium", "-crf", "17", "-g", length]
        arguments += ["-keyint_min", length, "-sc_threshold", "0", "-bf", "3" if is_open else "2"]
        return arguments + (["-x264-params", "open-gop=1"] if is_open else [])
    if codec == "hevc":
        parameters = f"keyint={length}:min-keyint={length}:scenecut=0:open-gop={int(is_open)}"
        parameters += f":bframes={3 if is_open else 2}:log-level=error"
        arguments = ["-c:v", "libx265", "-preset", "fast", "-crf", "22"]
        return arguments + ["-x265-params", parameters, "-tag:v", "hvc1"]
    return ["-c:v", "libsvtav1", "-preset", "9", "-crf", "28", "-g", length]


def gop_clip(codec: str, gop: str) -> str:
    """Returns the name of the 1080p clip of a codec with a GOP of GOPS."""
    return f"{codec}_1080p" + ("" if gop == "gop 50" else f"_{gop.replace(' ', '')}")


# name -> (container, frames, ffmpeg's arguments between the input and the output)
RECIPES: dict[str, tuple] = {
    **{
        gop_clip(codec, gop): ("mp4", FULL_FRAMES, _1080P + _TAGS + _encoder(codec, gop))
        for codec, gop in _FILMS
    },
    # decode_first_frame reads this small clip, as in a data set of many short videos.
    "h264_small": (
        "mp4",
        132,
        ["-vf", "scale=320:180", "-pix_fmt", "yuv420p"]
        + ["-c:v", "libx264", "-preset", "medium", "-crf", "23", "-g", str(GOP), "-bf", "2"],
    ),
    # dataset_service reads these: videos as people shrink them for training, with a key frame every
    # two seconds, or only at the beginning.
    **{
        f"h264_small_gop{gop}": (
            "mp4",
            250,
            ["-vf", "scale=340:256", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "medium"]
            + ["-b:v", "500k", "-maxrate", "750k", "-bufsize", "1M", "-g", str(gop)],
        )
        for gop in (GOP, 250)
    },
    # decode_memory reads this: ten times as long as the 1080p clip, with a quarter of its area.
    "h264_long": (
        "mp4",
        6630,
        ["-vf", "scale=960:540,setpts=N/24/TB", "-r", "24", "-pix_fmt", "yuv420p"]
        + ["-c:v", "libx264", "-preset", "veryfast", "-crf", "26", "-g", str(GOP), "-bf", "2"],
    ),
    # pass_memory reads ten minutes of this: three GOPs at a low bit rate.
    "h264_1080p_low": (
        "mp4",
        750,
        _1080P
        + _TAGS
        + ["-c:v", "libx264", "-preset", "veryfast", "-crf", "30", "-g", "250"]
        + ["-keyint_min", "250", "-sc_threshold", "0", "-bf", "2"],
    ),
    "h264_1080p_minutes": ("mp4", 24 * 600, ["-c", "copy"]),
    # nvdec_batch reads these: three GOPs of the 1080p clips.
    "h264_1080p_6s": ("mp4", 3 * GOP, ["-c", "copy"]),
    "hevc_1080p_6s": ("mp4", 3 * GOP, ["-c", "copy"]),
    # encode_x264 reads this: the source's own frames as raw planes.
    "raw_720p": (
        "yuv",
        132,
        ["-pix_fmt", "yuv420p", "-f", "rawvideo"],
    ),
    "raw_720p_rgb": (
        "rgb",
        132,
        ["-vf", "scale=flags=accurate_rnd+full_chroma_int", "-pix_fmt", "rgb24", "-f", "rawvideo"],
    ),
}
# Clips that are copies of another clip's packets, over and over.
_LOOPED = {
    "h264_1080p_minutes": "h264_1080p_low",
    "h264_1080p_6s": "h264_1080p",
    "hevc_1080p_6s": "hevc_1080p",
}


def _add_first_frames() -> None:
    """Adds the clips of nvdec_first_frame: the 1080p film at several bit rates."""
    for codec, rates in FIRST_FRAME_RATES.items():
        _, _, arguments = RECIPES[f"{codec}_1080p"]
        at = arguments.index("-crf") + 1
        for rate in rates:
            RECIPES[f"{codec}_1080p_crf{rate}"] = (
                "mp4",
                3 * GOP,
                arguments[:at] + [str(rate)] + arguments[at + 1 :],
            )


_add_first_frames()


def command(name: str, target: Path) -> list[str]:
    """Returns the ffmpeg command that makes a clip."""
    _, frames, arguments = RECIPES[name]
    source = path(_LOOPED[name]) if name in _LOOPED else SOURCE
    head = [part.format(source=source, frames=frames) for part in _LOOP]
    return ["ffmpeg", "-nostdin", "-v", "error", "-y"] + head + arguments + [str(target)]


def path(name: str) -> Path:
    """Returns the path of a clip. Makes it first if it is missing or its recipe has changed."""
    container, frames, arguments = RECIPES[name]
    recipe = json.dumps([container, frames, arguments, _LOOP])
    if name in _LOOPED:
        recipe += path(_LOOPED[name]).name
    digest = hashlib.sha256(recipe.encode()).hexdigest()[:8]
    target = CACHE / f"{name}-{digest}.{container}"
    if target.exists():
        return target
    if not SOURCE.exists():
        raise FileNotFoundError(f"{SOURCE} is missing; the benchmarks' clips are made from it")
    CACHE.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".partial.{container}")
    print(f"making {target.name} ({frames} frames) ...", file=sys.stderr, flush=True)
    subprocess.run(["nice"] + command(name, partial), check=True)
    partial.rename(target)
    return target


def copies(name: str, count: int) -> list[Path]:
    """Returns `count` paths of a clip, each of which looks like a file of its own."""
    source = path(name)
    folder = CACHE / f"{source.stem}-x{count}"
    folder.mkdir(exist_ok=True)
    links = [folder / f"{i:05}{source.suffix}" for i in range(count)]
    for link in links:
        if not link.exists():
            os.link(source, link)
    return links


def describe(name: str) -> dict[str, object]:
    """Returns codec, size, frame count and bit rate of a clip, for the results file."""
    clip = path(name)
    if clip.suffix in (".yuv", ".rgb"):
        return {"name": name, "bytes": clip.stat().st_size, "frames": RECIPES[name][1]}
    probe = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries"]
        + ["stream=codec_name,width,height,nb_frames,avg_frame_rate,bit_rate,duration"]
        + ["-of", "json", str(clip)],
        check=True,
        capture_output=True,
        text=True,
    )
    stream = json.loads(probe.stdout)["streams"][0]
    return {
        "name": name,
        "codec": stream["codec_name"],
        "width": int(stream["width"]),
        "height": int(stream["height"]),
        "frames": int(stream["nb_frames"]),
        "fps": stream["avg_frame_rate"],
        "duration_s": float(stream["duration"]),
        "bit_rate": int(stream["bit_rate"]),
        "bytes": clip.stat().st_size,
        "command": " ".join(
            part.replace(f"{ROOT}{os.sep}", "").replace(str(CACHE), "build/bench")
            for part in command(name, clip)
        ),
    }


if __name__ == "__main__":
    for each in sys.argv[1:] or RECIPES:
        print(path(each))
