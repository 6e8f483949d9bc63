"""DecodedFrame: its properties, and how long others may read its memory."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest
import tensorflow as tf
from golden_clips import Clips
from surface_checks import planes_of

import tf_nvcodec.compat as nvc


def first_frame(clips: Clips, name: str, **options: object) -> nvc.DecodedFrame:
    demuxer = nvc.CreateDemuxer(clips.path(name))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), backend="cpu", **options)
    return next(frame for packet in demuxer for frame in decoder.Decode(packet))


@pytest.mark.parametrize(
    ("name", "form", "shape", "dtype", "planes"),
    [
        ("h264.mp4", "NV12", (144, 160), np.uint8, "[96, 160, 1]; [48, 80, 2]"),
        ("hevc_yuv420p10le.mp4", "P016", (96, 96), np.uint16, "[64, 96, 1]; [32, 48, 2]"),
        ("h264_yuv422p.mp4", "NV16", (128, 96), np.uint8, "[64, 96, 1]; [64, 48, 2]"),
        ("hevc_yuv422p12le.mkv", "P216", (128, 96), np.uint16, "[64, 96, 1]; [64, 48, 2]"),
        ("h264_yuv444p.mp4", "YUV444", (192, 96), np.uint8, "; ".join(["[64, 96, 1]"] * 3)),
        (
            "hevc_yuv444p12le.mkv",
            "YUV444_16Bit",
            (192, 96),
            np.uint16,
            "; ".join(["[64, 96, 1]"] * 3),
        ),
        ("vp9_odd.webm", "NV12", (98, 97), np.uint8, "[65, 97, 1]; [33, 49, 2]"),
    ],
)
def test_format_shape_and_repr(
    clips: Clips, name: str, form: str, shape: tuple[int, ...], dtype: type, planes: str
) -> None:
    frame = first_frame(clips, name)
    assert frame.format is nvc.Pixel_Format[form]
    assert frame.shape == shape
    views = ", ".join(f"<CAIMemoryView {plane}>" for plane in planes.split("; "))
    assert repr(frame) == f"<DecodedFrame [timestamp={frame.timestamp}, format={form}, [{views}]]>"
    array = np.asarray(frame)
    assert (array.shape, array.dtype) == (shape, dtype)
    assert np.dtype(frame.dtype) == dtype
    assert tuple(step * array.itemsize for step in frame.strides) == array.strides
    # Some versions of PyNvVideoCodec have these as methods.
    assert (frame.shape(), frame.strides()) == (frame.shape, frame.strides)
    assert np.dtype(frame.dtype()) == dtype
    assert frame.getPTS() == frame.timestamp
    luma = planes_of(frame)[0]
    np.testing.assert_array_equal(array[: len(luma)], luma)


def test_planes_have_addresses(clips: Clips) -> None:
    frame = first_frame(clips, "h264.mp4")
    assert frame.GetPtrToPlane(1) - frame.GetPtrToPlane(0) == 160 * 96
    assert frame.GetPtrToPlane(0) % 64 == 0
    assert frame.decoder_stream_event == 0
    with pytest.raises(IndexError, match="plane 2 of a frame in NV12, which has 2"):
        frame.GetPtrToPlane(2)
    with pytest.raises(IndexError):
        frame.GetPtrToPlane(-1)


def test_numpy_and_tensorflow_share_the_memory(clips: Clips) -> None:
    frame = first_frame(clips, "h264.mp4")
    address = frame.GetPtrToPlane(0)
    array = np.asarray(frame)
    exported = np.from_dlpack(frame)
    tensor = tf.experimental.dlpack.from_dlpack(frame.__dlpack__())
    assert array.__array_interface__["data"][0] == address
    assert exported.__array_interface__["data"][0] == address
    np.testing.assert_array_equal(array, exported)
    np.testing.assert_array_equal(array, tensor)
    array[0, 0] ^= 0xFF
    assert exported[0, 0] == array[0, 0] == tensor[0, 0]
    assert frame.__dlpack_device__() == (1, 0)


def test_sixteen_bit_frames_reach_tensorflow(clips: Clips) -> None:
    frame = first_frame(clips, "hevc_yuv420p10le.mp4")
    tensor = tf.experimental.dlpack.from_dlpack(frame.__dlpack__())
    assert tensor.dtype == tf.uint16
    np.testing.assert_array_equal(tensor, np.asarray(frame))


@pytest.mark.parametrize("share", ["array", "numpy", "tensorflow"])
def test_shared_memory_outlives_the_frame(clips: Clips, share: str) -> None:
    frame = first_frame(clips, "h264.mp4")
    wanted = np.array(frame)
    if share == "array":
        shared: object = np.asarray(frame)
    elif share == "numpy":
        shared = np.from_dlpack(frame)
    else:
        shared = tf.experimental.dlpack.from_dlpack(frame.__dlpack__())
    gone = weakref.ref(frame)
    del frame
    gc.collect()
    # NumPy keeps the frame itself, the others keep only its memory.
    assert (gone() is None) == (share != "array")
    # If the frame had given its memory back, new frames of the same size would use it now.
    others = [first_frame(clips, "h264_long_gop.mp4") for _ in range(4)]
    others += [first_frame(clips, "h264.ts") for _ in range(4)]
    for other in others:
        np.asarray(other)[:] = 0
    np.testing.assert_array_equal(shared, wanted)


@pytest.mark.serial
def test_a_capsule_nobody_takes_is_freed(clips: Clips) -> None:
    from resource import RUSAGE_SELF, getrusage

    demuxer = nvc.CreateDemuxer(clips.path("bbb.mp4"))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), backend="cpu")
    frames = [frame for packet in demuxer for frame in decoder.Decode(packet)][:100]
    before = getrusage(RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        for frame in frames:
            frame.__dlpack__()
            np.from_dlpack(frame)
    # If each frame leaked its memory, the process would grow by 2000 times 1.4 MB.
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 100_000


@pytest.mark.serial
def test_decoding_forever_takes_no_more_memory(clips: Clips) -> None:
    from resource import RUSAGE_SELF, getrusage

    def decode() -> None:
        demuxer = nvc.CreateDemuxer(clips.path("bbb.mp4"))
        decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), backend="cpu")
        for packet in demuxer:
            for frame in decoder.Decode(packet):
                np.from_dlpack(frame)

    decode()
    before = getrusage(RUSAGE_SELF).ru_maxrss
    for _ in range(3):
        decode()
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 60_000  # 132 frames take 180 MB.


def test_memory_may_be_freed_on_another_thread(clips: Clips) -> None:
    arrays = [np.from_dlpack(first_frame(clips, "h264.mp4")) for _ in range(8)]
    thread = threading.Thread(target=arrays.clear)
    thread.start()
    thread.join()
    assert arrays == []


def test_what_dlpack_asks_for_is_kept_or_refused(clips: Clips) -> None:
    frame = first_frame(clips, "h264.mp4")
    assert frame.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="without a copy"):
        frame.__dlpack__(copy=True)
    with pytest.raises(BufferError, match="where it is"):
        frame.__dlpack__(dl_device=(2, 0))


def test_host_frames_have_no_cuda_views(clips: Clips) -> None:
    frame = first_frame(clips, "h264.mp4")
    for call in (frame.cuda, frame.nvcv_image):
        with pytest.raises(nvc.PyNvVCExceptionUnsupported, match=r"numpy\.asarray\(frame\)"):
            call()


def test_the_cuda_array_interface_of_a_view() -> None:
    view = nvc.CAIMemoryView([540, 960, 2], [1920, 2, 1], "<u2", 4096, None)
    assert view.__cuda_array_interface__ == {
        "version": 3,
        "shape": (540, 960, 2),
        "strides": (3840, 4, 2),
        "typestr": "<u2",
        "data": (4096, False),
    }
    assert (view.shape, view.stride, view.dataptr, view.data) == (
        [540, 960, 2],
        [1920, 2, 1],
        4096,
        4096,
    )
    assert repr(view) == "<CAIMemoryView [540, 960, 2]>"


def test_torch_shares_the_memory(clips: Clips) -> None:
    torch = pytest.importorskip("torch")
    frame = first_frame(clips, "h264.mp4")
    assert torch.from_dlpack(frame).data_ptr() == frame.GetPtrToPlane(0)


def test_a_decoder_in_use_by_two_threads_is_an_error_not_a_crash(clips: Clips) -> None:
    """A call lets other threads run. Their calls are refused meanwhile."""
    packets = list(nvc.CreateDemuxer(clips.path("bbb.mp4")))
    decoder = nvc.CreateDecoder(backend="cpu")
    refused = []

    def decode() -> None:
        for packet in packets:
            try:
                decoder.Decode(packet)
            except nvc.PyNvVCException as error:
                refused.append(str(error))

    threads = [threading.Thread(target=decode) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert any("one thread at a time" in error for error in refused)
