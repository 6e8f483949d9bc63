"""What the tests of benchmark and profile share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import made_up_runtime
import pytest
from made_up_driver import Driver

from converters.measure import plan_requests, profile, subject, turns
from converters.plans import plan_runner


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs jobs in this process, in a thread. A failed test must not kill what it runs in."""

    def run(job: Callable[..., Any], kwargs: Mapping[str, Any], **_: object) -> Any:
        return job(**json.loads(json.dumps(kwargs)))

    for module in (turns, subject, profile):
        monkeypatch.setattr(module, "run_in_child", run)
    monkeypatch.setattr(turns.os, "killpg", lambda *_: None)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Puts made_up_runtime.py in the place of TensorRT and the GPU. Nothing may stay open."""
    for module in (plan_runner, plan_requests):
        monkeypatch.setattr(module, "import_tensorrt", lambda: made_up_runtime)
    driver = Driver.installed(monkeypatch)
    yield
    assert driver.is_empty()
