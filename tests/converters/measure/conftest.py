"""What the tests of benchmark share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from converters.measure import subject, turns


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs jobs in this process, in a thread. A failed test must not kill what it runs in."""

    def run(job: Callable[..., Any], kwargs: Mapping[str, Any]) -> Any:
        return job(**json.loads(json.dumps(kwargs)))

    monkeypatch.setattr(turns, "run_in_child", run)
    monkeypatch.setattr(subject, "run_in_child", run)
    monkeypatch.setattr(turns.os, "killpg", lambda *_: None)
