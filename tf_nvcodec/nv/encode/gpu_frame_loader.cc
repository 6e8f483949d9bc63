#include "tf_nvcodec/nv/encode/gpu_frame_loader.h"

#include <utility>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/encode/gpu_to_planes.h"

namespace nvc {
namespace {

// Null for frames whose bytes the stream's frames are.
absl::StatusOr<std::unique_ptr<GpuToPlanes>> NewConverter(GpuDevice* gpu, const FrameBatch& frames,
                                                          const StreamSpec& stream) {
  if (RawVideoFormat(frames.pixel_format) == stream.encoder_format) return nullptr;
  // As on the host, integers for bytes.
  if (Channels(frames.pixel_format) == 3 && frames.sample_type == SampleType::kUint8) {
    return GpuRgbConverter::Create(gpu, stream, {3, frames.pixel_format == PixelFormat::kBgr});
  }
  return GpuPlanesConverter::Create(gpu, frames, stream);
}

}  // namespace

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
  // An error may have left work that reads the caller's frames.
  if (input_ != nullptr) input_->Finish().IgnoreError();
}

absl::StatusOr<AvFramePtr> GpuFrameLoader::Load(int64_t index) {
  NVC_ASSIGN_OR_RETURN(AvFramePtr frame, pool_->Take());
  SetTags(stream_, frame.get());
  const auto data = reinterpret_cast<CUdeviceptr>(frames_.Frame(index));
  const GpuRows rows[] = {{data, frames_.frame_bytes, 1, frames_.frame_bytes}};
  // Both return when the frame is written: NVENC reads it on a stream of libavcodec's.
  if (converter_ == nullptr) {
    NVC_RETURN_IF_ERROR(input_->CopyTo(frame.get(), rows));
    return frame;
  }
  NVC_RETURN_IF_ERROR(input_->ConvertTo(frame.get(), rows, *converter_));
  if (converter_->found_out_of_range()) return FloatsOutOfRange(index);
  return frame;
}

}  // namespace nvc
