"""benchmarks/tftrt_convert.py: its file of results, its order of work, how it times requests."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

# Last: the packages under test are the installed ones.
sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks import tftrt_convert, tftrt_jobs
from benchmarks.tftrt_convert import Case, JobError, Measurement, OutOfTimeError, Runner
from benchmarks.tftrt_results import FILE, Results, complete, merge
from benchmarks.tftrt_table import tables


def row(model: str, seconds: float, precision: str = "FP16", peer: str = "native") -> dict:
    return {"model": model, "precision": precision, "peer": peer, "convert_s": seconds}


def described(date: str, cores: int = 16) -> dict[str, Any]:
    return {
        "machine": {"cores": cores, "date": date, "load_before": len(date)},
        "tensorrt": {"tensorrt_loaded": "8.6.0"},
    }


def rows_of(path: Path) -> list[tuple[str, float]]:
    return [(found["model"], found["convert_s"]) for found in json.loads(path.read_text())["rows"]]


def test_rows_are_written_at_once_and_merged(tmp_path: Path) -> None:
    path = tmp_path / "tftrt_convert.json"
    first = Results(path, described("2026-01-01"))
    first.add([row("A", 1), row("A", 2, peer="converters")])
    assert rows_of(path) == [("A", 1), ("A", 2)]
    first.add([row("B", 3)])
    later = Results(path, described("2026-01-02"))
    assert rows_of(path) == [("A", 1), ("A", 2), ("B", 3)]
    later.add([row("A", 4), row("C", 5)])
    assert rows_of(path) == [("A", 4), ("A", 2), ("B", 3), ("C", 5)]
    document = json.loads(path.read_text())
    assert document["machine"]["date"] == "2026-01-02"
    dates = [found["run"]["date"] for found in document["rows"]]
    assert dates == ["2026-01-02", "2026-01-01", "2026-01-01", "2026-01-02"]


def test_an_update_of_the_kernel_and_other_folders_make_no_other_machine(tmp_path: Path) -> None:
    path = tmp_path / "tftrt_convert.json"
    older, newer = described("2026-01-01"), described("2026-01-02")
    older["machine"]["kernel"], newer["machine"]["kernel"] = "6.1", "6.2"
    older["tensorrt"]["library_path"] = "lib/libnvinfer.so.8"
    Results(path, older).add([row("A", 1)])
    Results(path, newer).add([row("B", 2)])
    assert rows_of(path) == [("A", 1), ("B", 2)]


def test_another_machine_s_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "tftrt_convert.json"
    for cores in (16, 8, 4):
        Results(path, described("2026-01-01", cores)).add([row("A", cores)])
    assert rows_of(path) == [("A", 4)]
    assert rows_of(tmp_path / "tftrt_convert.2026-01-01.json") == [("A", 16)]
    assert rows_of(tmp_path / "tftrt_convert.2026-01-01.2.json") == [("A", 8)]


def whole(model: str, seconds: float) -> dict:
    return {**row(model, seconds), "cold_start_s": 1.0, "latency_ms": {"8": 1.0}}


def test_what_is_incomplete_takes_no_complete_row_s_place(tmp_path: Path) -> None:
    path = tmp_path / "tftrt_convert.json"
    first = Results(path, described("2026-01-01"))
    first.add([whole("A", 1), row("B", 2)])
    later = Results(path, described("2026-01-02"))
    later.add([row("A", 3), row("B", 4)])
    assert rows_of(path) == [("A", 1), ("B", 4)]
    assert later.row("A", "FP16", "native")["convert_s"] == 3
    resumed = Results(path, described("2026-01-03"))
    assert resumed.row("A", "FP16", "native")["convert_s"] == 3
    resumed.add([whole("A", 3)])
    assert rows_of(path) == [("A", 3), ("B", 4)]
    assert "unfinished" not in json.loads(path.read_text())


def results(folder: Path, *rows: dict, cores: int = 16) -> Path:
    folder.mkdir()
    Results(folder / FILE, described("2026-01-01", cores)).add(list(rows))
    return folder / FILE


def test_runs_at_once_are_merged(tmp_path: Path) -> None:
    first = results(tmp_path / "a", row("A", 1))
    second = results(tmp_path / "b", row("B", 2), row("C", 3))
    older = results(tmp_path / "all", row("B", 9), row("D", 4))
    merge([first, second], older)
    assert rows_of(older) == [("B", 2), ("D", 4), ("A", 1), ("C", 3)]
    assert json.loads(older.read_text())["tensorrt"] == {"tensorrt_loaded": "8.6.0"}


def test_a_part_that_failed_does_not_hide_one_that_did_not(tmp_path: Path) -> None:
    first = results(tmp_path / "a", whole("A", 1))
    failed = {**row("A", 2), "error": "no"}
    second = results(tmp_path / "b", failed)
    for parts in ([first, second], [second, first]):
        merge(parts, tmp_path / FILE)
        assert rows_of(tmp_path / FILE) == [("A", 1)]


def test_parts_of_other_machines_and_lost_ones_are_not_merged(tmp_path: Path) -> None:
    first = results(tmp_path / "a", row("A", 1))
    other = results(tmp_path / "b", row("B", 2), cores=8)
    with pytest.raises(SystemExit, match="b/tftrt_convert.json is of another machine"):
        merge([first, other], tmp_path / FILE)
    with pytest.raises(SystemExit, match="no results to merge in .*c/tftrt_convert.json"):
        merge([first, tmp_path / "c" / FILE], tmp_path / FILE)
    assert not (tmp_path / FILE).exists()


class Fake:
    """Runs no job, but answers like one; `jobs` keeps what was asked: [job, model, ...]."""

    name = ""

    def __init__(self, fails: tuple[str, ...] = (), most: int = 1000) -> None:
        self.jobs: list[list[str]] = []
        self._fails = fails
        self._most = most

    def __call__(self, job: str, **given: Any) -> Any:
        if len(self.jobs) == self._most:
            raise OutOfTimeError
        source = Path(given["source"])
        self.jobs.append([job, source.name, given.get("peer", "")])
        if given.get("peer") in self._fails:
            raise JobError("Traceback:\n  x\nconverters.EngineError: no engine\nmore of it")
        if job == "export":
            source.mkdir()
            return None
        if job == "convert":
            if given["peer"] != "native":
                Path(given["out"]).mkdir()
            return {"convert_s": 2.0, "steps": {"build": 1.5}}
        if job == "cold":
            assert Path(given["path"]).is_dir()
            return {"cold_start_s": 3.0, "first_request_s": 1.0}
        times = {"native": 8.0, "converters": 2.0, "TF-TRT": 4.0}
        figures = {peer: {"latency_ms": {"8": times[peer]}} for peer in given["paths"]}
        return figures


PEERS = list(tftrt_jobs.USUAL)


def measure(
    tmp_path: Path,
    *runners: Fake,
    resume: bool = False,
    cases: tuple[Case, ...] = (Case("A", "FP16"),),
) -> Measurement:
    run = measurement(tmp_path, resume)
    run.run(cases, runners)
    return run


def measurement(tmp_path: Path, resume: bool = False) -> Measurement:
    (tmp_path / "work").mkdir(exist_ok=True)
    results = Results(tmp_path / FILE, described("2026-01-01"))
    return Measurement(results, tmp_path / "work", PEERS, 1, resume)


def by_peer(path: Path) -> dict[str, dict]:
    return {found["peer"]: found for found in json.loads(path.read_text())["rows"]}


def test_a_case_is_measured_step_by_step(tmp_path: Path) -> None:
    runner = Fake()
    run = measure(tmp_path, runner)
    assert not run.left and not run.failed
    converts = [["convert", "A", peer] for peer in PEERS]
    measures = [*[["cold", "A", ""]] * len(PEERS), ["latency", "A", ""]]
    assert runner.jobs == [["export", "A", ""], *converts, *measures]
    found = by_peer(tmp_path / FILE)
    assert list(found) == PEERS and all(complete(row) for row in found.values())
    assert found["converters"]["speed_up"] == {"8": 4.0}
    assert found["TF-TRT"]["steps"] == {"build": 1.5}
    # Models of hundreds of megabytes do not pile up.
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["A"]


def test_a_run_that_ends_in_between_is_resumed(tmp_path: Path) -> None:
    run = measure(tmp_path, Fake(most=3))  # export, native, our conversion
    assert run.left == [Case("A", "FP16")]
    assert list(by_peer(tmp_path / FILE)) == ["native", "converters"]
    runner = Fake(most=3)
    assert measure(tmp_path, runner, resume=True).left
    assert runner.jobs == [["convert", "A", "TF-TRT"], *[["cold", "A", ""]] * 2]
    found = by_peer(tmp_path / FILE)
    assert "cold_start_s" in found["converters"] and "cold_start_s" not in found["TF-TRT"]
    runner = Fake()
    assert not measure(tmp_path, runner, resume=True).left
    assert runner.jobs == [["cold", "A", ""], ["latency", "A", ""]]
    assert all(complete(row) for row in by_peer(tmp_path / FILE).values())
    again = Fake()
    measure(tmp_path, again, resume=True)
    assert not again.jobs
    measure(tmp_path, again)
    assert len(again.jobs) == 7  # all but the export


def test_what_fails_is_a_row_and_the_rest_goes_on(tmp_path: Path) -> None:
    run = measure(tmp_path, Fake(fails=("converters",)))
    assert run.failed == ["A FP16 converters"] and not run.left
    found = by_peer(tmp_path / FILE)
    assert found["converters"]["error"] == "converters.EngineError: no engine"
    assert found["TF-TRT"]["speed_up"] == {"8": 2.0}
    assert "| failed |" in tables(list(found.values()))
    assert not measure(tmp_path, Fake(), resume=True).failed
    found = by_peer(tmp_path / FILE)
    assert "error" not in found["converters"] and complete(found["converters"])


def test_what_fails_again_and_again_has_nobody_else_converted_again(tmp_path: Path) -> None:
    measure(tmp_path, Fake(fails=("converters",)))
    for _ in range(2):
        runner = Fake(fails=("converters",))
        measure(tmp_path, runner, resume=True)
        assert [job for job in runner.jobs if job[0] == "convert"] == [
            ["convert", "A", "converters"]
        ]


def test_figures_of_another_run_are_not_those_of_one_that_failed(tmp_path: Path) -> None:
    measure(tmp_path, Fake())
    assert measure(tmp_path, Fake(fails=("converters",))).failed == ["A FP16 converters"]
    document = json.loads((tmp_path / FILE).read_text())
    assert all(complete(found) for found in document["rows"])
    (failed,) = document["unfinished"]
    assert failed["peer"] == "converters" and failed["error"] and "latency_ms" not in failed


def test_a_conversion_goes_where_an_older_one_was_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def convert(source: Path, out: Path, precision: str) -> dict[str, float]:
        out.mkdir()
        (out / precision).touch()
        return {}

    monkeypatch.setitem(tftrt_jobs.PEERS, "TF-TRT", convert)
    for precision in ("FP32", "FP16"):
        tftrt_jobs.job_convert("TF-TRT", "source", str(tmp_path / "out"), precision)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["FP16"]


def test_native_is_the_exported_network_itself(tmp_path: Path) -> None:
    (tmp_path / "A").mkdir()
    source = str(tmp_path / "A")
    assert "convert_s" in tftrt_jobs.job_convert("native", source, source, "FP32")
    assert (tmp_path / "A").is_dir()


def test_gpus_share_the_cases_and_one_export(tmp_path: Path) -> None:
    all_begun = threading.Barrier(3, timeout=60)

    class Together(Fake):
        def __call__(self, job: str, **given: Any) -> Any:
            if job != "export" and all(job[0] == "export" for job in self.jobs):
                all_begun.wait()
            return super().__call__(job, **given)

    runners = [Together(), Together(), Together()]
    cases = tuple(
        Case(model, precision) for model in "AB" for precision in ("FP32", "FP16", "INT8")
    )
    run = measure(tmp_path, *runners, cases=cases)
    assert not run.left
    asked = [job for runner in runners for job in runner.jobs]
    assert sorted(job[1] for job in asked if job[0] == "export") == ["A", "B"]
    assert all(runner.jobs for runner in runners)
    assert all(complete(row) for row in json.loads((tmp_path / FILE).read_text())["rows"])
    assert len([job for job in asked if job[0] == "latency"]) == 6


@pytest.mark.parametrize("fails", [(), ("converters",)])
def test_cases_convert_at_once_and_are_measured_one_by_one(
    tmp_path: Path, fails: tuple[str, ...]
) -> None:
    all_begun = threading.Barrier(2, timeout=60)
    together: list[str] = []

    class Watched(Fake):
        def __call__(self, job: str, **given: Any) -> Any:
            if job == "convert" and given["peer"] == "native":
                all_begun.wait()
            if job in ("cold", "latency"):
                assert not together
            together.append(job)
            try:
                return super().__call__(job, **given)
            finally:
                together.remove(job)

    runner = Watched(fails=fails)
    run = measurement(tmp_path)
    run.run((Case("A", "FP16"), Case("B", "FP16")), (runner,), at_once=2)
    assert not run.left and len(run.failed) == 2 * len(fails)
    jobs = [job[0] for job in runner.jobs]
    assert jobs.count("convert") == 6 and jobs.count("latency") == 2
    assert "convert" not in jobs[jobs.index("cold") :]
    for found in json.loads((tmp_path / FILE).read_text())["rows"]:
        assert ("error" in found) == (found["peer"] in fails)
        assert "error" in found or (complete(found) and found["at_once"] == 2)


def test_conversions_may_be_measured_by_a_later_run(tmp_path: Path) -> None:
    first, second = Fake(), Fake()
    measurement(tmp_path).run((Case("A", "FP16"),), (first,), convert_only=True)
    assert [job[0] for job in first.jobs] == ["export", *["convert"] * 3]
    assert not any("at_once" in found for found in by_peer(tmp_path / FILE).values())
    measure(tmp_path, second, resume=True)
    assert [job[0] for job in second.jobs] == [*["cold"] * 3, "latency"]
    assert all(complete(found) for found in by_peer(tmp_path / FILE).values())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--convert-only"], "--convert-only needs --work"),
        (["--at-once", "0"], "at least one case"),
    ],
)
def test_options_that_do_not_go_together(
    options: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["tftrt_convert", *options])
    with pytest.raises(SystemExit) as ended:
        tftrt_convert.main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_bug_ends_the_run_and_begins_nothing_else(tmp_path: Path) -> None:
    class Broken(Fake):
        def __call__(self, job: str, **given: Any) -> Any:
            raise ZeroDivisionError

    class Waiting(Fake):
        def __call__(self, job: str, **given: Any) -> Any:
            super().__call__(job, **given)
            assert run._stopped.wait(60)
            raise JobError("KeyboardInterrupt")

    run, waiting = measurement(tmp_path), Waiting()
    with pytest.raises(ZeroDivisionError):
        run.run(tuple(Case(m, "FP16") for m in "ABCDE"), (waiting, Broken()))
    assert len(waiting.jobs) <= 1
    assert not (tmp_path / FILE).exists()  # what was ended is no failure


def test_what_takes_longest_begins_first() -> None:
    def names(all_of_them: bool) -> list[str]:
        cases = tftrt_convert.cases_of(["V", "I"], ["FP32", "INT8", "FP16"], all_of_them)
        return [str(case) for case in cases]

    assert names(True) == ["V INT8", "I INT8", "V FP16", "I FP16", "V FP32", "I FP32"]
    assert names(False) == ["V FP32", "I FP32", "V FP16", "I FP16", "V INT8", "I INT8"]
    assert tftrt_convert.shares([0, 1, 2, 3, 8], 2) == [[0, 1], [2, 3]]
    assert tftrt_convert.shares([0, 1], 3) == [[0, 1], [0, 1], [0, 1]]
    assert [len(own) for own in tftrt_convert.shares(range(64), 3)] == [16, 16, 16]


def test_a_runner_keeps_to_its_gpu_cores_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a Python in the place of the jobs' own that tells what it was given."""
    job = tmp_path / "python"
    job.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys, time\n"
        "assert os.environ['TF_FORCE_GPU_ALLOW_GROWTH'] == 'true'\n"
        "given = json.loads(sys.argv[4])\n"
        "time.sleep(given.get('sleep', 0))\n"
        "if given.get('fail'): sys.exit('ValueError: no')\n"
        "print('chatter')\n"
        "print(json.dumps([sys.argv[1:4], os.environ['CUDA_VISIBLE_DEVICES'],"
        " len(os.sched_getaffinity(0))]))\n"
    )
    job.chmod(0o755)
    monkeypatch.setattr(tftrt_convert.sys, "executable", str(job))
    core = min(os.sched_getaffinity(0))
    runner = Runner("3", [core], time.monotonic() + 30)
    assert runner("cold", path="m") == [["-m", "benchmarks.tftrt_jobs", "cold"], "3", 1]
    with pytest.raises(JobError, match="ValueError: no"):
        runner("cold", fail=True)
    with pytest.raises(OutOfTimeError):
        Runner(None, [core], time.monotonic() + 1)("cold", sleep=20)
    with pytest.raises(OutOfTimeError):
        Runner(None, [core], time.monotonic() - 1)("cold")


def test_the_share_of_a_percentile() -> None:
    assert tftrt_jobs.percentile([float(n) for n in range(100, 0, -1)], 95) == 95
    assert tftrt_jobs.percentile([3.0], 95) == 3
    assert tftrt_jobs.percentile([1.0, 2.0], 50) == 1


def test_a_request_goes_by_name_and_does_not_print_its_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Mean(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "image")])
        def serve(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"mean": tf.reduce_mean(image, 1)}

    module = Mean()
    tf.saved_model.save(module, str(tmp_path / "m"), {"serving_default": module.serve})
    model = tf.saved_model.load(str(tmp_path / "m"))
    function = model.signatures["serving_default"]
    x = tf.constant(np.ones((2, 4), np.float32))
    printed: list[object] = []
    monkeypatch.setattr(type(x), "__repr__", lambda self: printed.append(self) or "a tensor")
    assert tftrt_jobs.name_in(function) == "image"
    found = tftrt_jobs.request(function, {"image": x})
    np.testing.assert_array_equal(found.numpy(), [1, 1])
    assert tftrt_jobs.clock(function, {"image": x}, 3) > 0
    assert not printed


def test_tables_of_the_results() -> None:
    def measured(precision: str, peer: str, ms: float) -> dict:
        figures = {"latency_ms": {"8": ms, "32": 2 * ms}, "queued_ms": {"8": ms / 2, "32": ms}}
        return {**row("A", ms, precision, peer), **figures, "cold_start_s": 5.04}

    found = tables(
        [
            measured("FP16", "native", 8.0),
            measured("FP16", "converters", 1.5),
            measured("FP32", "native", 7.5),
            measured("FP32", "TF-TRT", 2.25),
            measured("FP32", "converters", 2.0),
            {"model": "A", "precision": "FP16", "peer": "TF-TRT", "convert_s": 61.2},
        ]
    )
    assert found.splitlines() == [
        "| A | native | TF-TRT FP32 | FP32 | TF-TRT FP16 | FP16 |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| latency at batch 32, ms | 15.00 to 16.00 | 4.50 | **4.00** | - | **3.00** |",
        "| latency at batch 8, ms | 7.50 to 8.00 | 2.25 | **2.00** | - | **1.50** |",
        "| queued at batch 32, ms | 7.50 to 8.00 | 2.25 | **2.00** | - | **1.50** |",
        "| queued at batch 8, ms | 3.75 to 4.00 | 1.12 | **1.00** | - | **0.75** |",
        "| converting, s | - | 2 | **2** | 61 | **2** |",
        "| first result in a fresh process, s | 5.0 | 5.0 | **5.0** | - | **5.0** |",
    ]


def test_another_build_of_stock_has_a_column_where_it_was_measured() -> None:
    found = tables([row("A", 1.0), row("A", 2.0, peer="TF-TRT"), row("A", 3, peer="TF-TRT again")])
    assert found.splitlines()[0] == "| A | native | TF-TRT FP16 | TF-TRT again FP16 | FP16 |"
    assert "| converting, s | - | 2 | 3 | - |" in found


def test_engines_without_native_segments_have_a_column_of_their_own() -> None:
    ours = [row("A", 3.0, peer="converters"), row("A", 2.0, peer="engines only")]
    found = tables([row("A", 1.0), *ours])
    assert found.splitlines()[0] == "| A | native | TF-TRT FP16 | engines only FP16 | FP16 |"
    assert "| converting, s | - | - | 2 | **3** |" in found


def test_what_was_converted_beside_others_has_a_star() -> None:
    beside = {**row("A", 2.0, peer="converters"), "at_once": 5, "cold_start_s": 3.0}
    found = tables([row("A", 1.0), beside])
    assert "| converting, s | - | - | **2\\*** |" in found
    assert "| first result in a fresh process, s | - | - | **3.0** |" in found


def test_the_documentation_has_the_tables_that_were_recorded() -> None:
    root = Path(tftrt_convert.__file__).resolve().parents[1]
    recorded = json.loads((root / "benchmarks" / "results" / "h200" / FILE).read_text())["rows"]
    page = (root / "docs" / "converters.md").read_text()
    for table in tables(recorded).split("\n\n"):
        assert table in page
