"""How the command line fails: exit codes, and TensorFlow's errors in one readable line."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator

OK = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130
TERMINATED = 143

# TensorFlow puts "{{function_node __wrapped__VideoDecode_device_/job:...}} " before a message and
# " [Op:VideoDecode] name: " after it. Both say nothing about the file.
_NODE = re.compile(r"\{\{[^}]*\}\}\s*")
_OP = re.compile(r"\s*\[Op:[^\]]*\](?:\s+name:.*)?\s*$", re.DOTALL)
_COLLECTIVE = re.compile(r"\s*\[\[\{\{node [^\]]*\]\]\s*$")


class CliError(Exception):
    """A failure to show in one line as `tf-nvcodec: SUBJECT: cause (cure)`."""

    exit_code = FAILED

    def __init__(self, subject: str, cause: str, cure: str = "") -> None:
        super().__init__(cause)
        self.subject = subject
        self.cause = cause
        self.cure = cure

    def line(self) -> str:
        return _line(self.subject, self.cause, self.cure)


def _line(subject: str, cause: str, cure: str) -> str:
    named = f"{subject}: " if subject else ""
    return f"tf-nvcodec: {named}{cause}" + (f" ({cure})" if cure else "")


def warn(subject: str, cause: str, cure: str = "") -> None:
    """Prints a line on stderr about an output that is worse than its input."""
    print(_line(subject, f"warning: {cause}", cure), file=sys.stderr)


class UsageError(CliError):
    """Options that contradict one another or that no file could satisfy."""

    exit_code = USAGE


class Terminated(BaseException):
    """SIGTERM, raised so that temporary files are removed on the way out."""


def clean_message(message: str) -> str:
    """Returns the `message` of a TensorFlow error on one line, without what the runtime adds."""
    message = _NODE.sub("", _COLLECTIVE.sub("", message))
    message = _OP.sub("", message)
    return " ".join(message.split())


@contextlib.contextmanager
def about(subject: str) -> Iterator[None]:
    """Turns the errors that a bad `subject` causes into CliError; bugs pass through."""
    try:
        yield
    except CliError:
        raise
    except BrokenPipeError:
        raise
    except FileNotFoundError as error:
        raise CliError(subject, "no such file", "check the path") from error
    except MemoryError as error:
        raise CliError(subject, "out of memory", "ask for fewer or smaller frames") from error
    except OSError as error:
        raise CliError(subject, error.strerror or str(error)) from error
    except ValueError as error:
        raise CliError(subject, _cause(subject, str(error))) from error
    except Exception as error:
        # These attributes are those of tf.errors.OpError; TensorFlow may not be imported here.
        if not hasattr(error, "error_code") or not hasattr(error, "message"):
            raise
        raise CliError(subject, _cause(subject, str(error.message))) from error


def _cause(subject: str, message: str) -> str:
    """Returns `message` without the subject, which calls that read a file themselves put first."""
    return clean_message(message).removeprefix(f"{subject}: ")
