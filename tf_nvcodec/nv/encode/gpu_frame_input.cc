#include "tf_nvcodec/nv/encode/gpu_frame_input.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/cuda/gpu_copy.h"
#include "tf_nvcodec/nv/cuda/stream_order.h"
#include "tf_nvcodec/nv/encode/gpu_to_planes.h"

extern "C" {
#include <libavutil/common.h>
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

// Values of CUpointer_attribute, which the headers leave out.
constexpr int kMemoryType = 2, kDeviceOrdinal = 9;

// Returns the ordinal of the GPU that owns the memory.
absl::StatusOr<int> OrdinalOf(const CudaDriver& cuda, CUdeviceptr memory) {
  unsigned int type = 0;
  int ordinal = -1;
  CUresult result = cuda.cuPointerGetAttribute(&type, kMemoryType, memory);
  if (result == CUDA_SUCCESS) {
    result = cuda.cuPointerGetAttribute(&ordinal, kDeviceOrdinal, memory);
  }
  NVC_RETURN_IF_ERROR(cuda.Check(result, "cuPointerGetAttribute"));
  if (type != CU_MEMORYTYPE_DEVICE) return absl::InvalidArgumentError("it is host memory");
  return ordinal;
}

size_t BytesOf(absl::Span<const GpuRows> rows) {
  size_t bytes = 0;
  for (const GpuRows& part : rows) bytes += part.row_bytes * part.rows;
  return bytes;
}

// Returns whether the rows follow each other in memory without a gap.
bool ArePacked(absl::Span<const GpuRows> rows) {
  CUdeviceptr next = rows[0].data;
  for (const GpuRows& part : rows) {
    if (part.data != next || (part.rows > 1 && part.pitch != part.row_bytes)) return false;
    next += part.row_bytes * part.rows;
  }
  return true;
}

// Describes a copy of rows from GPU memory to GPU memory. Pitches are in bytes.
CUDA_MEMCPY2D OnDevice(CUdeviceptr to, size_t to_pitch, CUdeviceptr from, size_t from_pitch,
                       size_t row_bytes, size_t rows) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.srcPitch = from_pitch;
  copy.dstDevice = to;
  copy.dstPitch = to_pitch;
  copy.WidthInBytes = row_bytes;
  copy.Height = rows;
  return copy;
}

// Returns null if the stream's frames have the same bytes as `frames`.
absl::StatusOr<std::unique_ptr<GpuToPlanes>> NewConverter(GpuDevice* gpu, const FrameBatch& frames,
                                                          const StreamSpec& stream) {
  if (RawVideoFormat(frames.pixel_format) == stream.encoder_format) return nullptr;
  // The host converts bytes with integers too, so the results are equal.
  if (Channels(frames.pixel_format) == 3 && frames.sample_type == SampleType::kUint8) {
    return GpuRgbConverter::Create(gpu, stream, {3, frames.pixel_format == PixelFormat::kBgr});
  }
  return GpuPlanesConverter::Create(gpu, frames, stream);
}

}  // namespace

absl::StatusOr<GpuDevice*> GpuOfMemory(CUdeviceptr memory) {
  NVC_ASSIGN_OR_RETURN(const CudaDriver* const cuda, GetCudaDriver());
  absl::StatusOr<int> ordinal = OrdinalOf(*cuda, memory);
  if (!ordinal.ok()) {
    // Some drivers answer only if a context is current.
    NVC_ASSIGN_OR_RETURN(GpuDevice* const first, GpuDevice::GetFirst());
    const ScopedContext current(*first);
    NVC_RETURN_IF_ERROR(current.status());
    ordinal = OrdinalOf(*cuda, memory);
  }
  if (ordinal.ok()) return GpuDevice::Get(*ordinal);
  return absl::InvalidArgumentError(absl::StrCat(
      "address 0x", absl::Hex(memory), " is of no GPU's memory: ", ordinal.status().message()));
}

absl::StatusOr<std::unique_ptr<GpuFrameInput>> GpuFrameInput::Create(GpuDevice* device) {
  NVC_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Create(device));
  return std::unique_ptr<GpuFrameInput>(new GpuFrameInput(device, std::move(stream)));
}

absl::Status GpuFrameInput::WaitFor(CUstream producer) {
  return OrderStreams(device_, producer, stream_.get());
}

absl::Status GpuFrameInput::Queue(const CUDA_MEMCPY2D& copy) const {
  const ScopedContext current(*device_);
  NVC_RETURN_IF_ERROR(current.status());
  return device_->Check(device_->cuda().cuMemcpy2DAsync(&copy, stream_.get()), "copying a frame");
}

absl::StatusOr<CUdeviceptr> GpuFrameInput::Pack(absl::Span<const GpuRows> rows, size_t bytes) {
  const size_t given = BytesOf(rows);
  if (rows.empty() || given != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame has ", bytes, " bytes in this size and format; got ", given));
  }
  if (ArePacked(rows)) return rows[0].data;
  if (packed_.bytes() < bytes) {
    NVC_ASSIGN_OR_RETURN(packed_, DeviceMemory::Allocate(device_, bytes));
  }
  CUdeviceptr to = packed_.get();
  for (const GpuRows& part : rows) {
    NVC_RETURN_IF_ERROR(
        Queue(OnDevice(to, part.row_bytes, part.data, part.pitch, part.row_bytes, part.rows)));
    to += part.row_bytes * part.rows;
  }
  return packed_.get();
}

absl::Status GpuFrameInput::CopyTo(void* host, absl::Span<const GpuRows> rows, size_t bytes) {
  NVC_ASSIGN_OR_RETURN(const CUdeviceptr packed, Pack(rows, bytes));
  return CopyToHost(device_, stream_.get(), host, packed, bytes);
}

absl::Status GpuFrameInput::CopyTo(AVFrame* frame, absl::Span<const GpuRows> rows) {
  const auto& pool = *reinterpret_cast<const AVHWFramesContext*>(frame->hw_frames_ctx->data);
  const int bytes = av_image_get_buffer_size(pool.sw_format, frame->width, frame->height, 1);
  if (bytes < 0) return FfmpegError(bytes, "sizing a frame");
  NVC_ASSIGN_OR_RETURN(const CUdeviceptr packed, Pack(rows, static_cast<size_t>(bytes)));
  int row_bytes[4];
  const int filled = av_image_fill_linesizes(row_bytes, pool.sw_format, frame->width);
  if (filled < 0) return FfmpegError(filled, "laying out a frame");
  size_t offset = 0;
  const AVPixFmtDescriptor& format = *av_pix_fmt_desc_get(pool.sw_format);
  for (int plane = 0; plane < av_pix_fmt_count_planes(pool.sw_format); ++plane) {
    const auto width = static_cast<size_t>(row_bytes[plane]);
    const int shift = plane == 0 ? 0 : format.log2_chroma_h;
    const auto height = static_cast<size_t>(AV_CEIL_RSHIFT(frame->height, shift));
    NVC_RETURN_IF_ERROR(Queue(OnDevice(reinterpret_cast<CUdeviceptr>(frame->data[plane]),
                                       static_cast<size_t>(frame->linesize[plane]), packed + offset,
                                       width, width, height)));
    offset += width * height;
  }
  return stream_.Synchronize();
}

absl::Status GpuFrameInput::ConvertTo(AVFrame* frame, absl::Span<const GpuRows> rows,
                                      const GpuToPlanes& converter) {
  NVC_ASSIGN_OR_RETURN(const CUdeviceptr packed, Pack(rows, converter.frame_bytes()));
  NVC_RETURN_IF_ERROR(converter.Convert(stream_.get(), packed, frame));
  return stream_.Synchronize();
}

absl::StatusOr<std::unique_ptr<FrameSource>> GpuFrameLoader::Create(GpuDevice* gpu,
                                                                    AVBufferRef* device,
                                                                    CUstream producer,
                                                                    const FrameBatch& frames,
                                                                    const StreamSpec& stream) {
  NVC_RETURN_IF_ERROR(frames.Validate());
  std::unique_ptr<GpuFrameLoader> loader(new GpuFrameLoader(frames, stream));
  NVC_ASSIGN_OR_RETURN(loader->converter_, NewConverter(gpu, frames, stream));
  NVC_ASSIGN_OR_RETURN(loader->pool_, GpuFramePool::Create(device, stream.encoder_format,
                                                           stream.width, stream.height));
  NVC_ASSIGN_OR_RETURN(loader->input_, GpuFrameInput::Create(gpu));
  NVC_RETURN_IF_ERROR(loader->input_->WaitFor(producer));
  return std::unique_ptr<FrameSource>(std::move(loader));
}

GpuFrameLoader::~GpuFrameLoader() {
  // An error may have left work that still reads the caller's frames.
  if (input_ != nullptr) input_->Finish().IgnoreError();
}

absl::StatusOr<AvFramePtr> GpuFrameLoader::Load(int64_t index) {
  NVC_ASSIGN_OR_RETURN(AvFramePtr frame, pool_->Take());
  SetTags(stream_, frame.get());
  const auto data = reinterpret_cast<CUdeviceptr>(frames_.Frame(index));
  const GpuRows rows[] = {{data, frames_.frame_bytes, 1, frames_.frame_bytes}};
  // Both calls return when the frame is written, because NVENC reads it on a stream of
  // libavcodec's.
  if (converter_ == nullptr) {
    NVC_RETURN_IF_ERROR(input_->CopyTo(frame.get(), rows));
    return frame;
  }
  NVC_RETURN_IF_ERROR(input_->ConvertTo(frame.get(), rows, *converter_));
  if (converter_->found_out_of_range()) return FloatsOutOfRange(index);
  return frame;
}

}  // namespace nvc
