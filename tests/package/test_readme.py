"""What README.md and docs/ say is there and runs."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from benchmarks import claims_table, nvdec_table
from benchmarks.readme import insert
from tf_nvcodec import dispatcher, worker
from tf_nvcodec.cli import main
from tf_nvcodec.cli.app import build_parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CLIP = ROOT / "tests" / "golden" / "media" / "bigbuckbunny_720p.mp4"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def shell_lines(page: Path) -> list[str]:
    lines = "".join(blocks(page, "sh")).splitlines()
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    shutil.copy(CLIP, tmp_path / "clip.mp4")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_pages_are_found():
    assert {page.name for page in PAGES} >= {
        "README.md",
        "dataset.md",
        "decode.md",
        "encode.md",
        "cli.md",
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_named_in_the_text_exist(page):
    for name in re.findall(r"`((?:tf_nvcodec|tests|docs|examples)/[\w./*]+)`", page.read_text()):
        assert list(ROOT.glob(name.rstrip("/"))), name


def test_commands_of_the_service_parse():
    lines = [shlex.split(line) for line in shell_lines(ROOT / "docs" / "dataset.md")]
    programs = {"tf_nvcodec.dispatcher": dispatcher, "tf_nvcodec.worker": worker}
    assert [line[:2] for line in lines] == [["python", "-m"]] * 2
    for line in lines:
        programs[line[2]].build_parser().parse_args(line[3:])


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "docs" / "cli.md"], ids=lambda page: page.name
)
def test_commands_run(page, folder, capsys):
    commands = [line for line in shell_lines(page) if line.startswith("tf-nvcodec ")]
    assert len(commands) >= 5
    for command in commands:
        if command == "tf-nvcodec doctor":  # test_cli.py runs it; its answer depends on the machine
            build_parser().parse_args(["doctor"])
            continue
        assert main(shlex.split(command)[1:]) == 0, (command, capsys.readouterr().err)


def test_speed_table_shows_the_results():
    table = claims_table.render(claims_table.load(claims_table.RESULTS))
    readme = (ROOT / "README.md").read_text()
    assert insert(readme, table, claims_table.BEGIN, claims_table.END) == readme, (
        "README.md is behind its results: python -m benchmarks.claims_table"
    )


def test_gpu_table_shows_the_results():
    table = nvdec_table.render(json.loads(nvdec_table.RESULTS.read_text()))
    readme = (ROOT / "README.md").read_text()
    shown = insert(readme, table, nvdec_table.BEGIN, nvdec_table.END)
    assert shown == readme, "README.md is behind its results: python -m benchmarks.nvdec_table"


def test_gpu_table_of_made_up_results():
    figures = {"rounds": 2, "whole_1_fps": 500.0, "whole_14_fps": 950.0, "first_warm_ms": 10.0}
    document = {
        "note": "One run.",
        "machine": {"gpu": "G", "cores": 32, "date": "2030-01-02"},
        "peers": {
            "tf_nvcodec": {"version": "0.1", "h264": figures, "rounds": 2},
            "tf_nvcodec native": {"version": "0.1", "h264": {"whole_14_fps": 990.0}, "rounds": 3},
            "PyNvVideoCodec NV12": {"version": "2", "h264": {"whole_14_fps": 1000.0}, "rounds": 3},
            "PyNvVideoCodec": {
                "version": "2",
                "h264": {"whole_1_fps": 250.0, "errors": {"random_ms": "ValueError: no"}},
                "hevc": {"error": "cut after 60 s: what it said"},
                "rounds": 3,
            },
            "PyNvVideoCodec reused": {"version": "2", "h264": {"whole_1_fps": 400.0}, "rounds": 3},
            "tf_nvcodec cpu": {"version": "0.1", "cores": 16, "h264": {}, "rounds": 1},
            "DALI": {"absent": "not installed"},
        },
    }
    table = nvdec_table.render(document)
    peers = "tf_nvcodec | PyNvVideoCodec | PyNvVideoCodec reused | tf_nvcodec cpu"
    assert f"| 1080p | unit | {peers} |" in table
    figures_of_all = "**500** | 250 (2.00x) | 400 (1.25x) | - |"
    assert f"| H.264, 1 stream to RGB | frames/s | {figures_of_all}" in table
    assert "PyNvVideoCodec reused gives those it has the next file." in table
    assert table.endswith("tf_nvcodec 0.1, PyNvVideoCodec 2.")
    assert "Medians of 1 to 3 on G, 32 cores" in table
    assert "tf_nvcodec cpu has 16 of the cores." in table
    reached = "H.264 1000 frames/s (PyNvVideoCodec NV12; tf_nvcodec to RGB 0.95 of that)."
    assert reached in table
    assert "native" not in table
    assert "first frame, bytes" not in table  # nobody's
    failed = "PyNvVideoCodec with H.264 (random_ms); PyNvVideoCodec with HEVC (cut after 60 s)."
    assert f"Failed: {failed}" in table
    document["peers"]["PyNvVideoCodec"]["h264"]["whole_14_fps"] = 1900.0  # converted, and more
    reached = "H.264 1900 frames/s (PyNvVideoCodec; tf_nvcodec to RGB 0.50 of that)."
    assert reached in nvdec_table.render(document)
    del document["peers"]["tf_nvcodec"]
    without_ours = nvdec_table.render(document)
    assert "| H.264, 1 stream to RGB | frames/s | - | 250 | 400 | - |" in without_ours


def test_speed_table_of_made_up_results():
    rows = [
        {"peer": "tf_nvcodec", "value": 210.4, "note": ""},
        {"peer": "other", "value": 105.2, "note": "", "ours_is_times_as_fast": 2.0},
        {"peer": "absent", "value": None, "note": "not offered"},
        {"peer": "wrong", "value": 400, "note": "WRONG FRAMES (x)", "ours_is_times_as_fast": 0.526},
    ]
    document = {
        "name": "decode_full",
        "title": "Full decode",
        "rounds": 5,
        "machine": {"cpu": "C", "cores": 2, "system": "S", "ffmpeg": "5.1", "date": "2030-01-02"},
        "peers": {"other": "1.0"},
        "cases": [{"case": "h264", "unit": "frames/s", "rows": rows}],
    }
    table = claims_table.render([document])
    assert "| case | unit | tf_nvcodec | other | wrong |" in table
    assert "| h264 | frames/s | **210** | 105 (2.00x) | 400 wrong frames (0.53x) |" in table
    with pytest.raises(ValueError, match="markers"):
        insert("no markers", table, claims_table.BEGIN, claims_table.END)


def test_speed_table_of_made_up_memory():
    machine = {"cpu": "C", "cores": 2, "system": "S", "ffmpeg": "5.1", "date": "2030-01-02"}
    rows = [
        {"peer": "tf_nvcodec", "value": 50.0, "note": "", "loaded_mb": 480.4, "seconds": [1.5]},
        {"peer": "other", "value": 40.0, "note": "", "ours_is_times_as_fast": 2.0},
    ]
    memory = {
        "name": "decode_memory",
        "title": "Peak memory",
        "rounds": 3,
        "machine": machine,
        "peers": {},
        "cases": [{"case": "whole", "unit": "MB", "rows": rows}],
    }
    speed = {
        **memory,
        "name": "decode_full",
        "rounds": 5,
        "machine": {**machine, "date": "2030-01-03"},
        "cases": [],
    }
    table = claims_table.render([speed, memory])
    # Twice as fast is no figure of memory.
    assert "| whole | MB | **50** | 40 |" in table
    assert "Medians of 3 to 5 (memory, and peers 8 times slower than another, once) on C" in table
    assert "2030-01-02 to 2030-01-03." in table
    assert "mostly TensorFlow, take 480 MB." in table
