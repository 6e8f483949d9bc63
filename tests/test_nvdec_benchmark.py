"""benchmarks/nvdec_decode.py: what it makes of peers that fail, and of results that are there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

# Last: the packages under test are the installed ones.
sys.path.append(str(Path(__file__).resolve().parents[1]))

from benchmarks import nvdec_decode
from benchmarks.nvdec_peers import Peer


class Fake(Peer):
    stream_counts = (1, 7)

    def whole(self, path: str) -> int:
        return nvdec_decode.FRAMES

    def streams(self, path: str, count: int) -> int:
        return self.whole(path) * count - (100 if count == 7 else 10)

    def frames_at(self, path: str, indices: list[int]) -> int:
        if len(indices) > 1:
            raise ValueError("no random access")
        return len(indices)

    def in_memory(self, path: str) -> Any:
        raise OSError("no such file")

    def clips(self, path: str, starts: list[int]) -> int:
        return len(starts)


def measured(peer: Peer) -> dict[str, Any]:
    row: dict[str, Any] = {}

    def emit(*keys_and_value: Any) -> None:
        *keys, last, value = keys_and_value
        place = row
        for key in keys:
            place = place.setdefault(key, {})
        place[last] = value

    nvdec_decode.measure(peer, "clip", 2, emit)
    return row


def test_one_failure_leaves_the_other_figures() -> None:
    row = measured(Fake())
    assert row.pop("errors") == {
        "first_memory_ms": "OSError: no such file",
        "random_ms": "ValueError: no random access",
        "whole_7_fps": "ValueError: gave 4541 of 4641",
    }
    figures = {"first_cold_ms", "first_warm_ms", "whole_1_fps", "clips_per_s"}  # none by name
    assert set(row) == {"rounds", *figures}
    assert row["rounds"] == 2


def test_results_of_others_are_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "nvdec_decode.json"
    lost = nvdec_decode.would_be_lost
    assert lost(path, ["a"], "NVIDIA H200, 580") is None
    path.write_text(
        json.dumps({"machine": {"gpu": "NVIDIA H200, 580"}, "peers": {"a": {}, "b": {}}})
    )
    assert lost(path, ["a", "b"], "NVIDIA H200, 590") is None
    assert lost(path, ["a"], "NVIDIA H200, 580") == "figures of b"
    assert lost(path, ["a", "b"], "NVIDIA L4, 580") == "figures of NVIDIA H200, 580"


CHILD = """
import json, os, sys, time
given = dict(zip(sys.argv[3::2], sys.argv[4::2]))
sys.stdout.buffer.write(b"\\xff no figure")
say = lambda *what: os.write(int(given["--figures"]), json.dumps(what).encode() + b"\\n")
say("version", "1")
if given["--job"] == "absent":
    say("absent", "not installed")
    sys.exit()
say(given["--codec"], "whole_1_fps", 5.0)
say(given["--codec"], "rounds", 2)
if given["--job"] == "hangs":
    time.sleep(600)
sys.exit("it broke" if given["--codec"] == "h264" else 0)
"""


def test_each_peer_has_a_share_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a Python in the place of the jobs' own."""
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/bash\nexec {sys.executable} {script} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(nvdec_decode.sys, "executable", str(python))
    path = tmp_path / "results.json"
    nvdec_decode.run(["hangs", "absent", "good"], "clips", path, 3, limit_s=12)
    rows = json.loads(path.read_text())["peers"]
    assert rows["absent"] == {"version": "1", "absent": "not installed"}
    for codec in ("h264", "hevc"):
        assert rows["hangs"][codec].pop("error").startswith("cut after ")
    assert rows["good"]["h264"].pop("error").startswith("exit status 1: ")
    for name in ("hangs", "good"):
        figures = {"whole_1_fps": 5.0, "rounds": 2}
        assert rows[name] == {"version": "1", "h264": figures, "hevc": figures, "rounds": 2}
