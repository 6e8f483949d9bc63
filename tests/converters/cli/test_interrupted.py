"""Ctrl-C in the middle of a command's child job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from copied_models import save
from processes import is_running, wait_for

pytestmark = pytest.mark.timeout(900)
SUPPORT = Path(__file__).resolve().parents[1] / "support"
WHOLE = SUPPORT.parents[1] / "golden" / "converted" / "fp16_explicit"


@pytest.mark.parametrize(
    "command",
    [
        "convert MODEL OUT --shape x:4x3 --overwrite",
        f"extract-plan {WHOLE} OUT --compare",
    ],
    ids=["convert over an older result", "extract-plan"],
)
def test_ctrl_c(tmp_path: Path, command: str) -> None:
    places = {name: tmp_path / name for name in ("model", "tmp", "there", "started")}
    for name in ("tmp", "there"):
        places[name].mkdir()
    save(places["model"])
    out = places["there"] / "out"
    if "--overwrite" in command:
        out.mkdir()
        (out / "older").touch()
    words = {"MODEL": places["model"], "OUT": out}
    argv = [str(words.get(word, word)) for word in command.split()]
    code = f"import sys, interrupted_cli as c; sys.exit(c.run({str(places['started'])!r}, {argv}))"
    paths = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths, "TMPDIR": str(places["tmp"])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert wait_for(places["started"].exists, 500), process.communicate(timeout=1)
        child, helper = map(int, places["started"].read_text().split())
        assert list(tmp_path.rglob("half"))
        process.send_signal(signal.SIGINT)
        said, complained = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and said == ""
    assert complained.splitlines()[-1] == "trt-convert: interrupted"
    assert "Traceback" not in complained
    assert wait_for(lambda: not is_running(child) and not is_running(helper), 30)
    assert os.listdir(places["tmp"]) == []
    assert [path.name for path in places["there"].rglob("*")] == (
        ["out", "older"] if "--overwrite" in command else []
    )
