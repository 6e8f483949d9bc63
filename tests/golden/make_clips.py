"""Makes the test clips and remembers the ffmpeg commands that made them.

    python tests/golden/make_clips.py [--folder FOLDER] [--list]

The clips go to build/golden/<key> (or $TF_NVCODEC_GOLDEN/<key>). The key is a hash of this folder's
scripts and of ffmpeg's version, so a second run finds the clips there. If two processes run this at
once, the second one waits for the first. commands.txt beside the clips lists the commands.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from clip_table import CLIPS, Clip

HERE = Path(__file__).resolve().parent
SCRIPTS = (
    "clip_frames.py",
    "clip_surgery.py",
    "clip_table.py",
    "h264_fields.py",
    "make_clips.py",
    "mp4_join.py",
)
READY = "commands.txt"


def cache_root() -> Path:
    chosen = os.environ.get("TF_NVCODEC_GOLDEN")
    return Path(chosen) if chosen else HERE.parents[1] / "build" / "golden"


def cache_key() -> str:
    digest = hashlib.sha256()
    for script in SCRIPTS:
        digest.update((HERE / script).read_bytes())
    version = subprocess.run(["ffmpeg", "-version"], check=True, capture_output=True).stdout
    digest.update(version)
    return digest.hexdigest()[:16]


def needed(clip: Clip) -> tuple[str, ...]:
    return clip.needs + ((clip.of,) if clip.of in CLIPS else ())


def command(clip: Clip, folder: Path) -> list[str]:
    """Returns the ffmpeg command of a clip. Its last word is the output file."""
    words = ["ffmpeg", "-nostdin", "-v", "error", "-y", "-fflags", "+genpts"]
    if clip.of:
        words += shlex.split(clip.input_args)
        words += ["-i", str(folder / clip.of)]
    else:
        joiner = ":" if "=" in clip.source else "="
        words += ["-f", "lavfi", "-i", f"{clip.source}{joiner}size={clip.size}:rate={clip.rate}"]
    words += shlex.split(clip.also.format(folder=folder))
    if clip.filters:
        words += ["-vf", clip.filters]
    if not clip.of:
        words += ["-frames:v", str(clip.frames)]
    words += shlex.split(clip.args)
    # With a fixed number of threads, x265 and SVT-AV1 give the same bytes on every machine.
    return [*words, "-threads", "2", "-fflags", "+bitexact", str(folder / clip.name)]


def make(clip: Clip, folder: Path) -> str:
    """Makes one clip in `folder`. Returns the command line that makes it again."""
    if clip.edit is not None:
        source = folder / clip.of
        (folder / clip.name).write_bytes(clip.edit(source.read_bytes(), source))
        return f"# {clip.name}: {clip.edit.__module__}.{clip.edit.__name__} of {clip.of}"
    words = command(clip, folder)
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=_quiet())
    line = shlex.join(words).replace(f"{folder}/", "")
    output = folder / clip.name
    if done.returncode or not output.is_file() or not output.stat().st_size:
        raise RuntimeError(f"{clip.name} could not be made by\n  {line}\n{done.stderr}")
    return line


def _quiet() -> dict[str, str]:
    return {**os.environ, "SVT_LOG": "1"}


def make_all(folder: Path, workers: int = 2) -> None:
    """Makes every clip. A clip from which others are made comes before them."""
    lines: dict[str, str] = {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        running: dict[concurrent.futures.Future[str], str] = {}
        waiting = sorted(CLIPS, key=lambda name: "long" not in CLIPS[name].tags)
        while waiting or running:
            for name in list(waiting):
                if all(other in lines for other in needed(CLIPS[name])):
                    waiting.remove(name)
                    running[pool.submit(make, CLIPS[name], folder)] = name
            if not running:
                raise ValueError(f"clips that need each other, or one that is unknown: {waiting}")
            done, _ = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED
            )
            for future in done:
                lines[running.pop(future)] = future.result()
    (folder / READY).write_text("".join(f"{lines[name]}\n" for name in CLIPS))


def made_once(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Returns the folder. If it is not there yet, `fill` makes it, with the file READY in it. Other
    processes wait meanwhile."""
    if (folder / READY).is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / READY).is_file():
            unfinished = folder.with_name(f"{folder.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            fill(unfinished)
            unfinished.rename(folder)
    return folder


def ensure_clips() -> Path:
    """Returns the folder with every clip, and makes it if it is not there yet."""
    folder = made_once(cache_root() / cache_key(), make_all)
    os.utime(folder / READY)  # The C++ tests take the folder with the newest READY.
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the test clips of tf_nvcodec.")
    parser.add_argument("--folder", type=Path, help="put the clips here instead of the cache")
    parser.add_argument("--list", action="store_true", help="print the clips' names and tags")
    options = parser.parse_args()
    if options.list:
        for name, clip in CLIPS.items():
            print(name, *sorted(clip.tags))
        return 0
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
        make_all(options.folder)
        print(options.folder)
        return 0
    print(ensure_clips())
    return 0


if __name__ == "__main__":
    sys.exit(main())
