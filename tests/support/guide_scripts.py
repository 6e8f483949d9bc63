"""The decoding examples of PyNvVideoCodec's programming guide. Only the import line differs.

Each script takes its files from the command line and prints what it did.
"""

import contextlib
import io
import sys

# This line differs from the guide.
IMPORT = "import tf_nvcodec.compat as nvc\n"

PACKETS = """
import sys
demuxer = nvc.CreateDemuxer(filename=sys.argv[1])
count = size = 0
for packet in demuxer:
    if packet.bsl:
        count += 1
        size += packet.bsl
print(demuxer.GetNvCodecId() == nvc.cudaVideoCodec.H264, demuxer.Width(), demuxer.Height())
print(count, size > 0)
"""

# Writes frames to a file. Like the guide's samples, it reads them by the addresses of their planes.
TO_A_FILE = """
import ctypes, sys
demuxer = nvc.CreateDemuxer(filename=sys.argv[1])
caps = nvc.GetDecoderCaps(
    gpuid=0,
    codec=demuxer.GetNvCodecId(),
    chromaformat=demuxer.ChromaFormat(),
    bitdepth=demuxer.BitDepth(),
)
assert "num_decoder_engines" in caps
decoder = nvc.CreateDecoder(
    gpuid=0, codec=demuxer.GetNvCodecId(), cudacontext=0, cudastream=0, usedevicememory=False
)
with open(sys.argv[2], "wb") as out:
    for packet in demuxer:
        for frame in decoder.Decode(packet):
            memory = (ctypes.c_uint8 * frame.framesize()).from_address(frame.GetPtrToPlane(0))
            out.write(bytearray(memory))
print(decoder.GetWidth(), decoder.GetHeight(), decoder.GetPixelFormat().name)
"""

# Demuxes a file from memory. A class hands out the file in pieces, and the last one is shorter.
FROM_MEMORY = """
import sys

class Feeder:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = bytearray(file.read())
        self.at = 0

    def feed(self, buffer):
        size = min(len(buffer), len(self.data) - self.at)
        if size == 0:
            return 0
        buffer[:] = self.data[self.at : self.at + size]
        self.at += size
        return size

feeder = Feeder(sys.argv[1])
demuxer = nvc.CreateDemuxer(feeder.feed)
decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
print(sum(len(decoder.Decode(packet)) for packet in demuxer))
"""

TWO_STREAMS = """
import sys
first, second = (nvc.CreateDemuxer(filename=name) for name in sys.argv[1:])
decoder = nvc.CreateDecoder(
    codec=first.GetNvCodecId(),
    maxwidth=max(first.Width(), second.Width()),
    maxheight=max(first.Height(), second.Height()),
)
sizes = []
for packet in first:
    sizes += [frame.shape for frame in decoder.Decode(packet)]
decoder.setReconfigParams(second.Width(), second.Height())
for packet in second:
    sizes += [frame.shape for frame in decoder.Decode(packet)]
print(len(sizes), sizes[0], sizes[-1])
"""

LOW_LATENCY = """
import sys
demuxer = nvc.CreateDemuxer(filename=sys.argv[1])
decoder = nvc.CreateDecoder(
    codec=demuxer.GetNvCodecId(), latency=nvc.DisplayDecodeLatencyType.LOW
)
late = 0
for packet in demuxer:
    packet.decode_flag = nvc.VideoPacketFlag.ENDOFPICTURE
    frames = decoder.Decode(packet)
    late += packet.bsl > 0 and len(frames) != 1
print(late)
"""

INTO_TENSORFLOW = """
import sys
import tensorflow as tf
demuxer = nvc.CreateDemuxer(filename=sys.argv[1])
decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
total = 0
for packet in demuxer:
    for frame in decoder.Decode(packet):
        tensor = tf.experimental.dlpack.from_dlpack(frame.__dlpack__())
        total += int(tf.reduce_sum(tf.cast(tensor, tf.int64)))
print(tensor.shape, total)
"""

ANY_FRAME = """
import sys
decoder = nvc.SimpleDecoder(
    sys.argv[1],
    gpu_id=0,
    use_device_memory=False,
    need_scanned_stream_metadata=True,
    output_color_type=nvc.OutputColorType.RGB,
)
metadata = decoder.get_stream_metadata()
step = len(decoder) // 5
frames = decoder.get_batch_frames_by_index(list(range(0, len(decoder), step)))
print(metadata.num_frames, metadata.codec_name, len(frames), frames[0].shape)
print(decoder.get_index_from_time_in_seconds(1.0), len(decoder[0:10]), decoder[3].format.name)
"""

AHEAD = """
import sys
decoder = nvc.ThreadedDecoder(sys.argv[1], 12, gpu_id=0, use_device_memory=False)
count = 0
while True:
    frames = decoder.get_batch_frames(5)
    if len(frames) == 0:
        break
    count += len(frames)
decoder.end()
print(count)
"""


ERRORS = """
import sys
demuxer = nvc.CreateDemuxer(filename=sys.argv[1])
decoder = nvc.CreateDecoder(gpuid=0, codec=demuxer.GetNvCodecId())
try:
    for packet in demuxer:
        for frame in decoder.Decode(packet):
            frame.getPTS()
except nvc.PyNvVCExceptionCuda as e:
    print("CUDA error")
except nvc.PyNvVCExceptionDecode as e:
    print("Decoding error")
except nvc.PyNvVCExceptionUnsupported as e:
    print("Unsupported feature")
"""


def run_here(script: str, *arguments: object) -> list[str]:
    """Runs a script in this process and returns the lines that it prints."""
    said = io.StringIO()
    argv, sys.argv = sys.argv, ["script", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(said):
            exec(compile(IMPORT + script, "script", "exec"), {})
    finally:
        sys.argv = argv
    return said.getvalue().splitlines()
