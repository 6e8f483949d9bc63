"""The exceptions of this package: PyNvVideoCodec's, and those that Python users expect."""

from __future__ import annotations


class PyNvVCException(RuntimeError):
    """Decoding, encoding, reading or writing failed; the message names the input and the cause."""


class PyNvVCExceptionUnsupported(PyNvVCException):
    """This machine, this GPU or this build cannot do it."""


class PyNvVCExceptionDecode(PyNvVCException):
    """The video is damaged."""


class PyNvVCExceptionCuda(PyNvVCException):
    """A call of CUDA's driver failed; the message has its CUDA_ERROR_..."""


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
    15: PyNvVCExceptionDecode,  # DATA_LOSS
}


def of_status(code: int, message: str) -> PyNvVCException:
    """Returns the exception for absl's status `code`."""
    kind = _BY_CODE.get(code, PyNvVCException)
    if kind is PyNvVCException and "CUDA_ERROR_" in message:  # the driver's names of its errors
        kind = PyNvVCExceptionCuda
    return kind(message)
