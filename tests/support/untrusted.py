"""Decodes untrusted bytes, and says what is wrong with the result."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from sandbox import Answer, Sandbox

CAUSES = {"InvalidArgumentError", "DataLossError", "ResourceExhaustedError", "OutOfRangeError"}
WORDS = ("contents", "decoder", "frame", "packet", "max_")
MOST_SECONDS = 2.0
MOST_MB = 1000.0
Call = tuple[str, dict[str, Any]]  # "decode" and options


def complaints(
    what: str,
    answer: Answer,
    causes: Collection[str] = CAUSES,
    most_seconds: float = MOST_SECONDS,
) -> list[str]:
    """Returns all that is wrong with the answer to a case."""
    if answer.crash:
        return [f"{what}: {answer.crash}"]
    found = []
    if answer.grown_mb > MOST_MB:
        found.append(f"{what}: grew by {answer.grown_mb:.0f} MB")
    for outcome in answer.outcomes:
        name, message = f"{what}, {outcome['call']}", outcome["message"]
        if outcome["seconds"] > most_seconds:
            found.append(f"{name}: took {outcome['seconds']:.1f} s ({message[:100]})")
        if outcome["error"] is None:
            if outcome["frames"] < 1:
                found.append(f"{name}: gave no frame and no error")
        elif outcome["error"] not in causes:
            found.append(f"{name}: {outcome['error']} {message[:300]}")
        elif not any(word in message for word in WORDS):
            found.append(f"{name}: does not say what is wrong: {message[:300]}")
    return found


def run_all(
    sandbox: Sandbox,
    cases: Iterable[tuple[str, bytes]],
    calls: list[Call],
    after: tuple[bytes, Call, list[str]],
    causes: Collection[str] = CAUSES,
    most_seconds: float = MOST_SECONDS,
) -> list[Answer]:
    """Makes the calls for each case and returns the answers. Fails if there are complaints about an
    answer. `after` has good bytes, a call for them, and the MD5 of each frame. It is decoded at the
    end, to show that the decoder still works."""
    answers, wrong = [], []
    for what, data in cases:
        answers.append(sandbox.run(data, calls))
        wrong += complaints(what, answers[-1], causes, most_seconds)
    sound, call, md5 = after
    last = sandbox.run(sound, [call])
    if last.crash or last.outcomes[0].get("md5") != md5:
        wrong.append("the next call does not work")
    assert not wrong, f"{len(wrong)} complaints:\n" + "\n".join(wrong[:30])
    return answers


def nothing_of_a_video() -> Iterator[tuple[str, bytes]]:
    numbers = random.Random(2)
    yield from (("nothing", b""), ("one byte", b"\0"), ("zeros", bytes(1 << 20)))
    for count in (1, 10, 188, 4096, 1 << 20):
        yield f"{count} random bytes", numbers.randbytes(count)
    for start in (
        b"\0\0\0\x18ftypmp42",
        b"\x1aE\xdf\xa3",
        b"RIFF\xff\xff\xff\xffAVI LIST",
        b"FLV\1",
    ):
        yield f"{start!r} and random bytes", start + numbers.randbytes(1 << 16)
    yield "the word of a PNG", b"\x89PNG\r\n\x1a\n" + bytes(100)
