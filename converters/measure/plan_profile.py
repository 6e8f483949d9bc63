"""The job of the child process that profiles plans, layer by layer, with TensorRT's runtime.

A profiler makes TensorRT wait behind each layer, which costs time. So the requests are first timed
without it, by CUDA events. Only that part lies between the driver's start and stop of profiling
tools, with NVTX ranges if the package nvtx is there. TensorRT itself marks its layers by NVTX.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from converters.inputs.batch_files import read_batch
from converters.inputs.calibration_data import Batch
from converters.measure.plan_requests import PlanCaller
from converters.util.errors import PlanError, PlanShapeError
from converters.util.shapes import shapes_of

_WARM_UP = 10


def profile_plans(plans: list[dict[str, Any]], runs: int) -> dict[str, Any]:
    """Runs each of `plans` `runs` times without and with a profiler.

    A plan has the "engine" that it is of, "files" of which the first that takes the shapes is run,
    "names" of its bindings, and "batch", a file of batch_files.py.

    Returns:
      "device", "library", and "plans": for each the number of its "file", its "shapes" by input,
      the median of "request_ms" by CUDA events without copies, and "layers" in TensorRT's order,
      each [name, median milliseconds].

    Raises:
      PlanError: TensorRT cannot load the plan, or no plan of the engine takes the shapes.
    """
    loaded: list[ProfiledPlan] = []
    found: list[dict[str, Any]] = []
    try:
        for plan in plans:
            batch = read_batch(Path(plan["batch"]))
            number, caller = _first_that_takes(plan["files"], plan["names"], batch)
            loaded.append(caller)
            found.append({"file": number, "shapes": shapes_of(batch)})
            caller.requests(_WARM_UP)
        times = _timed(loaded, [plan["engine"] for plan in plans], runs)
        for one, ms, caller in zip(found, times, loaded):
            one.update(request_ms=ms, layers=caller.layers(runs))
        device, library = loaded[0].device_name, f"TensorRT {loaded[0].version}"
        return {"device": device, "library": library, "plans": found}
    finally:
        for caller in loaded:
            caller.close()


class ProfiledPlan(PlanCaller):
    """A plan whose layers are timed."""

    def __init__(self, path: str, names: Mapping[str, str]) -> None:
        super().__init__(path, names, count_memory=False)

    def requests(
        self, count: int, marked: Callable[[str], Any] = contextlib.nullcontext
    ) -> list[float]:
        """The GPU's milliseconds of each of `count` requests, one after the other."""
        self.begin()
        found = []
        for number in range(count):
            with marked(f"request {number}"):
                found.append(self.finish(self.send()))
        return found

    def layers(self, count: int) -> list[tuple[str, float]]:
        """The median milliseconds of each layer over `count` requests."""
        times = _layer_times(self._trt)
        self._context.profiler = times
        self.requests(1)  # TensorRT makes its events in the first
        found: dict[str, list[float]] = {}
        for _ in range(count):
            times.of_request = {}
            self.requests(1)
            for name, ms in times.of_request.items():
                found.setdefault(name, []).append(ms)
        if not found:
            raise PlanError(
                f"{self._what}: TensorRT reported no layers, as for a plan that was built with the "
                "profiling verbosity NONE: build it with LAYER_NAMES_ONLY, TensorRT's default"
            )
        return [(name, statistics.median(ms)) for name, ms in found.items()]

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """Within the block, tools record that wait for the driver's start."""
        self._device.start_profiler()
        try:
            yield
        finally:
            self._device.stop_profiler()


def _layer_times(trt: Any) -> Any:
    """An IProfiler with `of_request`, the milliseconds of each layer by name. A layer that ran
    several times has their sum."""

    class Times(trt.IProfiler):
        def __init__(self) -> None:
            trt.IProfiler.__init__(self)
            self.of_request: dict[str, float] = {}

        def report_layer_time(self, layer_name: str, ms: float) -> None:
            self.of_request[layer_name] = self.of_request.get(layer_name, 0.0) + ms

    return Times()


def _first_that_takes(
    files: Sequence[str], names: Mapping[str, str], batch: Batch
) -> tuple[int, ProfiledPlan]:
    refused: PlanShapeError | None = None
    for number, file in enumerate(files):
        caller = ProfiledPlan(file, names)
        try:
            caller.prepare([batch], 1, "device")
            return number, caller
        except BaseException as error:
            caller.close()
            if not isinstance(error, PlanShapeError):
                raise
            refused = error
    raise refused or PlanError("there is no plan")


def _timed(callers: Sequence[ProfiledPlan], engines: Sequence[str], runs: int) -> list[float]:
    marked = _nvtx_ranges()
    medians = []
    with callers[0].recorded():
        for caller, engine in zip(callers, engines):
            with marked(engine):
                medians.append(statistics.median(caller.requests(runs, marked)))
    return medians


def _nvtx_ranges() -> Callable[[str], Any]:
    try:
        import nvtx  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return contextlib.nullcontext
    ranges: Callable[[str], Any] = nvtx.annotate
    return ranges
