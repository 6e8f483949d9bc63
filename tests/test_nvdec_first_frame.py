"""benchmarks/nvdec_first_frame.py: its clips, and all of it on the CPU's decoder."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from golden_clips import Clips

# Last: the packages under test are the installed ones.
sys.path.append(str(Path(__file__).resolve().parents[1]))

from benchmarks import clips as recipes
from benchmarks import nvdec_first_frame as benchmark


def test_its_clips_differ_in_the_quality_alone() -> None:
    for codec, rates in recipes.FIRST_FRAME_RATES.items():
        _, _, of_full_clip = recipes.RECIPES[f"{codec}_1080p"]
        for rate in rates:
            _, frames, arguments = recipes.RECIPES[f"{codec}_1080p_crf{rate}"]
            changed = [i for i, part in enumerate(arguments) if part != of_full_clip[i]]
            assert all(arguments[i - 1] == "-crf" for i in changed)
            assert arguments[arguments.index("-crf") + 1] == str(rate)
            assert frames % recipes.GOP == 0


def folder_of_clips(clips: Clips, folder: Path) -> Path:
    for name in benchmark.names():
        shutil.copy(clips.path(f"{name.partition('_')[0]}.mp4"), folder / f"{name}.mp4")
    return folder


def test_a_row_for_each_clip(
    clips: Clips, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of_clips(clips, tmp_path)
    arguments = ["--clips", str(folder), "--rounds", "3", "--backend", "cpu"]
    benchmark.main([*arguments, "--results", str(tmp_path)])
    printed = capsys.readouterr().out.splitlines()
    document = json.loads((tmp_path / "nvdec_first_frame.json").read_text())
    rows = {each["clip"]: each for each in document["rows"]}
    assert list(rows) == benchmark.names()
    assert document["note"] == "One run; medians of 3."
    assert {"cores", "gpu"} <= set(document["machine"])
    for name, row in rows.items():
        assert row["engine_ms"] > 0 < row["call_ms"]
        assert row["rest_ms"] == pytest.approx(row["call_ms"] - row["engine_ms"])
        [line] = [line for line in printed if line.startswith(f"| {name} |")]
        assert f"| {row['key_bytes']:,} |" in line


def test_key_bytes_are_those_of_the_first_packet(clips: Clips) -> None:
    from clip_surgery import packets

    path = clips.path("h264.mp4")
    key = benchmark.KeyFrame(path, "cpu")
    assert key.packet.bsl >= int(packets(path)[0]["size"])  # with start codes and headers
    assert key.packet.bsl < int(packets(path)[0]["size"]) + 1000
    key.decode()
    key.decode()


def test_a_clip_that_begins_elsewhere_is_refused(clips: Clips) -> None:
    with pytest.raises(ValueError, match=r"mpeg2_cut_start\.ts does not begin with a key frame"):
        benchmark.KeyFrame(clips.path("mpeg2_cut_start.ts"), "cpu")
