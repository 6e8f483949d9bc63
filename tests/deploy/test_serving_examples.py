"""The examples that label folders, on a server and without one."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import child_script
import pytest
import served_models
import triton_server
from golden_clips import Clips

from tf_nvcodec.deploy.triton_repository import write_repository

pq = pytest.importorskip("pyarrow.parquet")
ROOT = Path(__file__).resolve().parents[2]
NAMES = ["h264.mp4", "av1.mp4", "vp9.webm"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return served_models.export(tmp_path_factory.mktemp("exported") / "model")


@pytest.fixture
def folder(tmp_path: Path, clips: Clips) -> Path:
    made = tmp_path / "videos"
    made.mkdir()
    for name in NAMES:
        (made / name).write_bytes(clips.data(name))
    (made / "bad.mp4").write_bytes(b"this is no video")
    (made / "notes.txt").write_text("not asked for")
    return made


def run_client(folder: Path, *options: object) -> tuple[int, dict[str, str]]:
    """Returns the exit code and what the table says of each video."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "client.py"), str(folder), *map(str, options)],
        env=child_script.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    rows = [line.split(None, 1) for line in done.stdout.splitlines()]
    assert rows, done.stderr
    return done.returncode, {name: said for name, said in rows}


@pytest.mark.slow
def test_two_servers_and_one_is_killed(model: Path, tmp_path: Path, folder: Path) -> None:
    """The client loses no video, and names what is broken."""
    write_repository(model, tmp_path / "models", "colors")
    contents = {
        path.name: path.read_bytes() for path in folder.glob("*.*") if path.suffix != ".txt"
    }
    want = served_models.answers(model, list(contents.values()))
    for copy in range(60):
        (folder / f"more_{copy}.mp4").write_bytes(contents["h264.mp4"])
    with (
        triton_server.Server(tmp_path / "models", tmp_path / "a") as first,
        triton_server.Server(tmp_path / "models", tmp_path / "b") as second,
    ):
        urls = [f"--url=127.0.0.1:{server.grpc}" for server in (first, second)]

        def kill_when_busy() -> None:
            success = 'nv_inference_request_success{model="colors",version="1"} '
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline:
                told = first.get("/metrics", first.metrics)
                if success in told and f"{success}0" not in told:
                    break
                time.sleep(0.01)
            first.kill()

        killer = threading.Thread(target=kill_when_busy)
        killer.start()
        code, said = run_client(folder, "--model=colors", "--concurrency=4", *urls)
        killer.join()
    assert first.process.poll() is not None
    assert code == 1
    assert len(said) == len(contents) + 60
    for row, name in enumerate(contents):
        if name == "bad.mp4":
            assert said[name].startswith("FAILED contents (16 bytes) is not a video container")
            continue
        named = [
            f"{label.decode()} {score:.3f}"
            for label, score in zip(want["labels"][row], want["scores"][row])
        ]
        assert said[name] == ", ".join(named)
    assert len({said[f"more_{copy}.mp4"] for copy in range(60)}) == 1
    assert said["more_0.mp4"] == said["h264.mp4"]


def label(model: Path, folder: Path, out: Path, *options: str) -> str:
    script = ROOT / "examples" / "label_folder.py"
    return child_script.printed_by(script, model, folder / "**", out, *options)


@pytest.mark.slow
def test_a_folder_by_beam(model: Path, tmp_path: Path, folder: Path) -> None:
    out = tmp_path / "labelled"
    (folder / "notes.txt").unlink()
    late = folder / "vp9.webm"
    content = late.read_bytes()
    late.unlink()
    assert "0 videos before, 3 now" in label(model, folder, out, "--rows=1")
    before = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    assert len(before) == 3
    late.write_bytes(content)
    assert "3 videos before, 4 now" in label(model, folder, out)
    assert before.items() <= {path: path.stat().st_mtime_ns for path in out.iterdir()}.items()
    rows = {Path(row["path"]).name: row for row in pq.read_table(out).to_pylist()}
    assert set(rows) == {*NAMES, "bad.mp4"}
    assert rows["bad.mp4"]["labels"] == []
    assert "is not a video container" in rows["bad.mp4"]["status"]
    for name in NAMES:
        want = served_models.answers(model, [(folder / name).read_bytes()])
        assert rows[name]["labels"] == [label.decode() for label in want["labels"][0]]
        assert rows[name]["scores"] == pytest.approx(want["scores"][0].tolist())
        assert rows[name]["status"] == ""
