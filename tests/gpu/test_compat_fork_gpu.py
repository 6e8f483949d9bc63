"""CUDA can't be used in a fork of a process that uses a GPU. The error says so at once."""

from __future__ import annotations

import numpy as np
import pytest
from forks import in_a_fork
from gpu_clips import folder

import tf_nvcodec.compat as nvc

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def test_what_came_with_the_fork_is_refused_and_left_alone() -> None:
    path = folder() / "h264.mp4"
    demuxer = nvc.CreateDemuxer(path)
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), usedevicememory=True, backend="nvdec")
    frames = [frame for _ in range(20) for frame in decoder.Decode(demuxer.Demux())]
    simple = nvc.SimpleDecoder(path, backend="nvdec")
    threaded = nvc.ThreadedDecoder(path, 2, backend="nvdec")
    packet = demuxer.Demux()
    inherited = {
        "Decode": lambda: decoder.Decode(packet),
        "simple[0]": lambda: simple[0],
        "get_batch_frames": lambda: threaded.get_batch_frames(1),
        "cuda": frames[0].cuda,
        "nvcv_image": frames[0].nvcv_image,
        "__dlpack__": frames[0].__dlpack__,
    }
    for name, call in inherited.items():
        assert "was made in process" in in_a_fork(call), name
    assert in_a_fork(frames.clear) == "gave None"
    shown = len(frames) + sum(len(decoder.Decode(packet)) for packet in [packet, *demuxer])
    assert shown == len(simple)
    assert len(threaded.get_batch_frames(2)) == 2


def test_a_forks_own_decoders_are_the_cpus() -> None:
    path = folder() / "h264.mp4"
    assert nvc.GetDecoderCaps()["num_decoder_engines"] > 0  # From here on this process uses CUDA.

    def on_the_gpu() -> object:
        return nvc.SimpleDecoder(path, backend="nvdec")

    def anywhere() -> int:
        decoder = nvc.SimpleDecoder(path, use_device_memory=False)
        return sum(int(np.asarray(frame).sum()) for frame in decoder)

    said = in_a_fork(on_the_gpu)
    assert said.startswith("PyNvVCExceptionUnsupported: ") and "fork" in said
    assert in_a_fork(anywhere) == f"gave {anywhere()}"
