"""Lists for messages."""

from __future__ import annotations

from collections.abc import Sequence


def first_of(texts: Sequence[str], most: int = 5) -> str:
    """ "a, b and 3 more"; all of them where they are no more than `most`."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")
