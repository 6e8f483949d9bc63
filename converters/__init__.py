"""From a trained TensorFlow model to TensorRT: converted, checked, measured and explained.

Importing this package imports neither TensorFlow nor TensorRT, and works without them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from converters.checks.labels import verify_labels
    from converters.checks.verify import verify
    from converters.convert_model import calibrate, convert
    from converters.environment.doctor import doctor
    from converters.measure.benchmark import benchmark
    from converters.measure.profile import profile
    from converters.plans.extract_plan import extract_plans
    from converters.report.inspect_model import inspect_model
    from converters.spec.conversion_spec import ConversionSpec
    from converters.util.errors import (
        CalibrationError,
        ConverterError,
        CrashError,
        EngineError,
        MeasureError,
        ModelError,
        NotInt8Error,
        OutputError,
        PlanError,
        PlanShapeError,
        PlanVersionError,
        SpecError,
        UnavailableError,
        VerificationDataError,
        VerificationError,
    )
    from converters.util.shapes import ShapeRange

# As in tf_nvcodec/version.py: both packages are in one distribution.
__version__ = "0.1.0"

__all__ = [
    "CalibrationError",
    "ConversionSpec",
    "ConverterError",
    "CrashError",
    "EngineError",
    "MeasureError",
    "ModelError",
    "NotInt8Error",
    "OutputError",
    "PlanError",
    "PlanShapeError",
    "PlanVersionError",
    "ShapeRange",
    "SpecError",
    "UnavailableError",
    "VerificationDataError",
    "VerificationError",
    "benchmark",
    "calibrate",
    "convert",
    "doctor",
    "extract_plans",
    "inspect_model",
    "profile",
    "verify",
    "verify_labels",
]

# Where each name is; errors hold the others. No module of this folder has the name of a function:
# importing it would put the module in the function's place.
_ELSEWHERE = {
    "ConversionSpec": "spec.conversion_spec",
    "ShapeRange": "util.shapes",
    "benchmark": "measure.benchmark",
    "calibrate": "convert_model",
    "convert": "convert_model",
    "doctor": "environment.doctor",
    "extract_plans": "plans.extract_plan",
    "inspect_model": "report.inspect_model",
    "profile": "measure.profile",
    "verify": "checks.verify",
    "verify_labels": "checks.labels",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_ELSEWHERE.get(name, 'util.errors')}")
    found = getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
