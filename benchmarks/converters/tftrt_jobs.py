"""The jobs that tftrt_convert.py measures.

Each job runs in a process of its own, so that no peer warms caches for another. A peer is a
function in PEERS that writes a SavedModel.

    python -m benchmarks.converters.tftrt_jobs JOB ARGUMENTS      # JSON in, a line of JSON out

The arguments of each job may have `batches`, the largest first, in place of BATCHES.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BATCHES = (32, 8, 1)
SIZES = {"InceptionV3": 299, "NASNetLarge": 331}
# The networks of the TF-TRT guide's tables that keras.applications has, beside those that
# tftrt_convert.py measures by default.
GUIDE = ("MobileNet", "NASNetMobile", "NASNetLarge", "ResNet50V2", "VGG19")
STATISTICS_BATCH = 8  # that the normalizations of untrained networks go by
CALIBRATION_BATCHES = 4
OURS, STOCK, NATIVE = "converters", "TF-TRT", "native"
AGAIN = "TF-TRT again"  # a second build, for which TensorRT may choose other kernels
ENGINES = "engines only"  # this package's, without native segments
REQUESTS = 10  # to a peer in a row
# Untrained networks amplify rounding errors. Only a trained network shows how much accuracy is
# lost.
COSINE = 0.5
WARM_UP = 3  # rounds
# These parts of the environment's description differ from host to host and do not affect figures.
_PATHS = ("tensorflow_folder", "library_path", "plugin_path")

Steps = dict[str, float]  # seconds by name


def native(source: Path, out: Path, precision: str) -> Steps:
    """Native TensorFlow: the model without TensorRT."""
    return {}


def stock(source: Path, out: Path, precision: str) -> Steps:
    """Stock TF-TRT: TrtGraphConverterV2 as its guide shows it, built for the largest batch."""
    from tensorflow.python.compiler.tensorrt import trt_convert

    return _stock(trt_convert.TrtGraphConverterV2, source, out, precision)


def again(source: Path, out: Path, precision: str) -> Steps:
    """Stock TF-TRT with other names of engines.

    Two models whose engines have the same names cannot be loaded in one process.
    """
    from tensorflow.python.compiler.tensorrt import trt_convert

    from converters.tftrt.graph_edits import with_unique_names

    class Renamed(trt_convert.TrtGraphConverterV2):
        def _run_conversion(self, meta_graph_def: Any) -> Any:
            return with_unique_names(super()._run_conversion(meta_graph_def))

    return _stock(Renamed, source, out, precision)


def _stock(make: Callable[..., Any], source: Path, out: Path, precision: str) -> Steps:
    from converters.environment.tftrt_ready import accept_patch_level

    def inputs() -> Iterator[tuple[Any]]:
        yield (images(source, BATCHES[0]),)

    def calibration() -> Iterator[tuple[Any]]:
        for seed in range(CALIBRATION_BATCHES):
            yield (images(source, BATCHES[0], seed),)

    with accept_patch_level():
        converter = make(input_saved_model_dir=str(source), precision_mode=precision)
    began = time.monotonic()
    converter.convert(calibration if precision == "INT8" else None)
    converted = time.monotonic()
    converter.build(inputs)
    built = time.monotonic()
    converter.save(str(out))
    saved = time.monotonic()
    return {"convert": converted - began, "build": built - converted, "save": saved - built}


def engines_only(source: Path, out: Path, precision: str) -> Steps:
    """This package's model, without TensorFlow ops behind the engines."""
    return ours(source, out, precision, native_segments=False)


def ours(source: Path, out: Path, precision: str, native_segments: bool = True) -> Steps:
    """This package's model: converters.convert with all its checks, in a child process."""
    from converters import ConversionSpec, convert
    from converters.spec.thresholds import Thresholds

    name = input_name(source)
    spec = ConversionSpec(
        precision,
        input_shapes=[{name: images(source, batch).shape} for batch in BATCHES],
        signatures=["serving_default"],
        thresholds=Thresholds(cosine=COSINE),
        native_segments=native_segments,
    )
    data = [images(source, BATCHES[0], seed) for seed in range(CALIBRATION_BATCHES)]
    report = convert(source, out, spec, calibration_data=data if precision == "INT8" else None)
    steps: Steps = {}
    for step, seconds in report.timings:
        steps[step] = steps.get(step, 0.0) + seconds
    return steps


PEERS: dict[str, Callable[[Path, Path, str], Steps]] = {
    NATIVE: native,
    OURS: ours,
    STOCK: stock,
    AGAIN: again,
    ENGINES: engines_only,
}
USUAL = (NATIVE, OURS, STOCK)


def input_name(source: Path) -> str:
    from converters.model.trt_graph import load_graph

    return next(iter(load_graph(source).signatures["serving_default"].inputs))


def images(source: Path, batch: int, seed: int = 0) -> Any:
    import numpy as np

    side = SIZES.get(source.name, 224)
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, (batch, side, side, 3)).astype(np.float32)


def _afresh(path: Path) -> Path:
    """Returns a temporary name, used until the folder is complete."""
    part = path.with_name(f"{path.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    return part


def job_export(model: str, source: str) -> None:
    """Exports a network with random weights.

    Its normalizations get the statistics of a batch. Without them deep networks compute zeros.
    """
    import tensorflow as tf

    tf.keras.utils.set_random_seed(0)
    with tf.device("CPU:0"):
        make = getattr(tf.keras.applications, model)
        network = make(weights=None, classifier_activation=None)
        for layer in network.layers:
            if isinstance(layer, tf.keras.layers.BatchNormalization):
                layer.momentum = 0.0
        network(images(Path(source), STATISTICS_BATCH), training=True)
        part = _afresh(Path(source))
        network.export(str(part), verbose=False)
    part.rename(source)


def job_convert(peer: str, source: str, out: str, precision: str) -> dict[str, Any]:
    """Converts into `out` (native: nothing).

    Returns `convert_s`, the seconds of its steps, and how much of the model is in engines.
    """
    import tensorflow as tf

    if peer not in (OURS, ENGINES):  # these two need the GPU's memory in their child
        tf.zeros([1])  # starts CUDA outside the timed conversion
    if out != source:  # they are equal for native
        shutil.rmtree(out, ignore_errors=True)  # the rest of an interrupted run
    part = _afresh(Path(out))
    began = time.monotonic()
    steps = PEERS[peer](Path(source), part, precision)
    seconds = time.monotonic() - began
    found: dict[str, Any] = {"convert_s": round(seconds, 3)}
    if part.exists():
        part.rename(out)
        found.update(in_engines(Path(out)))
    return {**found, "steps": {n: round(s, 3) for n, s in steps.items()}} if steps else found


def in_engines(model: Path) -> dict[str, int]:
    """Returns the number of engines, the compute nodes in them, and all compute nodes."""
    from converters.report.inspect_model import inspect_model

    report = inspect_model(model, ask=False)
    inside = report.converted_compute
    return {
        "engines": len(report.engines),
        "nodes_in_engines": inside,
        "nodes": inside + len(report.left_out),
    }


def name_in(function: Any) -> str:
    """Returns the name of a signature's only input."""
    (name,) = function.structured_input_signature[1]
    return name


def request(function: Any, given: dict[str, Any]) -> Any:
    """Sends a request by the input's name; returns the first output, which may not be complete."""
    return next(iter(function(**given).values()))


def job_cold(source: str, path: str) -> dict[str, float]:
    """Returns the seconds from before TensorFlow's import to the first result, largest batch."""
    began = time.monotonic()
    import tensorflow as tf

    model = tf.saved_model.load(path)  # the engines live as long as this object
    function = model.signatures["serving_default"]
    given = {name_in(function): tf.constant(images(Path(source), BATCHES[0]))}
    ready = time.monotonic()
    request(function, given).numpy()
    done = time.monotonic()
    return {"cold_start_s": round(done - began, 3), "first_request_s": round(done - ready, 3)}


def job_latency(source: str, paths: dict[str, str], rounds: int) -> dict[str, dict[str, Any]]:
    """Returns latency_ms, latency_p95_ms and queued_ms by peer and batch; peers take turns."""
    import tensorflow as tf

    held = {peer: tf.saved_model.load(path) for peer, path in paths.items()}
    functions = {peer: model.signatures["serving_default"] for peer, model in held.items()}
    result: dict[str, dict[str, Any]] = {
        peer: {"latency_ms": {}, "latency_p95_ms": {}, "queued_ms": {}} for peer in held
    }
    for batch in BATCHES:
        with tf.device("GPU:0"):
            x = tf.identity(images(Path(source), batch))
        waited: dict[str, list[float]] = {peer: [] for peer in held}
        queued: dict[str, list[float]] = {peer: [] for peer in held}
        for turn in range(rounds + WARM_UP):
            for peer, function in functions.items():
                given = {name_in(function): x}
                times = [clock(function, given, 1) for _ in range(REQUESTS)]
                together = clock(function, given, REQUESTS) / REQUESTS
                if turn >= WARM_UP:
                    waited[peer] += times
                    queued[peer].append(together)
        for peer, found in result.items():
            found["latency_ms"][str(batch)] = round(statistics.median(waited[peer]), 3)
            found["latency_p95_ms"][str(batch)] = round(percentile(waited[peer], 95), 3)
            found["queued_ms"][str(batch)] = round(statistics.median(queued[peer]), 3)
    return result


def clock(function: Any, given: dict[str, Any], count: int) -> float:
    """Returns the milliseconds for `count` requests, of which the last is waited for."""
    began = time.perf_counter()
    for _ in range(count):
        found = request(function, given)
    found.numpy()
    return 1e3 * (time.perf_counter() - began)


def percentile(values: list[float], share: float) -> float:
    """Returns the smallest value that `share` percent of the values do not exceed."""
    return sorted(values)[math.ceil(len(values) * share / 100) - 1]


def job_machine() -> dict[str, Any]:
    from benchmarks.harness import machine
    from converters.environment.tftrt_ready import describe

    found = {name: value for name, value in describe().to_json().items() if name not in _PATHS}
    return {"machine": machine.describe(), "tensorrt": found}


if __name__ == "__main__":
    given = json.loads(sys.argv[2])
    BATCHES = tuple(given.pop("batches", BATCHES))
    print(json.dumps(globals()[f"job_{sys.argv[1]}"](**given)))
