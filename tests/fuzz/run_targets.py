"""Runs all fuzz targets for some minutes together and prints what each one did.

scripts/fuzz.sh calls it:

    python run_targets.py --programs FOLDER --build FOLDER --minutes N [--jobs J] [NAME...]

The first folder has the programs `fuzzer` and `write_seeds`. The second has Atheris in python/, and
gets a corpus and a log for each target, and the input of each failure. The exit code is 1 if a
target crashed, leaked, or took too much time or memory.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "golden"))

import libfuzzer  # noqa: E402
from clip_table import CLIPS  # noqa: E402
from libfuzzer import MOST_BYTES, OTHER, READERS, VIDEO  # noqa: E402
from make_clips import ensure_clips  # noqa: E402


@dataclass(frozen=True)
class Outcome:
    name: str
    executions: int
    edges: int
    inputs: int  # in the corpus
    failure: str  # "" if there was none


def smallest_clips() -> list[Path]:
    """The smallest golden clip of each codec in each container."""
    folder = ensure_clips()
    clips = [folder / name for name in sorted(CLIPS)]
    best: dict[tuple[str, str], Path] = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for clip, codec in zip(clips, pool.map(_codec, clips)):
            kept = best.get((codec, clip.suffix))
            if codec and (kept is None or clip.stat().st_size < kept.stat().st_size):
                best[codec, clip.suffix] = clip
    return sorted(best.values())


def _codec(clip: Path) -> str:
    """Returns FFmpeg's name of a clip's codec; "" if the clip cannot be opened."""
    words = "ffprobe -v quiet -select_streams v:0 -show_entries stream=codec_name -of csv=p=0"
    return subprocess.run(
        [*words.split(), clip], capture_output=True, text=True, check=False
    ).stdout.strip()


def make_seeds(programs: Path, build: Path) -> None:
    """Makes build/seeds/NAME/ for each target."""
    seeds = build / "seeds"
    shutil.rmtree(seeds, ignore_errors=True)
    clips = smallest_clips()
    (seeds / "video").mkdir(parents=True)
    for clip in clips:
        shutil.copy(clip, seeds / "video")
    words = [programs / "write_seeds", seeds, *clips]
    subprocess.run(words, check=True, env=libfuzzer.environment())
    converted = HERE.parent / "golden" / "converted"

    def add(reader: str, name: str, data: bytes) -> None:
        (seeds / reader).mkdir(exist_ok=True)
        (seeds / reader / name).write_bytes(data)

    for path in sorted(converted.rglob("*")):
        name = path.relative_to(converted).as_posix().replace("/", "_")
        # The engines themselves have megabytes, and are opaque.
        if path.name == "conversion.json":
            add("record", name, path.read_bytes())
        elif path.name == "saved_model.pb" and path.stat().st_size <= 4 * MOST_BYTES:
            add("model", name, b"\0" + path.read_bytes())
        elif path.name == "frozen.pb":
            add("model", name, b"\1" + path.read_bytes())
    add("record", "edits", b"\5\1\7\2")
    text = b'\3node { name: "x" op: "Placeholder" }\nnode { name: "y" op: "Relu" input: "x" }\n'
    add("model", "text", text)
    message = b"\x0a\x08\x12\x02\x08\x08\x12\x02\x08\x05\x12\x20ftrt" + bytes(20) + b"\x08\6\0\x0c"
    add("engine_file", "message", b"\0" + message + bytes(4))
    table = b"TRT-8600-EntropyCalibration2\ninput: 3c010a14\nblock1/Relu: 3caa54fc\n"
    add("calibration_table", "one", table)
    add("calibration_table", "two", b"# engine a\n" + table + b"# engine b\n" + table)


def _command(programs: Path, name: str) -> list[str]:
    if name in READERS:
        return [sys.executable, str(HERE / "fuzz_reader.py"), name]
    return [str(programs / "fuzzer")]


def run(programs: Path, build: Path, name: str, seconds: int) -> Outcome:
    corpus, log = build / "corpus" / name, build / f"{name}.log"
    corpus.mkdir(parents=True, exist_ok=True)
    found = build / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    words = libfuzzer.options(name, found, max_total_time=seconds)
    path = os.pathsep.join([str(ROOT), str(build / "python")])
    env = {**libfuzzer.environment(name), "PYTHONPATH": path}
    env.update(TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="")
    with open(log, "wb") as file:
        code = subprocess.run(
            [*_command(programs, name), *words, corpus, *libfuzzer.seed_folders(build, name)],
            stdout=file,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=build,
            check=False,
        ).returncode
    text = log.read_text(errors="replace")
    failure = ""
    if code:
        artifact = libfuzzer.artifact(text)
        failure = f"{libfuzzer.failure(text, f'exit code {code}')} ({artifact or log})"
    return Outcome(name, *libfuzzer.numbers(text), len(list(corpus.iterdir())), failure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    names = args.names or [*VIDEO, *OTHER, *READERS]
    if unknown := set(names) - {*VIDEO, *OTHER, *READERS}:
        parser.error(f"no target {sorted(unknown)}; there are {[*VIDEO, *OTHER, *READERS]}")
    programs, build = args.programs.resolve(), args.build.resolve()
    make_seeds(programs, build)
    jobs = min(args.jobs, len(names))
    seconds = max(1, int(args.minutes * 60 * jobs / len(names)))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(lambda name: run(programs, build, name, seconds), names))
    print(f"{'target':18} {'executions':>11} {'edges':>7} {'corpus':>7}  result")
    for done in outcomes:
        print(
            f"{done.name:18} {done.executions:11} {done.edges:7} {done.inputs:7}  "
            f"{done.failure or 'ok'}"
        )
    # A target that ran nothing found nothing.
    idle = [done.name for done in outcomes if not done.executions]
    if idle:
        print(f"these ran no input: {', '.join(idle)}", file=sys.stderr)
    return int(bool(idle or any(done.failure for done in outcomes)))


if __name__ == "__main__":
    sys.exit(main())
