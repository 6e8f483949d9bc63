"""The exceptions of this package: PyNvVideoCodec's two, and those that Python users expect."""

from __future__ import annotations


class PyNvVCException(RuntimeError):
    """Decoding, encoding, reading or writing failed; the message names the input and the cause."""


class PyNvVCExceptionUnsupported(PyNvVCException):
    """This machine, this GPU or this build cannot do it."""


class InvalidValueError(PyNvVCException, ValueError):
    """An argument, or the bytes that it names, cannot be used."""


class IndexRangeError(PyNvVCException, IndexError):
    """There is no frame with this index."""


class MissingFileError(PyNvVCException, FileNotFoundError):
    """There is no such file."""


_BY_CODE = {
    3: InvalidValueError,  # INVALID_ARGUMENT
    5: MissingFileError,  # NOT_FOUND
    9: PyNvVCExceptionUnsupported,  # FAILED_PRECONDITION
    11: IndexRangeError,  # OUT_OF_RANGE
    12: PyNvVCExceptionUnsupported,  # UNIMPLEMENTED
}


def of_status(code: int, message: str) -> PyNvVCException:
    """Returns the exception for absl's status `code`."""
    return _BY_CODE.get(code, PyNvVCException)(message)
