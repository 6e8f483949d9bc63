"""A plan for several threads at once."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from converters.plans.plan_runner import PlanRunner, read_plan
from converters.util.errors import PlanError

_CLOSED = "the pool is closed"


class PlanPool(contextlib.AbstractContextManager["PlanPool"]):
    """A plan that threads run side by side, each call in an execution context and a stream of its
    own.

    TensorRT 8.6 gives an optimization profile to one context at a time. So the pool loads the plan
    once for each context: the weights take `contexts` times the memory.

    Args:
      plan: A plan, or the path of its file.
      contexts: How many calls run at once; more of them wait.
      names: As for `PlanRunner`.
      device: The GPU.
      cuda_graphs: As for `PlanRunner`.

    Raises:
      ValueError: `contexts` is less than 1.
      UnavailableError, PlanError: As `PlanRunner`.
    """

    def __init__(
        self,
        plan: bytes | str | Path,
        *,
        contexts: int = 2,
        names: Mapping[str, str] | None = None,
        device: int = 0,
        cuda_graphs: bool = False,
    ) -> None:
        if contexts < 1:
            raise ValueError(f"contexts must be at least 1, not {contexts}")
        data = plan if isinstance(plan, bytes) else read_plan(Path(plan))
        # None says that the pool is closed.
        self._free: queue.SimpleQueue[PlanRunner | None] = queue.SimpleQueue()
        with contextlib.ExitStack() as opened:
            self._runners = [
                opened.enter_context(
                    PlanRunner(data, names=names, device=device, cuda_graphs=cuda_graphs)
                )
                for _ in range(contexts)
            ]
            self._opened = opened.pop_all()
        self._inputs, self._outputs = self._runners[0].inputs, self._runners[0].outputs
        for runner in self._runners:
            self._free.put(runner)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names that `run` wants arrays for."""
        return self._inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names that `run` gives."""
        return self._outputs

    def run(self, inputs: Mapping[str, Any], *, on_gpu: bool = False) -> dict[str, Any]:
        """As `PlanRunner.run`, from any thread. It waits while all contexts are at work; a
        PlanError if the pool is closed."""
        if not self._runners:
            raise PlanError(_CLOSED)
        runner = self._free.get()
        if runner is None:
            self._free.put(None)  # for the next that waits
            raise PlanError(_CLOSED)
        try:
            return runner.run(inputs, on_gpu=on_gpu)
        finally:
            self._free.put(runner)

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Waits for calls that run, and gives the GPU's memory back."""
        runners, self._runners = self._runners, []
        for _ in runners:
            self._free.get()
        if runners:
            self._free.put(None)
        self._opened.close()
