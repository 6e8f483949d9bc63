"""The guide's scripts that need pycuda or PyTorch. Only the import line differs.

A script prints what it did. Frames go to a file in their planes' order, without padding.
"""

# Defines save(views, out): copies planes on a GPU, whose rows may have a pitch, into a file.
SAVE = """
import sys
import numpy as np
import pycuda.driver as cuda

def save(views, out):
    for view in views:
        sample = np.dtype(view.__cuda_array_interface__["typestr"])
        plane = np.empty(view.shape, sample)
        copy = cuda.Memcpy2D()
        copy.set_src_device(view.dataptr)
        copy.src_pitch = view.stride[0] * sample.itemsize
        copy.set_dst_host(plane)
        copy.dst_pitch = copy.width_in_bytes = plane[0].nbytes
        copy.height = len(plane)
        copy(aligned=True)
        out.write(plane.tobytes())
"""

# Continues the block in which nv_dmx and nv_dec are made.
LOOP = """
    count = 0
    with open(sys.argv[2], "wb") as out:
        for packet in nv_dmx:
            for frame in nv_dec.Decode(packet):
                save(frame.cuda(), out)
                count += 1
    print(count, frame.shape())
    del frame, nv_dec, cuda_stream
"""

# Decodes in the GPU's primary context, on a stream of pycuda's.
PRIMARY_CONTEXT = (
    SAVE
    + """cuda.init()
cuda_ctx = cuda.Device(0).retain_primary_context()
cuda_ctx.push()
try:
    cuda_stream = cuda.Stream()
    nv_dmx = nvc.CreateDemuxer(filename=sys.argv[1])
    nv_dec = nvc.CreateDecoder(
        gpuid=0,
        codec=nv_dmx.GetNvCodecId(),
        cudacontext=cuda_ctx.handle,
        cudastream=cuda_stream.handle,
        usedevicememory=True,
        latency=nvc.DisplayDecodeLatencyType.NATIVE,
    )
"""
    + LOOP
    + """finally:
    cuda_ctx.pop()
"""
)

# Decodes in a context of the script's own. The decoder and its frames go before the context.
OWN_CONTEXT = (
    SAVE
    + """cuda.init()
cuda_ctx = cuda.Device(0).make_context()
try:
    cuda_stream = cuda.Stream()
    nv_dmx = nvc.CreateDemuxer(filename=sys.argv[1])
    nv_dec = nvc.CreateDecoder(
        0, nv_dmx.GetNvCodecId(), cuda_ctx.handle, cuda_stream.handle, True
    )
"""
    + LOOP
    + """finally:
    cuda_ctx.pop()
    cuda_ctx.detach()
"""
)

# Encodes frames that lie in pycuda's memory. A class shows their planes.
PYCUDA_FRAMES = """
import sys
import numpy as np
import pycuda.driver as cuda
width, height, source, target = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]

class AppCAI:
    def __init__(self, shape, strides, typestr, memory):
        self.__cuda_array_interface__ = {
            "shape": shape,
            "strides": strides,
            "data": (int(memory), False),
            "typestr": typestr,
            "version": 3,
        }

class AppFrame:
    def __init__(self, width, height):
        self.frameSize = int(width * height * 3 / 2)
        self.gpuAlloc = cuda.mem_alloc(self.frameSize)
        chroma = int(self.gpuAlloc) + width * height
        half = (int(height / 2), int(width / 2), 2)
        self.cai = [
            AppCAI((height, width, 1), (width, 1, 1), "|u1", self.gpuAlloc),
            AppCAI(half, (width, 2, 1), "|u1", chroma),
        ]

    def cuda(self):
        return self.cai

cuda.init()
cuda_ctx = cuda.Device(0).retain_primary_context()
cuda_ctx.push()
try:
    encoder = nvc.CreateEncoder(width, height, "NV12", False, tuning_info="lossless")
    input_frame = AppFrame(width, height)
    count = 0
    with open(source, "rb") as raw, open(target, "wb") as out:
        while True:
            chunk = np.fromfile(raw, np.uint8, count=input_frame.frameSize)
            if chunk.size == 0:
                break
            cuda.memcpy_htod(input_frame.gpuAlloc, chunk)
            out.write(bytearray(encoder.Encode(input_frame)))
            count += 1
        out.write(bytearray(encoder.EndEncode()))
    print(count)
    input_frame.gpuAlloc.free()
finally:
    cuda_ctx.pop()
"""

# Turns frames into PyTorch's tensors without a copy, stacks them, and encodes the tensors: every
# second one as [1, 1, H * 3 / 2, W].
TORCH = """
import sys
import warnings
import torch
warnings.simplefilter("ignore", RuntimeWarning)  # where there is no GPU
source, target = sys.argv[1:]
decoder = nvc.SimpleDecoder(source, use_device_memory=True)
frames = decoder.get_batch_frames(len(decoder))
tensors = [torch.from_dlpack(frame) for frame in frames]
shared = all(t.data_ptr() == f.GetPtrToPlane(0) for t, f in zip(tensors, frames))
del frames
batch = torch.stack(tensors)
rows, width = tensors[0].shape
encoder = nvc.CreateEncoder(
    width, rows * 2 // 3, "NV12", not batch.is_cuda, tuning_info="lossless"
)
with open(target, "wb") as out:
    for i, tensor in enumerate(tensors):
        out.write(encoder.Encode(tensor if i % 2 else tensor.reshape(1, 1, rows, width)))
    out.write(encoder.EndEncode())
print(shared, batch.device.type, tuple(batch.shape), int(batch.sum(dtype=torch.int64)))
"""

# Decodes on PyTorch's current stream, and changes the tensor there before the encoder reads it.
TORCH_STREAM = """
import sys
import torch
source, target = sys.argv[1:]
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    demuxer = nvc.CreateDemuxer(filename=source)
    decoder = nvc.CreateDecoder(
        gpuid=0,
        codec=demuxer.GetNvCodecId(),
        cudastream=torch.cuda.current_stream().cuda_stream,
        usedevicememory=True,
    )
    encoder = nvc.CreateEncoder(
        demuxer.Width(),
        demuxer.Height(),
        "NV12",
        False,
        cudastream=stream.cuda_stream,
        tuning_info="lossless",
    )
    with open(target, "wb") as out:
        for packet in demuxer:
            for frame in decoder.Decode(packet):
                out.write(encoder.Encode(255 - torch.from_dlpack(frame)))
        out.write(encoder.EndEncode())
print(frame.__dlpack_device__() == (2, 0))
"""
