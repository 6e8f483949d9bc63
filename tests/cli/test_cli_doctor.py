"""What `tf-nvcodec doctor` says of NVRTC and of NVENC's encoders."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tf_nvcodec.cli import doctor_checks, doctor_child
from tf_nvcodec.cli.doctor_checks import Status


class MadeUpNvrtc:
    """An NVRTC 12.3, as ctypes shows it."""

    def nvrtcVersion(self, major: Any, minor: Any) -> int:  # noqa: N802
        ctypes.cast(major, ctypes.POINTER(ctypes.c_int))[0] = 12
        ctypes.cast(minor, ctypes.POINTER(ctypes.c_int))[0] = 3
        return 0


def test_nvrtc_is_found_where_the_loader_is_told_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = str(tmp_path / "libnvrtc.so.13")
    monkeypatch.setenv("TF_NVCODEC_NVRTC_FOLDERS", f"/nowhere:{tmp_path}")
    monkeypatch.setattr(
        doctor_checks, "_open_library", lambda name: MadeUpNvrtc() if name == here else None
    )
    finding = doctor_checks._nvrtc()
    assert finding.status is Status.OK
    assert finding.detail == f"12.3 ({here})"


def test_nvrtc_that_is_missing_is_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []
    monkeypatch.delenv("TF_NVCODEC_NVRTC_FOLDERS", raising=False)
    monkeypatch.setattr(doctor_checks, "nvrtc_folders", lambda: [str(tmp_path)])
    monkeypatch.setattr(doctor_checks, "_open_library", tried.append)
    finding = doctor_checks._nvrtc()
    assert finding.status is Status.ABSENT
    assert finding.cure == "pip install nvidia-cuda-nvrtc-cu12"
    assert tried.index(f"{tmp_path}/libnvrtc.so.12") < tried.index("libnvrtc.so.12")


def test_a_library_that_is_no_nvrtc_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_checks, "_open_library", lambda name: object())
    assert doctor_checks._nvrtc().status is Status.ABSENT


def test_nvenc_encoders_are_named() -> None:
    def find(name: str) -> bool:
        return name == "h264_nvenc"

    finding = doctor_checks._codecs("NVENC encoders", doctor_checks._NVENC_ENCODERS, find, "mend")
    assert finding.status is Status.ABSENT
    assert finding.cure == "mend"
    assert finding.detail.startswith("H.264 (h264_nvenc); this FFmpeg lacks HEVC (hevc_nvenc)")


def test_the_report_has_both() -> None:
    names = [finding.name for finding in doctor_checks.examine()]
    for name in ("NVENC", "NVENC encoders", "NVRTC"):
        assert names.count(name) == 1


def test_a_step_that_hangs_or_fails_is_the_one_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = '@{"tensorflow": {"version": "2.17.1"}}\n@{"library": {"build_info": {}}}\n'

    def hang(*_: Any, **how: Any) -> None:
        raise subprocess.TimeoutExpired("python", how["timeout"], output=said.encode())

    monkeypatch.setattr(subprocess, "run", hang)
    child = doctor_child.ask_child()
    assert child["tensorflow"] == {"version": "2.17.1"}
    assert child["nvdec"] == {"error": "no answer within 120 s"}
    assert "nvenc" not in child
    findings = {finding.name: finding for finding in doctor_checks._gpu(child)}
    assert findings["NVDEC"].status is Status.ABSENT
    assert findings["NVDEC"].detail == "no answer within 120 s"


def test_the_folder_of_the_shell_is_not_searched_for_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tensorflow.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    assert "version" in doctor_child.ask_child()["tensorflow"]
