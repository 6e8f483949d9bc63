"""The encoding examples of PyNvVideoCodec's programming guide. Only the import line differs.

Each script takes files and sizes from the command line and prints what it did. The guide's frames
are in GPU memory. Here TensorFlow makes them, so they are in GPU memory if there is a GPU.
"""

import numpy as np

SIZES = "\nimport sys\nwidth, height = int(sys.argv[1]), int(sys.argv[2])\n"

# Reads a raw file frame by frame and encodes it.
RAW_TO_STREAM = (
    SIZES
    + """
import numpy as np
source, target, codec = sys.argv[3:]
frame_size = width * height * 3 // 2
config = {"preset": "P4", "codec": codec, "gop": 30}
encoder = nvc.CreateEncoder(width, height, "NV12", True, **config)
count = 0
with open(source, "rb") as raw, open(target, "wb") as out:
    while True:
        chunk = np.fromfile(raw, np.uint8, count=frame_size)
        if chunk.size == 0:
            break
        out.write(bytearray(encoder.Encode(chunk)))
        count += 1
    out.write(bytearray(encoder.EndEncode()))
print(count)
"""
)

# Encodes frames [H * 3 / 2, W], once by DLPack and once as TensorFlow's tensors.
TENSORS = (
    SIZES
    + """
import numpy as np
import tensorflow as tf
source, target = sys.argv[3:]
frames = np.fromfile(source, np.uint8).reshape(-1, height * 3 // 2, width)
encoder = nvc.CreateEncoder(width, height, "NV12", False, tuning_info="lossless")
with open(target, "wb") as out:
    for i, frame in enumerate(frames):
        out.write(encoder.Encode(tf.constant(frame) if i % 2 else np.from_dlpack(frame)))
    out.write(encoder.EndEncode())
print(tf.constant(frame).backing_device.rpartition("device:")[2])
"""
)

# Draws a gradient in interleaved RGB and encodes it.
GRADIENT = (
    SIZES
    + """
import tensorflow as tf
x = tf.range(width, dtype=tf.float32)[tf.newaxis] / width
y = tf.range(height, dtype=tf.float32)[:, tf.newaxis] / height
x, y = tf.broadcast_to(x, (height, width)), tf.broadcast_to(y, (height, width))
picture = tf.cast(tf.round(tf.stack([x, y, 1 - x, tf.ones_like(x)], -1) * 255), tf.uint8)
encoder = nvc.CreateEncoder(width, height, "ABGR", False, codec="hevc", colorspace="bt709")
with open(sys.argv[3], "wb") as out:
    out.write(encoder.Encode(picture) + encoder.EndEncode())
print(picture.backing_device.rpartition("device:")[2])
"""
)

# Reads the parameters from a file beside the video.
CONFIGURED = (
    SIZES
    + """
import json
import numpy as np
source, target, config = sys.argv[3:]
with open(config) as file:
    params = json.load(file)
frames = np.fromfile(source, np.uint8).reshape(-1, height * 3 // 2, width)
encoder = nvc.CreateEncoder(width, height, "NV12", True, **params)
packets = [encoder.Encode(frame) for frame in frames]
packets.append(encoder.EndEncode())
with open(target, "wb") as out:
    out.write(b"".join(packets))
print(max(map(len, packets)))
"""
)

# Halves the bitrate after a third of the frames, and restores it after the second third.
RECONFIGURED = (
    SIZES
    + """
import numpy as np
source, bitrate = sys.argv[3], int(sys.argv[4])
frames = np.fromfile(source, np.uint8).reshape(-1, height * 3 // 2, width)
period = len(frames) // 3
config = {"codec": "h264", "rc": "cbr", "bitrate": bitrate, "gop": 1000, "bf": 0}
encoder = nvc.CreateEncoder(width, height, "NV12", True, tuning_info="low_latency", **config)
params = encoder.GetEncodeReconfigureParams()
original = params.averageBitrate
buffer_size = int(original * params.frameRateDen / params.frameRateNum) * 10
sizes = [0, 0, 0]
for i, frame in enumerate(frames):
    if i % period == 0:
        share = 2 if i // period % 2 else 1
        params.averageBitrate = original // share
        params.vbvBufferSize = buffer_size // share
        encoder.Reconfigure(params)
    sizes[i // period] += len(encoder.Encode(frame))
encoder.EndEncode()
print(*sizes)
"""
)

TO_A_CONTAINER = (
    SIZES
    + """
import numpy as np
source, path, codec = sys.argv[3:]
fps, timebase = 30, 90000
frames = np.fromfile(source, np.uint8).reshape(-1, height * 3 // 2, width)
encoder = nvc.CreateEncoder(width, height, "NV12", True, codec=codec, fps=fps, gop=30)
muxer = nvc.FFmpegMuxer(
    file_path=path,
    media_format=nvc.GetMediaFormat(path),
    codec=codec,
    width=width,
    height=height,
    fps_num=fps,
    fps_den=1,
    timebase_num=1,
    timebase_den=timebase,
    extradata=encoder.GetSequenceParams(),
)
muxer.SetUniformPtsIncrement(timebase // fps)
packets = []
for i, frame in enumerate(frames):
    pic_params = nvc.NV_ENC_PIC_PARAMS()
    pic_params.inputTimeStamp = i
    packets += encoder.Encode(frame, pic_params)
packets += encoder.EndEncode()
for packet in packets:
    muxer.MuxVideoPacket(bytes(packet["data"]), packet["picture_type"], packet["timestamp"])
muxer.Finalize()
print(len(packets))
"""
)

# Decodes a video and gives the frames to the encoder. If a GPU decodes, they are in its memory.
AGAIN = """
import sys
import warnings
warnings.simplefilter("ignore", RuntimeWarning)  # where there is no GPU
source, target = sys.argv[1:]
demuxer = nvc.CreateDemuxer(filename=source)
decoder = nvc.CreateDecoder(gpuid=0, codec=demuxer.GetNvCodecId(), usedevicememory=True)
encoder = nvc.CreateEncoder(
    demuxer.Width(), demuxer.Height(), "NV12", False, codec="hevc", tuning_info="lossless"
)
with open(target, "wb") as out:
    for packet in demuxer:
        for frame in decoder.Decode(packet):
            device = frame.__dlpack_device__()
            out.write(encoder.Encode(frame))
    out.write(encoder.EndEncode())
print(*device)
"""

# Reads a file with lines of "start end", and writes one video for each line.
SEGMENTS = """
import sys
source, target, segments = sys.argv[1:]
config = {"codec": "h264", "preset": "P3", "tuning_info": "high_quality", "bf": "3"}
with open(segments) as file:
    for line in file:
        start, end = map(float, line.split())
        transcoder = nvc.Transcoder(source, target, 0, 0, 0, **config)
        print(transcoder.segmented_transcode(start, end))
"""

CONFIGS = {
    # As the samples of PyNvVideoCodec have it: 0 leaves unset.
    "sample": """{
    "gpu_id": 0, "preset": "P3", "tuning_info": "high_quality", "rc": "vbr", "fps": 30, "gop": 250,
    "bf": 3, "bitrate": "10M", "maxbitrate": 0, "vbvinit": 0, "vbvbufsize": 0, "qmin": "0,0,0",
    "qmax": "0,0,0", "initqp": "0,0,0"
}""",
    "vbr": """{
    "codec": "hevc", "gpu_id": 0, "preset": "P4", "tuning_info": "high_quality", "rc": "vbr",
    "gop": 30, "fps": 30, "bitrate": 1000000, "maxbitrate": 1000000, "vbvbufsize": 1000000
}""",
    "cbr": """{
    "codec": "h264", "preset": "P3", "tuning_info": "low_latency", "rc": "cbr", "fps": 30,
    "gop": 30, "bf": 0, "multipass": "fullres", "bitrate": 3000000, "maxbitrate": 3000000,
    "vbvbufsize": 100000
}""",
    "constqp": """{
    "codec": "h264", "preset": "P1", "tuning_info": "ultra_low_latency", "rc": "constqp",
    "constqp": "28,31,25", "gop": "15", "repeatspspps": "1", "slice": {"mode": 3, "data": 2},
    "timinginfo": {"num_unit_in_ticks": 1, "timescale": 60}
}""",
}


def luma_of_gradient(width: int, height: int) -> np.ndarray:
    """Returns the luma [H, W] of what GRADIENT draws, by BT.709's formula."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    red, green, blue = x / width, y / height, 1 - x / width
    return 16 + 219 * (0.2126 * red + 0.7152 * green + 0.0722 * blue)
