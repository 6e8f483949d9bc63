"""The errors that a user of converters can cause or meet. Any other exception is a bug.

Each message names the input, the cause and the cure. The command line prints it without a
traceback and exits with 1.
"""

from __future__ import annotations

from collections.abc import Sequence


class ConverterError(Exception):
    """Base of all of them: catch this one to catch them all."""


class SpecError(ConverterError):
    """The ConversionSpec contradicts itself, or TF-TRT would silently change what it says."""


class ModelError(ConverterError):
    """The model is missing or damaged, or has no such signature, tag or tensor."""


class UnavailableError(ConverterError):
    """This step needs a TensorFlow, TF-TRT, TensorRT or GPU that is not here."""


class CalibrationError(ConverterError):
    """The calibration data or table is bad, or calibrating gave no ranges."""


class NotInt8Error(CalibrationError):
    """INT8 was asked for, and an engine has no ranges or TensorRT took no INT8 kernel."""


class EngineError(ConverterError):
    """An engine was not built, was built again at load, was evicted, or native code ran instead."""


class VerificationError(ConverterError):
    """The converted model's outputs differ from the native model's by more than allowed."""


class VerificationDataError(VerificationError):
    """The data to compare on is bad, which says nothing about the models."""


class MeasureError(ConverterError):
    """What is to be measured does not fit the model: a shape, the data, or a count."""


class PlanError(ConverterError):
    """A file of engines or a plan is damaged, is for another GPU, or is not the whole model."""


class PlanVersionError(PlanError):
    """A plan is by another TensorRT than the one here."""


class PlanShapeError(PlanError):
    """A plan does not take inputs of these shapes."""


class OutputError(ConverterError):
    """The output cannot be written: it exists, the disk is full, or access is denied."""


class CrashError(ConverterError):
    """A child process crashed and left no result; TensorRT can cause that."""


def listed(texts: Sequence[str], most: int = 5) -> str:
    """The texts for a message: "a, b and 3 more", or all of them if there are at most `most`."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")
