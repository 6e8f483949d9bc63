"""Loads a converted model in a fresh process and runs every declared shape: no engine may be built
there, and no segment may run in TensorFlow instead of TensorRT.

What happens is read from TensorFlow's own log of the op (TRTEngineOp names each of the three), and
not guessed from times.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from converters.util.child import run_in_child
from converters.util.errors import EngineError
from converters.util.shapes import Shape, format_shape_set
from converters.util.variables import variables

_MARK = "trt-convert:"
_EVENTS = (
    ("built", re.compile(r"Building a new TensorRT engine for (\S+)")),
    ("native", re.compile(r"Executing native segment: (\S+)")),
    ("engine", re.compile(r"Executing TRT engine: (\S+)")),
)
# With these variables TensorFlow logs what its engines do.
LOG_ENGINES = {
    "TF_CPP_MIN_LOG_LEVEL": "0",
    "TF_CPP_VMODULE": "trt_engine_op=1,trt_engine_resource_ops=1",
    # The process that converted may still hold memory of the GPU.
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
}


@dataclass(frozen=True)
class ShapeRun:
    """The first request with these shapes. The engines are named by their canonical names."""

    signature: str
    shapes: Mapping[str, Shape]
    seconds: float
    engines: tuple[str, ...]  # that ran
    built: tuple[str, ...]
    native: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.built and not self.native


@dataclass(frozen=True)
class FreshReport:
    """`load_seconds` is tf.saved_model.load, `import_seconds` importing TensorFlow before it."""

    import_seconds: float
    load_seconds: float
    runs: tuple[ShapeRun, ...]

    @property
    def passed(self) -> bool:
        return all(run.ok for run in self.runs)

    def raise_if_failed(self) -> None:
        """EngineError with every shape that built an engine or ran in TensorFlow."""
        lines = []
        for run in self.runs:
            where = f"signature {run.signature!r}, {format_shape_set(run.shapes)}"
            if run.built:
                lines.append(f"{where}: built {', '.join(run.built)} in {run.seconds:.1f} s")
            if run.native:
                lines.append(f"{where}: {', '.join(run.native)} ran in TensorFlow")
        if lines:
            raise EngineError(
                "in a fresh process the converted model does not run by its saved engines alone:"
                "\n  " + "\n  ".join(lines) + "\nDeclare these shapes (input_shapes, "
                "shape_ranges), or keep the op that TensorRT cannot build out of it (op_denylist)"
            )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def fresh_check(
    folder: Path, requests: Sequence[tuple[str, Mapping[str, Shape]]], tags: Sequence[str] = ()
) -> FreshReport:
    """Runs (signature, shapes) one after the other in a new process, on random inputs.

    Raises:
      ConverterError: the process crashed, or the model cannot be loaded or run.
    """
    with tempfile.TemporaryDirectory(prefix="trt-convert-") as work:
        log = Path(work) / "log"
        with variables(LOG_ENGINES):
            times = run_in_child(
                run_requests,
                {
                    "folder": str(folder),
                    "requests": [[name, dict(shapes)] for name, shapes in requests],
                    "tags": list(tags),
                },
                log,
            )
        parts = events(log.read_text(errors="replace"))
    if len(parts) != len(requests):
        raise EngineError(
            f"the fresh process ran {len(requests)} shapes, and its log shows {len(parts)}: what "
            "ran there is not known"
        )
    runs = [
        ShapeRun(
            name, dict(shapes), seconds, *(part[kind] for kind in ("engine", "built", "native"))
        )
        for (name, shapes), seconds, part in zip(requests, times["runs"], parts)
    ]
    return FreshReport(times["import"], times["load"], tuple(runs))


def events(log: str) -> list[dict[str, tuple[str, ...]]]:
    """For each request in the log: the engines that ran, were built, and ran natively."""
    found: list[dict[str, dict[str, None]]] = []
    for line in log.splitlines():
        if line.startswith(_MARK):
            found.append({kind: {} for kind, _ in _EVENTS})
        elif found:
            for kind, pattern in _EVENTS:
                if match := pattern.search(line):
                    found[-1][kind][match[1].split("/")[-1]] = None
    return [{kind: tuple(names) for kind, names in part.items()} for part in found]


def run_requests(folder: str, requests: list[list[Any]], tags: list[str]) -> dict[str, Any]:
    """The job of the fresh process; marks each request on stderr, where TensorFlow logs."""
    began = time.monotonic()
    import tensorflow as tf

    from converters.checks.runnable import load_signatures, signature_specs
    from converters.inputs.random_inputs import random_batches

    imported = time.monotonic()
    tf.config.set_soft_device_placement(True)
    models = load_signatures(folder, tags or None)
    loaded = time.monotonic()
    specs = signature_specs(folder, tags or None)
    seconds = []
    for name, shapes in requests:
        given = {key: tuple(shape) for key, shape in shapes.items()}
        batch = next(random_batches(specs[name], 1, given, error=EngineError))
        print(_MARK, name, file=sys.stderr, flush=True)
        start = time.monotonic()
        models[name](batch)
        seconds.append(time.monotonic() - start)
    return {"import": imported - began, "load": loaded - imported, "runs": seconds}
