"""From a trained TensorFlow model to TensorRT: converted, checked, measured and explained.

Importing this package imports neither TensorFlow nor TensorRT, and works without them.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from converters.convert import calibrate, convert
    from converters.doctor import doctor
    from converters.errors import (
        CalibrationError,
        ConverterError,
        CrashError,
        EngineError,
        ModelError,
        NotInt8Error,
        OutputError,
        PlanError,
        SpecError,
        UnavailableError,
        VerificationDataError,
        VerificationError,
    )
    from converters.extract_plan import extract_plans
    from converters.inspect import inspect_model
    from converters.shapes import ShapeRange
    from converters.spec import ConversionSpec
    from converters.verify import verify

__all__ = [
    "CalibrationError",
    "ConversionSpec",
    "ConverterError",
    "CrashError",
    "EngineError",
    "ModelError",
    "NotInt8Error",
    "OutputError",
    "PlanError",
    "ShapeRange",
    "SpecError",
    "UnavailableError",
    "VerificationDataError",
    "VerificationError",
    "calibrate",
    "convert",
    "doctor",
    "extract_plans",
    "inspect_model",
    "verify",
]

_ELSEWHERE = {
    "ConversionSpec": "spec",
    "ShapeRange": "shapes",
    "calibrate": "convert",
    "convert": "convert",
    "doctor": "doctor",
    "extract_plans": "extract_plan",
    "inspect_model": "inspect",
    "verify": "verify",
}


class _Package(types.ModuleType):
    """Keeps `converters.convert` the function: importing the module of that name would put the
    module in its place."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in __all__ and isinstance(value, types.ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_ELSEWHERE.get(name, 'errors')}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
