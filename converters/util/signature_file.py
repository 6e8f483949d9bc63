"""A signature's name as one component of a path, and back.

Names are any text: "a/b" and "../x" must not lead into other folders, nor two names to one file.
"""

from __future__ import annotations

import hashlib
from urllib.parse import quote, unquote

# A component has 255 bytes at most, and something stands before and after the name.
_MOST_BYTES = 200
_HASH_DIGITS = 16


def as_file_name(signature: str) -> str:
    """The name, with "%2F" and the like for what no file's name can hold. The end of a very long
    one is a hash."""
    name = quote(signature, safe=" ")
    if name in (".", ".."):
        name = name.replace(".", "%2E")
    if len(name) <= _MOST_BYTES:
        return name
    digest = hashlib.sha256(signature.encode()).hexdigest()[:_HASH_DIGITS]
    return f"{name[:_MOST_BYTES]}%~{digest}"  # no other name has "%~"


def signature_of(file_name: str) -> str:
    """The name that as_file_name wrote, but for very long ones."""
    return unquote(file_name)
