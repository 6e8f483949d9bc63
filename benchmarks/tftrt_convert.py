"""Image networks through TensorRT, beside native TensorFlow and stock TF-TRT: latency, time to
convert, and the first request in a fresh process. Needs a GPU and what converters needs.

    python -m benchmarks.tftrt_convert --models ResNet50 --precisions FP32,FP16,INT8

A peer is a function in PEERS that leaves a SavedModel. Latencies are of one process that holds all
peers' models and calls them in turn, from a tensor on the GPU to the result on the host.

The file of results is written after each model and precision, so that a run that is cut keeps
what it has. A later run on the same machine puts its rows in place of those of the same model,
precision and peer, and leaves the others; a file of another machine is kept under another name.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import machine

RESULTS = Path(__file__).resolve().parent / "results" / "h200"
BATCHES = (32, 8, 1)
SIZES = {"InceptionV3": 299}
CALIBRATION_BATCHES = 4
OURS, STOCK, NATIVE = "converters", "TF-TRT", "native"
_BEGAN = time.monotonic()


def native(source: Path, out: Path, precision: str) -> Path:
    """TensorFlow without TensorRT."""
    return source


def stock(source: Path, out: Path, precision: str) -> Path:
    """TrtGraphConverterV2 as its guide shows it, built for the largest batch."""
    from converters.environment import accept_patch_level
    from tensorflow.python.compiler.tensorrt import trt_convert

    def inputs() -> Iterator[tuple[Any]]:
        yield (images(source, BATCHES[0]),)

    def calibration() -> Iterator[tuple[Any]]:
        for seed in range(CALIBRATION_BATCHES):
            yield (images(source, BATCHES[0], seed),)

    with accept_patch_level():
        converter = trt_convert.TrtGraphConverterV2(
            input_saved_model_dir=str(source), precision_mode=precision
        )
    converter.convert(calibration if precision == "INT8" else None)
    converter.build(inputs)
    converter.save(str(out))
    return out


def ours(source: Path, out: Path, precision: str) -> Path:
    """converters.convert, with all that it proves: in a child process, run again, compared."""
    from converters import ConversionSpec, convert

    name = input_name(source)
    spec = ConversionSpec(
        precision,
        input_shapes=[{name: images(source, batch).shape} for batch in BATCHES],
        signatures=["serving_default"],
    )
    data = [images(source, BATCHES[0], seed) for seed in range(CALIBRATION_BATCHES)]
    convert(source, out, spec, calibration_data=data if precision == "INT8" else None)
    return out


PEERS: dict[str, Callable[[Path, Path, str], Path]] = {NATIVE: native, STOCK: stock, OURS: ours}


def input_name(source: Path) -> str:
    from converters.trt_graph import load_graph

    return next(iter(load_graph(source).signatures["serving_default"].inputs))


def images(source: Path, batch: int, seed: int = 0) -> Any:
    import numpy as np

    side = SIZES.get(source.name, 224)
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, (batch, side, side, 3)).astype(np.float32)


def job_export(model: str, source: str) -> None:
    """Random weights: the time does not depend on them."""
    import tensorflow as tf

    tf.keras.utils.set_random_seed(0)
    network = getattr(tf.keras.applications, model)(weights=None)
    network.export(source, verbose=False)


def job_convert(peer: str, source: str, out: str, precision: str) -> dict[str, Any]:
    import tensorflow as tf

    tf.zeros([1])  # CUDA's start is nobody's conversion
    began = time.monotonic()
    path = PEERS[peer](Path(source), Path(out), precision)
    return {"path": str(path), "convert_s": time.monotonic() - began}


def job_cold(source: str, path: str, batch: int) -> dict[str, float]:
    """Seconds from before TensorFlow is imported to the first result."""
    began = time.monotonic()
    import tensorflow as tf

    model = tf.saved_model.load(path)  # engines live as long as this
    function = model.signatures["serving_default"]
    x = tf.constant(images(Path(source), batch))
    ready = time.monotonic()
    next(iter(function(x).values())).numpy()
    done = time.monotonic()
    return {"cold_start_s": done - began, "first_request_s": done - ready}


def job_latency(source: str, paths: dict[str, str], rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds by peer and batch: the median of `rounds`, in which peers take turns."""
    import tensorflow as tf

    held = {name: tf.saved_model.load(path) for name, path in paths.items()}
    result: dict[str, dict[str, float]] = {name: {} for name in held}
    for batch in BATCHES:
        x = tf.constant(images(Path(source), batch))
        taken: dict[str, list[float]] = {name: [] for name in held}
        for turn in range(rounds + 3):
            for name, model in held.items():
                began = time.perf_counter()
                for _ in range(10):
                    found = next(iter(model.signatures["serving_default"](x).values()))
                found.numpy()
                if turn >= 3:
                    taken[name].append((time.perf_counter() - began) / 10)
        for name, seconds in taken.items():
            result[name][str(batch)] = 1e3 * statistics.median(seconds)
    return result


def job_machine() -> dict[str, Any]:
    from converters.environment import describe

    return {"machine": machine.describe(), "tensorrt": describe().to_json()}


def in_process(job: str, **arguments: Any) -> Any:
    """Runs a job in a fresh process, so that no peer warms another."""
    command = [sys.executable, "-m", "benchmarks.tftrt_convert", "--job", job]
    done = subprocess.run(
        [*command, json.dumps(arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{job} {arguments}: {done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def say(text: str) -> None:
    print(f"[{time.monotonic() - _BEGAN:7.1f} s] {text}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="ResNet50,MobileNetV2,VGG16,InceptionV3")
    parser.add_argument("--precisions", default="FP32,FP16,INT8")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--job", nargs=2, metavar=("JOB", "ARGUMENTS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job, arguments = options.job
        print(json.dumps(globals()[f"job_{job}"](**json.loads(arguments))))
        return
    peers = options.peers.split(",")
    if unknown := set(peers) - set(PEERS):
        parser.error(f"no peer named {', '.join(unknown)}; there are {', '.join(PEERS)}")
    options.results.mkdir(parents=True, exist_ok=True)
    results = Results(options.results / "tftrt_convert.json", in_process("machine"))
    with tempfile.TemporaryDirectory() as work:
        for model in options.models.split(","):
            source = Path(work) / model
            in_process("export", model=model, source=str(source))
            for precision in options.precisions.split(","):
                results.add(measure(source, precision, peers, Path(work), options.rounds))


class Results:
    """The file of results; `described` is job_machine's."""

    def __init__(self, path: Path, described: dict[str, Any]) -> None:
        self._path = path
        self._document = {**described, "rows": []}
        if not path.exists():
            return
        older = json.loads(path.read_text())
        if _same_machine(older, described):
            self._document["rows"] = older["rows"]
            return
        kept = path.with_name(f"{path.stem}.{older['machine']['date']}.json")
        path.rename(kept)
        print(f"{path} is of another machine or TensorRT: kept as {kept}")

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Puts rows in and writes the file, which is whole at any time."""
        new = {_key(row) for row in rows}
        kept = [row for row in self._document["rows"] if _key(row) not in new]
        self._document["rows"] = [*kept, *rows]
        part = self._path.with_name(self._path.name + ".part")
        part.write_text(json.dumps(self._document, indent=1) + "\n")
        part.replace(self._path)
        print(f"wrote {self._path}", flush=True)


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return row["model"], row["precision"], row["peer"]


def _same_machine(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """But for what changes from run to run."""

    def lasting(described: dict[str, Any]) -> dict[str, Any]:
        fixed = described["machine"].items()
        return {name: value for name, value in fixed if name not in ("date", "load_before")}

    return lasting(one) == lasting(other) and one["tensorrt"] == other["tensorrt"]


def measure(
    source: Path, precision: str, peers: list[str], work: Path, rounds: int
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for peer in peers:
        out = work / f"{source.name}-{precision}-{peer}"
        row = in_process(
            "convert", peer=peer, source=str(source), out=str(out), precision=precision
        )
        row.update(model=source.name, precision=precision, peer=peer)
        say(f"{source.name} {precision} {peer}: converted in {row['convert_s']:.1f} s")
        row.update(in_process("cold", source=str(source), path=row["path"], batch=BATCHES[0]))
        say(f"{source.name} {precision} {peer}: first result after {row['cold_start_s']:.1f} s")
        rows.append(row)
    paths = {row["peer"]: row.pop("path") for row in rows}
    latency = in_process("latency", source=str(source), paths=paths, rounds=rounds)
    for row in rows:
        row["latency_ms"] = {batch: round(ms, 3) for batch, ms in latency[row["peer"]].items()}
        reference = latency.get(NATIVE, latency[row["peer"]])
        row["speed_up"] = {
            batch: round(reference[batch] / ms, 2) for batch, ms in latency[row["peer"]].items()
        }
        for name in ("convert_s", "cold_start_s", "first_request_s"):
            row[name] = round(row[name], 3)
        print(json.dumps(row), flush=True)
    return rows


if __name__ == "__main__":
    main()
