"""PyNvVideoCodec's API on the GPU: frames are the CPU's, in the memory that was asked for."""

from __future__ import annotations

import gpu_checks  # noqa: F401  (leaves GPU memory to the decoders)
import numpy as np
import pytest
import tensorflow as tf
from gpu_clips import SOUND, data

import tf_nvcodec.compat as nvc

pytestmark = pytest.mark.gpu

CLIPS = [name for name in SOUND if name.startswith(("h264", "hevc")) and "cut" not in name]
SOME = ["h264.mp4", "h264_open_gop.mp4", "hevc.mp4", "h264_edit_list.mp4", "h264_vfr.mp4"]


def decode(name: str, **options: object) -> list[nvc.DecodedFrame]:
    demuxer = nvc.CreateDemuxer(data(name))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), **options)
    return [frame for packet in demuxer for frame in decoder.Decode(packet)]


def same(got: list[nvc.DecodedFrame], want: list[nvc.DecodedFrame]) -> None:
    assert [f.timestamp for f in got] == [f.timestamp for f in want]
    for left, right in zip(got, want):
        assert (left.format, left.shape, left.strides) == (right.format, right.shape, right.strides)
        np.testing.assert_array_equal(np.asarray(left), np.asarray(right))


@pytest.mark.parametrize("name", CLIPS)
def test_frames_are_the_cpus(name: str) -> None:
    """Also where FFmpeg stands in for what this GPU does not decode."""
    try:
        want = decode(name, backend="cpu")
    except nvc.PyNvVCExceptionUnsupported as error:
        pytest.skip(str(error)[:200])
    same(decode(name), want)


@pytest.mark.parametrize("name", SOME)
def test_nvdec_alone_gives_the_cpus_frames(name: str) -> None:
    same(decode(name, backend="nvdec"), decode(name, backend="cpu"))


@pytest.mark.parametrize("name", SOME)
def test_frames_in_device_memory(name: str) -> None:
    frames = decode(name, usedevicememory=True)
    want = decode(name, backend="cpu")
    assert len(frames) == len(want)
    for frame, host in zip(frames, want):  # all kept: each has memory of its own
        assert frame.__dlpack_device__() == (2, 0)
        tensor = tf.experimental.dlpack.from_dlpack(frame.__dlpack__())
        assert "GPU:0" in tensor.device
        np.testing.assert_array_equal(tensor.numpy(), np.asarray(host))
    views = frames[0].cuda()
    assert [view.shape for view in views] == [view.shape for view in want[0]._views()]
    assert views[0].__cuda_array_interface__["data"] == (frames[0].GetPtrToPlane(0), False)
    assert frames[0].nvcv_image()[0].shape == [*frames[0].shape, 1]
    with pytest.raises(AttributeError, match="on a GPU"):
        frames[0].__array_interface__  # noqa: B018
    with pytest.raises(TypeError, match="on a GPU"):
        bytes(frames[0])


def test_tensors_outlive_their_frames() -> None:
    tensors = [
        tf.experimental.dlpack.from_dlpack(frame.__dlpack__())
        for frame in decode("h264.mp4", usedevicememory=True)
    ]
    decode("hevc.mp4", usedevicememory=True)
    for tensor, host in zip(tensors, decode("h264.mp4", backend="cpu")):
        np.testing.assert_array_equal(tensor.numpy(), np.asarray(host))


@pytest.mark.parametrize("color", ["RGB", "RGBP"])
def test_rgb_on_the_gpu(color: str) -> None:
    options = {"outputColorType": nvc.OutputColorType[color]}
    frames = decode("h264.mp4", usedevicememory=True, **options)
    for frame, host in zip(frames, decode("h264.mp4", backend="cpu", **options)):
        tensor = tf.experimental.dlpack.from_dlpack(frame.__dlpack__())
        off = np.abs(tensor.numpy().astype(int) - np.asarray(host).astype(int))
        assert off.max() <= 1


def test_more_frames_than_the_decoder_has_surfaces() -> None:
    frames = decode("h264_long_gop.mp4", usedevicememory=True)
    assert len({frame.GetPtrToPlane(0) for frame in frames}) == len(frames) == 150


@pytest.mark.parametrize("memory", [False, True])
def test_any_frame(memory: bool) -> None:
    decoder = nvc.SimpleDecoder(data("h264_open_gop.mp4"), use_device_memory=memory)
    want = nvc.SimpleDecoder(data("h264_open_gop.mp4"), use_device_memory=False, backend="cpu")
    indices = [31, 2, 2, 59, 0]
    for got, host in zip(
        decoder.get_batch_frames_by_index(indices), want.get_batch_frames_by_index(indices)
    ):
        assert got.__dlpack_device__()[0] == (2 if memory else 1)
        array = (
            tf.experimental.dlpack.from_dlpack(got.__dlpack__()).numpy()
            if memory
            else np.asarray(got)
        )
        np.testing.assert_array_equal(array, np.asarray(host))


def test_decoding_ahead() -> None:
    decoder = nvc.ThreadedDecoder(data("h264.mp4"), 10, use_device_memory=True)
    count = 0
    while frames := decoder.get_batch_frames(7):
        count += len(frames)
    assert count == 48


def test_caps_are_the_gpus() -> None:
    caps = nvc.GetDecoderCaps(codec=nvc.cudaVideoCodec.H264)
    assert caps["num_decoder_engines"] >= 1
    assert caps["width_min"] <= 160
    assert caps["width_max"] >= 1920
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="NVDEC does not decode"):
        nvc.GetDecoderCaps(
            codec=nvc.cudaVideoCodec.MPEG2, chromaformat=nvc.cudaVideoChromaFormat["444"]
        )


def test_another_context_is_refused_and_streams_are_taken() -> None:
    with pytest.raises(ValueError, match="not the primary one of GPU 0"):
        nvc.CreateDecoder(cudacontext=12345)
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="GPU 77 can't decode"):
        nvc.CreateDecoder(gpuid=77, usedevicememory=True)
    legacy_stream = 1  # CU_STREAM_LEGACY
    same(decode("h264.mp4", cudastream=legacy_stream), decode("h264.mp4", backend="cpu"))
