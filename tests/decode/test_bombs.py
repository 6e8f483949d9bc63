"""Small files that ask for much end in little time and memory, with an error that names the limit.
They are read in a child process (sandbox.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import bombs
import pytest
from sandbox import Sandbox
from untrusted import CAUSES, MOST_SECONDS, complaints


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    child = Sandbox()
    child.run(bombs.mp4(2), [("decode", {})])  # what the first call needs is not the file's
    yield child
    child.close()


class Bomb(NamedTuple):
    make: Callable[[], bytes]
    error: str
    word: str  # of the message
    options: dict[str, Any] = {}  # noqa: RUF012 - it is not changed
    most_mb: float = 60


LARGE = 12000  # pixels, for each side of a picture
REFUSED = "ResourceExhaustedError"
LATE = "DeadlineExceededError"
BOMBS = {
    # FFmpeg itself takes none of 16k x 16k.
    "a JPEG that says 16k x 16k": Bomb(
        lambda: bombs.jpeg_of(16384), "DataLossError", "16384x16384 is invalid"
    ),
    "a header that says 16k x 16k": Bomb(lambda: bombs.mp4(2, edge=16384), REFUSED, "max_pixels"),
    "a picture of 12k x 12k": Bomb(lambda: bombs.still(LARGE), REFUSED, "max_pixels"),
    "80 million samples": Bomb(lambda: bombs.many_samples(80_000_000), REFUSED, "max_packets"),
    "tracks of 80 million samples": Bomb(
        lambda: bombs.many_samples(8_000_000, tracks=10), REFUSED, "max_packets"
    ),
    "a run of 80 million samples": Bomb(lambda: bombs.long_run(80_000_000), REFUSED, "max_packets"),
    "an edit list of 100 million frames": Bomb(
        lambda: bombs.edit_list(10_000, 10_000), REFUSED, "max_packets"
    ),
    "an edit list below the limit of the header": Bomb(
        lambda: bombs.edit_list(100, 3000), REFUSED, "max_packets", {"max_packets": 100_000}
    ),
    "a million samples": Bomb(
        lambda: bombs.many_samples(1 << 20), LATE, "timeout", {"timeout": 0.1}, 200
    ),
    "boxes in boxes": Bomb(
        lambda: bombs.nested_boxes(100_000), "InvalidArgumentError", "too deeply nested"
    ),
    "elements in elements": Bomb(
        lambda: bombs.nested_elements(100_000), "InvalidArgumentError", "depth"
    ),
    "empty packets": Bomb(lambda: bombs.clusters(500_000, b""), "DataLossError", "no video packet"),
    "empty packets and a timeout": Bomb(
        lambda: bombs.clusters(500_000, b""), LATE, "timeout", {"timeout": 0.02}
    ),
    "clusters of a byte": Bomb(
        lambda: bombs.clusters(200_000, b"x"), REFUSED, "max_packets", {"max_packets": 50_000}
    ),
    "clusters of a byte and a timeout": Bomb(
        lambda: bombs.clusters(200_000, b"x"), LATE, "timeout", {"timeout": 0.02}
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_costs_little(sandbox: Sandbox, name: str) -> None:
    bomb = BOMBS[name]
    data = bomb.make()
    calls = [("probe", bomb.options), ("decode", {"size": (8, 8), **bomb.options})]
    answer = sandbox.run(data, calls)
    assert not complaints(name, answer, causes={*CAUSES, LATE})
    assert answer.grown_mb < bomb.most_mb
    for outcome in answer.outcomes:
        assert outcome["error"] == bomb.error, outcome
        assert bomb.word in outcome["message"], outcome
        assert outcome["seconds"] < bomb.options.get("timeout", 0) + MOST_SECONDS


def test_what_is_below_the_limits_is_decoded(sandbox: Sandbox) -> None:
    """The same kinds of files, as large as a good one may be."""
    size = {"size": (8, 8)}
    for data, frames, options in (
        (bombs.mp4(500), 500, {"max_packets": 500}),
        (bombs.edit_list(10, 30), 300, {"max_packets": 300}),
        (bombs.still(1024), 1, {"max_pixels": 1024 * 1024}),
    ):
        outcome = sandbox.run(data, [("decode", {**size, **options})]).outcomes[0]
        assert outcome["error"] is None, outcome
        assert outcome["frames"] == frames
        assert len(set(outcome["md5"])) == 1


def test_an_order_that_no_encoder_makes(sandbox: Sandbox) -> None:
    """Each frame could begin at any of the key frames before it. Looking at
    all of them takes seconds, and minutes for a million."""
    count = 100_000
    (outcome,) = sandbox.run(bombs.late_key_frames(count), [("probe", {})]).outcomes
    assert outcome["error"] == "DataLossError", outcome
    assert outcome["seconds"] < MOST_SECONDS


def test_the_limits_alone_end_them(sandbox: Sandbox) -> None:
    """Without limits, such files are read to their end."""
    unlimited = {"max_packets": 0, "max_pixels": 0}
    for data in (bombs.many_samples(200_000), bombs.long_run(200_000), bombs.edit_list(20, 10_000)):
        for options in ({"max_packets": 40_000}, {"max_packets": 200_000}, unlimited):
            (outcome,) = sandbox.run(data, [("probe", options)]).outcomes
            refused = outcome["error"] == REFUSED
            assert refused == (options["max_packets"] == 40_000), outcome
            assert outcome.get("frames", 200_000) == 200_000
    answer = sandbox.run(bombs.still(LARGE), [("decode", {**unlimited, "size": (8, 8)})])
    assert answer.outcomes[0]["frames"] == 1, answer
