"""PyNvVideoCodec's API on the GPU gives the CPU's frames, in the kind of memory asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from child_script import printed_by
from compat_streams import sound_latency
from cuda_arrays import Context, Stream, context_of
from gpu_checks import differences
from gpu_clips import NOT_USED, SOUND, data
from svc_stream import with_second_layer

import tf_nvcodec.compat as nvc
from tf_nvcodec import decoder_pool

pytestmark = pytest.mark.gpu

CLIPS = [name for name in SOUND if name.startswith(("h264", "hevc")) and "cut" not in name]
SOME = ["h264.mp4", "h264_open_gop.mp4", "hevc.mp4", "h264_edit_list.mp4", "h264_vfr.mp4"]


def decode(name: str, **options: object) -> list[nvc.DecodedFrame]:
    demuxer = nvc.CreateDemuxer(data(name))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), **options)
    return [frame for packet in demuxer for frame in decoder.Decode(packet)]


def tensor_of(frame: nvc.DecodedFrame) -> tf.Tensor:
    return tf.experimental.dlpack.from_dlpack(frame.__dlpack__())


def same(got: list[nvc.DecodedFrame], want: list[nvc.DecodedFrame], what: str) -> None:
    """Asserts that two lists of frames in host memory are equal."""
    assert [f.timestamp for f in got] == [f.timestamp for f in want], what
    for i, (left, right) in enumerate(zip(got, want)):
        kind = (right.format, right.shape, right.strides)
        assert (left.format, left.shape, left.strides) == kind, f"{what}: frame {i}"
    equal([np.asarray(frame) for frame in got], want, what)


def equal(got: list[np.ndarray], want: list[nvc.DecodedFrame], what: str) -> None:
    arrays = [np.asarray(frame) for frame in want]
    wrong = [i for i, (left, right) in enumerate(zip(got, arrays)) if (left != right).any()]
    assert not wrong, f"{what}, frames {wrong} of {len(want)}: " + differences(
        got[wrong[0]], arrays[wrong[0]]
    )


@pytest.mark.parametrize("memory", [False, True])
def test_the_size_may_change_within_a_stream(memory: bool) -> None:
    want = [np.asarray(frame) for frame in decode("size_change.h264", backend="cpu")]
    got = decode("size_change.h264", usedevicememory=memory)
    shapes = [frame.shape for frame in got]
    assert shapes == [frame.shape for frame in want] and len(set(shapes)) > 1
    for i, (left, right) in enumerate(zip(got, want)):
        np.testing.assert_array_equal(tensor_of(left).numpy(), right, err_msg=f"frame {i}")


@pytest.mark.parametrize("codec", ["H264", "H264_SVC"])
def test_of_scalable_video_the_base_layer_is_decoded(codec: str) -> None:
    decoder = nvc.CreateDecoder(codec=nvc.cudaVideoCodec[codec], backend="nvdec")
    frames = []
    for packet in nvc.CreateDemuxer(data("h264.mp4")):
        layered = nvc.PacketData()
        layered.bsl_data = with_second_layer(bytes(packet))
        layered.pts, layered.dts, layered.key = packet.pts, packet.dts, packet.key
        frames += decoder.Decode(layered)
    want = decode("h264.mp4", backend="cpu")
    assert len(frames) == len(want)
    equal([np.asarray(frame) for frame in frames], want, codec)


@pytest.mark.parametrize("name", CLIPS)
def test_frames_are_the_cpus(name: str) -> None:
    """If this GPU can't decode the clip, FFmpeg does, so the frames are the same in any case."""
    try:
        want = decode(name, backend="cpu", latency=sound_latency(name))
    except nvc.PyNvVCExceptionUnsupported as error:
        pytest.skip(str(error)[:200])
    if name == "h264_no_first_pts.ts":
        # FFmpeg makes up the time that NVDEC leaves unknown.
        equal([np.asarray(frame) for frame in decode(name)], want, name)
    else:
        same(decode(name), want, name)


@pytest.mark.parametrize("name", SOME)
def test_nvdec_alone_gives_the_cpus_frames(name: str) -> None:
    same(decode(name, backend="nvdec"), decode(name, backend="cpu"), name)


@pytest.mark.parametrize("name", NOT_USED)
def test_other_codecs_are_left_to_ffmpeg(name: str) -> None:
    same(decode(name), decode(name, backend="cpu"), name)
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match='not used for codec.*"cpu"'):
        decode(name, backend="nvdec")
    codec = nvc.CreateDemuxer(data(name)).GetNvCodecId()
    assert nvc.GetDecoderCaps(codec=codec)["num_decoder_engines"] == 0


@pytest.mark.parametrize("name", SOME)
def test_frames_in_device_memory(name: str) -> None:
    frames = decode(name, usedevicememory=True)
    want = decode(name, backend="cpu")
    assert len(frames) == len(want)
    # The test keeps all frames, so each one has memory of its own.
    tensors = [tensor_of(frame) for frame in frames]
    assert {frame.__dlpack_device__() for frame in frames} == {(2, 0)}
    assert all("GPU:0" in tensor.device for tensor in tensors), tensors[0].device
    equal([tensor.numpy() for tensor in tensors], want, name)
    views = frames[0].cuda()
    assert [view.shape for view in views] == [view.shape for view in want[0]._views()]
    assert views[0].__cuda_array_interface__["data"] == (frames[0].GetPtrToPlane(0), False)
    assert frames[0].nvcv_image()[0].shape == [*frames[0].shape, 1]
    with pytest.raises(AttributeError, match="on a GPU"):
        frames[0].__array_interface__  # noqa: B018
    with pytest.raises(TypeError, match="on a GPU"):
        bytes(frames[0])


def test_tensors_outlive_their_frames() -> None:
    tensors = [tensor_of(frame) for frame in decode("h264.mp4", usedevicememory=True)]
    decode("hevc.mp4", usedevicememory=True)
    want = decode("h264.mp4", backend="cpu")
    assert len(tensors) == len(want)
    equal([tensor.numpy() for tensor in tensors], want, "after another stream")


def test_frames_let_go_are_read_to_the_end() -> None:
    """The script lets go of a frame while work on it is still queued. The decoder must not use its
    memory for another frame before this work is done."""
    demuxer = nvc.CreateDemuxer(data("h264_long_gop.mp4"))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), usedevicememory=True)
    busy = tf.random.normal([4096, 4096])
    sums = []
    for packet in demuxer:
        for frame in decoder.Decode(packet):
            # TensorFlow's stream computes this before the sum, so the sum comes late.
            busy = tf.linalg.matmul(busy, busy) * 1e-3
            sums.append(tf.reduce_sum(tf.cast(tensor_of(frame), tf.int64)))
    want = [int(np.asarray(f).sum()) for f in decode("h264_long_gop.mp4", backend="cpu")]
    assert [int(value) for value in sums] == want


@pytest.mark.parametrize("color", ["RGB", "RGBP"])
def test_rgb_on_the_gpu(color: str) -> None:
    options = {"outputColorType": nvc.OutputColorType[color]}
    frames = decode("h264.mp4", usedevicememory=True, **options)
    want = decode("h264.mp4", backend="cpu", **options)
    assert len(frames) == len(want)
    for i, (frame, host) in enumerate(zip(frames, want)):
        off = np.abs(tensor_of(frame).numpy().astype(int) - np.asarray(host).astype(int))
        assert off.max() <= 1, f"frame {i}, {(off > 1).sum()} samples"


def test_more_frames_than_the_decoder_has_surfaces() -> None:
    frames = decode("h264_long_gop.mp4", usedevicememory=True)
    assert len({frame.GetPtrToPlane(0) for frame in frames}) == len(frames) == 150


@pytest.mark.parametrize("memory", [False, True])
def test_any_frame(memory: bool) -> None:
    decoder = nvc.SimpleDecoder(data("h264_open_gop.mp4"), use_device_memory=memory)
    want = nvc.SimpleDecoder(data("h264_open_gop.mp4"), use_device_memory=False, backend="cpu")
    indices = [31, 2, 2, 59, 0]
    frames = decoder.get_batch_frames_by_index(indices)
    assert {frame.__dlpack_device__()[0] for frame in frames} == {2 if memory else 1}
    got = [tensor_of(frame).numpy() if memory else np.asarray(frame) for frame in frames]
    equal(got, want.get_batch_frames_by_index(indices), f"frames {indices}")


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
            codec=nvc.cudaVideoCodec.H264, chromaformat=nvc.cudaVideoChromaFormat["444"]
        )


@pytest.mark.parametrize("name", ["h264_no_b.mp4", "h264.mp4"])
def test_low_latency_gives_the_same_frames_sooner(name: str) -> None:
    demuxer = nvc.CreateDemuxer(data(name))
    decoder = nvc.CreateDecoder(
        codec=demuxer.GetNvCodecId(),
        backend="nvdec",
        latency=nvc.DisplayDecodeLatencyType.LOW,
    )
    frames, late = [], []
    for count, packet in enumerate(demuxer, 1):
        frames += decoder.Decode(packet)
        late.append(count - len(frames))
    same(frames, decode(name, backend="cpu"), name)
    if name == "h264_no_b.mp4":
        # NVDEC's parser may hold back one frame. At the default latency there would be 3 more.
        assert max(late) <= 1, late


@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("name", ["h264.mp4", "hevc.mp4"])
def test_decodes_in_the_callers_context_and_on_its_stream(name: str, memory: bool) -> None:
    want = decode(name, backend="cpu")
    before = decoder_pool()
    with Context() as context:
        frames = decode(
            name,
            backend="nvdec",
            cudacontext=context.handle,
            cudastream=context.stream(),
            usedevicememory=memory,
        )
        if memory:
            owners = {context_of(frame.GetPtrToPlane(0)) for frame in frames}
            assert owners == {context.handle}, (owners, context.handle)
            got = [
                np.frombuffer(context.read(f.GetPtrToPlane(0), f.framesize()), f.dtype)
                for f in frames
            ]
            assert [f.timestamp for f in frames] == [f.timestamp for f in want]
            equal([g.reshape(f.shape) for g, f in zip(got, frames)], want, name)
        else:
            same(frames, want, name)
        del frames
        after = decoder_pool()
        assert (after.created, after.idle) == (before.created + 1, before.idle)
        assert after.in_use == 0


def test_colours_in_the_callers_context() -> None:
    options = {"outputColorType": nvc.OutputColorType.RGB}
    want = decode("h264.mp4", backend="cpu", **options)
    with Context() as context:
        frames = decode("h264.mp4", backend="nvdec", cudacontext=context.handle, **options)
        assert len(frames) == len(want)
        for frame, host in zip(frames, want):
            assert np.abs(np.asarray(frame).astype(int) - np.asarray(host)).max() <= 1


def test_contexts_that_are_gone_and_what_never_was_one() -> None:
    """The checks run in a process of their own, because a wrong address may crash the driver."""
    script = Path(__file__).with_name("destroyed_contexts.py")
    printed = printed_by(str(script), timeout=90)
    assert printed.splitlines()[-1] == "all refused"


def test_streams_are_taken() -> None:
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="GPU 77 can't decode"):
        nvc.CreateDecoder(gpuid=77, usedevicememory=True)
    legacy_stream = 1  # CU_STREAM_LEGACY
    want = decode("h264.mp4", backend="cpu")
    same(decode("h264.mp4", cudastream=legacy_stream), want, "the default stream")
    stream = Stream()
    same(decode("h264.mp4", cudastream=stream.handle), want, "the caller's stream")
    stream.synchronize()
