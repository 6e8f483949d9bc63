"""The errors that a user of converters can cause or meet; everything else is a bug of its own.

Each message names the input, the cause and the cure. The command line prints it without a
traceback and exits with 1.
"""

from __future__ import annotations

from collections.abc import Sequence


class ConverterError(Exception):
    """Base of all of them: catch this one to catch them all."""


class SpecError(ConverterError):
    """The ConversionSpec contradicts itself, or asks for what TF-TRT would silently change."""


class ModelError(ConverterError):
    """The model to read is missing, damaged, or lacks the signature, tag or tensor asked for."""


class UnavailableError(ConverterError):
    """TensorFlow, TF-TRT, TensorRT or the GPU that this step needs is not here."""


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


class PlanError(ConverterError):
    """A file of engines or a plan is damaged, is for another GPU, or is not the whole model."""


class OutputError(ConverterError):
    """The output cannot be written: it exists, the disk is full, or access is denied."""


class CrashError(ConverterError):
    """A child process crashed, as TensorRT makes it, and left no result."""


def listed(texts: Sequence[str], most: int = 5) -> str:
    """ "a, b and 3 more"; all of them where they are no more than `most`."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")
