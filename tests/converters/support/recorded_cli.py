"""Runs `trt-convert` without its work. It only records what the command line passes on."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable

import pytest

from converters.cli import main
from converters.spec.conversion_spec import ConversionSpec


class Report:
    """Stands in for the report that a command shows."""

    def to_text(self) -> str:
        return "the report"

    def to_json(self) -> dict[str, int]:
        return {"engines": 2}


@pytest.fixture
def report() -> Report:
    return Report()


@pytest.fixture
def calls(report, monkeypatch) -> dict[str, tuple]:
    """Replaces the functions that the command line calls. Returns a dict that keeps the calls."""
    seen: dict[str, tuple] = {}

    def recorded(name: str):
        def call(*args, **kwargs):
            seen[name] = (args, kwargs)
            return report

        return call

    module = types.ModuleType("converters.convert_model")
    module.convert = recorded("convert")
    module.calibrate = recorded("calibrate")
    monkeypatch.setitem(sys.modules, "converters.convert_model", module)
    return seen


@pytest.fixture
def spec_of(calls) -> Callable[..., ConversionSpec]:
    """Returns a function that gives the spec of `trt-convert convert in out` with some options."""

    def spec(*options: str) -> ConversionSpec:
        assert main(["convert", "in", "out", *options]) == 0
        return calls["convert"][0][2]

    return spec
