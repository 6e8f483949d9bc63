"""The C API: what the library exports, and how its errors become exceptions."""

from __future__ import annotations

import copy
import ctypes
import pickle
import re
import subprocess
import threading
from pathlib import Path

import pytest
from golden_clips import Clips

import tf_nvcodec.compat as nvc
from tf_nvcodec.compat import errors, library
from tf_nvcodec.python.loader import library_path


def test_a_call_gives_its_result() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", library.ffmpeg_version("libavcodec"))


def test_a_failed_call_raises_its_message() -> None:
    with pytest.raises(
        ValueError, match="'libnope' is not one of the FFmpeg libraries in use"
    ) as raised:
        library.ffmpeg_version("libnope")
    assert isinstance(raised.value, nvc.PyNvVCException)


def test_threads_have_their_own_errors() -> None:
    seen = {}

    def ask(name: str) -> None:
        for _ in range(200):
            with pytest.raises(ValueError) as raised:
                library.ffmpeg_version(name)
            seen.setdefault(name, set()).add(str(raised.value))

    threads = [threading.Thread(target=ask, args=(f"lib{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: len(messages) for name, messages in seen.items()} == dict.fromkeys(seen, 1)
    assert all(f"'{name}'" in next(iter(messages)) for name, messages in seen.items())


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        (3, (nvc.PyNvVCException, ValueError)),
        (5, (nvc.PyNvVCException, FileNotFoundError)),
        (8, (nvc.PyNvVCException,)),
        (9, (nvc.PyNvVCExceptionUnsupported,)),
        (11, (nvc.PyNvVCException, IndexError)),
        (12, (nvc.PyNvVCExceptionUnsupported, RuntimeError)),
        (13, (nvc.PyNvVCException,)),
        (15, (nvc.PyNvVCExceptionDecode,)),
    ],
)
def test_codes_become_the_exceptions_that_users_expect(
    code: int, kinds: tuple[type[BaseException], ...]
) -> None:
    error = errors.of_status(code, "why")
    assert str(error) == "why"
    for kind in kinds:
        assert isinstance(error, kind)


def test_an_error_of_cuda_is_told_by_the_drivers_name() -> None:
    """nv/cuda/driver.cc writes messages in this form."""
    error = errors.of_status(13, "cuMemAlloc: CUDA_ERROR_ILLEGAL_ADDRESS, an illegal address")
    assert type(error) is nvc.PyNvVCExceptionCuda
    assert type(errors.of_status(13, "why")) is nvc.PyNvVCException


def test_what_has_a_handle_is_not_copied(clips: Clips, tmp_path: Path) -> None:
    """A copy would free the handle of the C API a second time, so copying is an error."""
    path = clips.path("h264.mp4")
    demuxer = nvc.CreateDemuxer(path)
    simple = nvc.SimpleDecoder(path, use_device_memory=False, backend="cpu")
    owners = [
        demuxer,
        next(demuxer),
        nvc.CreateDecoder(backend="cpu"),
        simple,
        simple[0],
        nvc.ThreadedDecoder(path, 2, use_device_memory=False, backend="cpu"),
        nvc.CreateEncoder(64, 64, "NV12"),
        nvc.FFmpegMuxer(tmp_path / "a.mp4", nvc.MEDIA_FORMAT.MP4, "h264", 64, 64),
    ]
    for owner in owners:
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=f"{type(owner).__name__} can't be copied"):
                way(owner)


def test_a_frame_comes_from_a_decoder() -> None:
    for handle in (None, 5, ctypes.c_void_p()):
        with pytest.raises(TypeError, match="comes from a decoder"):
            nvc.DecodedFrame(handle)


def test_an_older_library_is_named() -> None:
    with pytest.raises(ImportError, match="no function nvc_not_yet: it was built from older"):
        library.declare("not_yet", [])


def test_nothing_but_the_c_api_is_exported() -> None:
    """Other exported symbols would clash with those of other libraries in the process."""
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", library_path()], capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("no nm here")
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert "nvc_last_error" in names
    assert all(name.startswith("nvc_") for name in names), names
