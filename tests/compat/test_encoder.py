"""The encoder's calls: formats, kinds of frames, packets, errors and the end of a stream."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
import tensorflow as tf
from compat_streams import HEIGHT, WIDTH, Stream, encode, nv12_frames
from fork_server import printed_by

import tf_nvcodec.compat as nvc

CODECS = ["h264", "hevc", "av1"]
LOSSLESS = {"h264": {"tuning_info": "lossless"}, "hevc": {"tuning_info": "lossless"}}


def noise(rows: float, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return draw.integers(0, 256, (int(HEIGHT * rows), WIDTH), dtype=np.uint8)


def wide(rows: float) -> np.ndarray:
    """Returns random 16-bit samples. The encoder must use the upper 10 bits only."""
    draw = np.random.default_rng(3)
    return draw.integers(0, 1 << 16, (int(HEIGHT * rows), WIDTH)).astype(np.uint16)


@pytest.mark.parametrize("codec", ["h264", "hevc"])
@pytest.mark.parametrize(
    ("fmt", "rows", "pixel_format"),
    [
        ("NV12", 1.5, "nv12"),
        ("YUV420", 1.5, "yuv420p"),
        ("IYUV", 1.5, "yuv420p"),
        ("yuv444", 3, "yuv444p"),
    ],
)
def test_samples_of_eight_bits_arrive(codec: str, fmt: str, rows: float, pixel_format: str) -> None:
    frame = noise(rows)
    stream = encode([frame], codec, fmt, **LOSSLESS[codec])
    assert stream.file.planes(pixel_format) == frame.tobytes()


@pytest.mark.parametrize("codec", ["h264", "hevc"])
@pytest.mark.parametrize(
    ("fmt", "rows", "pixel_format"),
    [("P010", 1.5, "p010le"), ("YUV444_16bit", 3, "yuv444p10le"), ("YUV444_10BIT", 3, None)],
)
def test_the_upper_ten_bits_arrive(
    codec: str, fmt: str, rows: float, pixel_format: str | None
) -> None:
    frame = wide(rows)
    stream = encode([frame], codec, fmt, **LOSSLESS[codec])
    shift = 6 if fmt.startswith("YUV444") else 0
    want = (frame & 0xFFC0) >> shift
    assert stream.file.planes(pixel_format) == want.tobytes()


@pytest.mark.parametrize("fmt", ["NV12", "YUV420", "P010", "ARGB", "ABGR"])
def test_av1_takes_what_it_can_store(fmt: str) -> None:
    rows = 4 if "A" in fmt else 1.5
    frame = wide(rows) if fmt == "P010" else noise(rows)
    stream = encode([frame], "av1", fmt)
    assert stream.file.stream["pix_fmt"] == ("yuv420p10le" if fmt == "P010" else "yuv420p")


@pytest.mark.parametrize("fmt", ["YUV444", "YUV444_16BIT"])
def test_av1_refuses_full_chroma(fmt: str) -> None:
    """NVENC's AV1 encoder refuses it too, so the CPU's does the same."""
    with pytest.raises(nvc.PyNvVCException, match="yuv444p"):
        nvc.CreateEncoder(WIDTH, HEIGHT, fmt, True, codec="av1")


# For each matrix: R'G'B' colours and the luma that H.273 gives for them in limited range.
COLOURS = {
    "bt601": {(255, 0, 0): 81, (0, 255, 0): 145, (0, 0, 255): 41, (255, 255, 255): 235},
    "bt709": {(255, 0, 0): 63, (0, 255, 0): 173, (0, 0, 255): 32, (255, 255, 255): 235},
    "bt2020": {(255, 0, 0): 74, (0, 255, 0): 164, (0, 0, 255): 29, (255, 255, 255): 235},
}


@pytest.mark.parametrize("space", list(COLOURS))
@pytest.mark.parametrize(("fmt", "order"), [("ARGB", (2, 1, 0, 3)), ("ABGR", (0, 1, 2, 3))])
def test_rgb_is_converted_by_the_colorspace(space: str, fmt: str, order: tuple[int, ...]) -> None:
    for colour, luma in COLOURS[space].items():
        pixel = np.array([*colour, 7], np.uint8)[list(order)]
        frame = np.broadcast_to(pixel, (HEIGHT, WIDTH, 4))
        stream = encode([frame], "h264", fmt, colorspace=space, tuning_info="lossless")
        assert set(stream.file.planes()[: WIDTH * HEIGHT]) == {luma}
    assert stream.file.stream["color_space"].startswith({"bt601": "smpte170m"}.get(space, space))


class WithDlpack:
    """Stands in for an array of another library, which has only DLPack's methods."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize(
    "kind",
    [
        bytes,
        bytearray,
        lambda frame: memoryview(frame.tobytes()),
        lambda frame: frame.reshape(-1),
        lambda frame: np.asfortranarray(frame),
        lambda frame: np.repeat(frame, 2, axis=1)[:, ::2],
        tf.constant,
        lambda frame: WithDlpack(frame),
        lambda frame: frame.view(np.uint16),
    ],
)
def test_frames_of_every_kind_are_the_same(kind: object) -> None:
    frame = noise(1.5)
    given = kind(frame if kind is not bytes else frame.tobytes())
    assert encode([given]).data == encode([frame]).data


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"123", "a frame has 92160 bytes in this size and format; got 3"),
        (np.zeros((HEIGHT, WIDTH), np.uint8), r"got 61440 \(shape \[192, 320\], uint8\)"),
        (np.zeros((HEIGHT, WIDTH), np.float32), "must hold bytes .* got float32"),
        ("frame", "must be bytes or another buffer.* got str"),
        (None, "got NoneType"),
    ],
)
def test_a_frame_that_can_not_be(frame: object, message: str) -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True)
    with pytest.raises(ValueError, match=message):
        encoder.Encode(frame)
    assert encoder.Encode(noise(1.5)) + encoder.EndEncode()  # The encoder still works.


@pytest.mark.parametrize(
    ("width", "height", "fmt", "codec", "message"),
    [
        (WIDTH, HEIGHT, "RGB24", "h264", 'format must be one of NV12.*; got "RGB24"'),
        *(
            (WIDTH, HEIGHT, fmt, "h264", f'format must be one of NV12.*; got "{fmt}"')
            for fmt in ("YV12", "ARGB10", "ABGR10", "NV16", "P210")
        ),
        (WIDTH, HEIGHT, None, "h264", "format must be a name"),
        (0, HEIGHT, "NV12", "h264", "width must be a whole number from 1 to 65536; got 0"),
        (WIDTH, "4", "NV12", "h264", "height must be"),
        (321, HEIGHT, "NV12", "h264", "321x192"),
        (32, 32, "NV12", "av1", "from 64x64"),
        (40000, 64, "NV12", "h264", "16384"),
    ],
)
def test_an_encoder_that_can_not_be(
    width: int, height: int, fmt: str, codec: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        nvc.CreateEncoder(width, height, fmt, True, codec=codec)


def test_format_has_two_names() -> None:
    sides = {"width": np.int64(WIDTH), "height": np.int32(HEIGHT)}
    by_fmt = nvc.CreateEncoder(**sides, fmt="NV12", usecpuinputbuffer=True)
    by_format = nvc.CreateEncoder(WIDTH, HEIGHT, format="NV12", cudacontext=0, cudastream=0)
    frame = noise(1.5)
    assert by_fmt.Encode(frame) + by_fmt.EndEncode() == (
        by_format.Encode(frame) + by_format.EndEncode()
    )


@pytest.mark.parametrize("codec", CODECS)
def test_packets_with_pic_params_tell_their_frame(codec: str) -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec=codec, gop=6)
    packets = []
    for i, frame in enumerate(nv12_frames(12)):
        picture = nvc.NV_ENC_PIC_PARAMS()
        picture.inputTimeStamp = 1000 + 7 * i
        packets += encoder.Encode(frame, picture)
    packets += encoder.EndEncode()
    assert sorted(packet["timestamp"] for packet in packets) == [1000 + 7 * i for i in range(12)]
    keys = [p["timestamp"] for p in packets if p["picture_type"] == nvc.NV_ENC_PIC_TYPE.IDR]
    assert keys == [1000, 1042]
    if codec != "av1":
        assert {p["picture_type"] for p in packets} >= {nvc.NV_ENC_PIC_TYPE.B}
    stream = Stream(b"".join(packet["data"] for packet in packets), codec)
    assert len(stream.file.frames) == 12


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_a_key_frame_on_demand(codec: str) -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec=codec, bf=0)
    data = b""
    for i, frame in enumerate(nv12_frames(8)):
        data += encoder.Encode(frame, nvc.NV_ENC_PIC_FLAGS.FORCEIDR if i == 5 else 0)
    data += encoder.EndEncode()
    assert Stream(data, codec).key_frames == [0, 5]


def test_flags_that_mean_nothing_here_are_refused() -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True)
    refused = r"encodePicFlags=NV_ENC_PIC_FLAGS\.OUTPUT_SPSPPS: only FORCEIDR or 0"
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match=refused):
        encoder.Encode(noise(1.5), nvc.NV_ENC_PIC_FLAGS.OUTPUT_SPSPPS)
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="sei: "):
        encoder.Encode(noise(1.5), 0, [{"sei_type": 5}])


@pytest.mark.parametrize("codec", CODECS)
def test_the_stream_starts_with_its_parameter_sets(codec: str) -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec=codec)
    assert encoder.GetSequenceParams()
    data = encoder.Encode(noise(1.5)) + encoder.EndEncode()
    sets = encoder.GetSequenceParams()
    delimiter = b"\x12\x00" if codec == "av1" else b""
    assert sets and data.startswith(delimiter + sets)


@pytest.mark.parametrize("codec", CODECS)
def test_after_the_end_nothing_follows(codec: str) -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec=codec)
    assert encoder.Encode(noise(1.5)) + encoder.EndEncode()
    assert encoder.EndEncode() == b""
    with pytest.raises(nvc.PyNvVCException, match="the encoder has ended"):
        encoder.Encode(noise(1.5))


@pytest.mark.parametrize("codec", CODECS)
def test_an_encoder_without_frames_ends(codec: str) -> None:
    assert nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec=codec).EndEncode() == b""


def test_one_av1_encoder_at_a_time() -> None:
    import tf_nvcodec

    first = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec="av1")
    first.Encode(noise(1.5))
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="another AV1 encoder is open"):
        nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec="av1")
    frames = np.zeros((1, 64, 64, 3), np.uint8)
    with pytest.raises(tf.errors.FailedPreconditionError, match="another AV1 encoder is open"):
        tf_nvcodec.encode_video(frames, codec="av1")
    first.EndEncode()
    assert len(tf_nvcodec.encode_video(frames, codec="av1").numpy())
    second = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec="av1")
    del second  # It got no frame and no call of EndEncode.
    gc.collect()
    third = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, codec="av1")
    assert third.Encode(noise(1.5)) + third.EndEncode()


def test_an_encoder_left_open_does_not_keep_the_process() -> None:
    script = (
        "import numpy as np, tf_nvcodec.compat as nvc\n"
        "kept = [nvc.CreateEncoder(320, 192, 'NV12', True, codec=c) for c in ('h264', 'av1')]\n"
        "for encoder in kept: encoder.Encode(np.zeros(320 * 288, np.uint8))\n"
    )
    printed_by("-c", script)


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_the_process_may_end_while_a_daemon_thread_encodes(codec: str) -> None:
    script = (
        "import threading, numpy as np, tf_nvcodec.compat as nvc\n"
        f"encoder = nvc.CreateEncoder(640, 384, 'NV12', True, codec={codec!r})\n"
        "frame = np.random.default_rng(0).integers(0, 255, 640 * 576, np.uint8)\n"
        "begun = threading.Event()\n"
        "def work():\n"
        "    while True: encoder.Encode(frame); begun.set()\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "begun.wait()\n"
    )
    printed_by("-c", script)


def test_threads_take_turns() -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, bf=0, tuning_info="low_latency")
    frame = noise(1.5)
    packets: list[bytes] = []

    def work() -> None:
        for _ in range(20):
            packets.append(encoder.Encode(frame))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    encoder.EndEncode()
    assert len(packets) == 80 and all(packets)
