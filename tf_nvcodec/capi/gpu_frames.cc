#include "tf_nvcodec/capi/gpu_frames.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/dlpack_abi.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/convert/gpu_frame_converter.h"
#include "tf_nvcodec/nv/convert/gpu_surface.h"
#include "tf_nvcodec/nv/cuda/gpu_copy.h"
#include "tf_nvcodec/nv/decode/nvdec_decoder.h"
#include "tf_nvcodec/nv/decode/nvdec_pool.h"

namespace nvc {
namespace {

absl::StatusOr<GpuDevice*> FindNvdec(int gpu) {
  NVC_ASSIGN_OR_RETURN(GpuDevice* const device, GpuDevice::Get(gpu));
  NVC_RETURN_IF_ERROR(NvdecPool::Of(device).status());
  return device;
}

class DeviceFrameMemory : public FrameMemory {
 public:
  DeviceFrameMemory(std::shared_ptr<DeviceMemoryPool> pool, DeviceMemory memory, bool is_shown)
      : pool_(std::move(pool)), memory_(std::move(memory)), is_shown_(is_shown) {}
  ~DeviceFrameMemory() override { pool_->Give(std::move(memory_), is_shown_); }

  void* data() const override { return reinterpret_cast<void*>(memory_.get()); }
  int device_type() const override { return dlpack::kCuda; }
  int device_id() const override { return memory_.device()->ordinal(); }
  CUdeviceptr pointer() const { return memory_.get(); }

 private:
  const std::shared_ptr<DeviceMemoryPool> pool_;
  DeviceMemory memory_;
  const bool is_shown_;  // whether code outside this file sees the address
};

class GpuFrameMaker : public FrameMaker {
 public:
  GpuFrameMaker(const GpuChoice& gpu, SurfaceColor color, BorrowedStream stream)
      : gpu_(gpu),
        color_(color),
        host_(MakeHostFrames(color)),
        stream_(std::move(stream)),
        pool_(std::make_shared<DeviceMemoryPool>(gpu.device)) {}

  absl::StatusOr<std::unique_ptr<nvc_frame>> Make(const AVFrame& frame) override {
    const GpuPicture* picture = GpuPictureOf(frame);
    if (picture == nullptr) return MakeOfHost(frame);
    auto made = std::make_unique<nvc_frame>();
    NVC_ASSIGN_OR_RETURN(made->layout,
                         SurfaceLayout::Of(picture->layout, color_, frame.width, frame.height));
    const size_t bytes = made->layout.bytes;
    NVC_ASSIGN_OR_RETURN(const auto on_device, Allocate(bytes));
    made->pts = TimestampOf(frame);
    NVC_RETURN_IF_ERROR(Fill(frame, *picture, made->layout, on_device->pointer()));
    if (gpu_.frames_stay) {
      NVC_RETURN_IF_ERROR(stream_.Synchronize());
      made->memory = on_device;
      return made;
    }
    NVC_ASSIGN_OR_RETURN(made->memory, AllocateHostFrame(bytes));
    NVC_RETURN_IF_ERROR(
        CopyToHost(gpu_.device, stream_.get(), made->memory->data(), on_device->pointer(), bytes));
    return made;
  }

 private:
  // Makes a frame of a picture that FFmpeg decoded because the GPU could not.
  absl::StatusOr<std::unique_ptr<nvc_frame>> MakeOfHost(const AVFrame& frame) {
    NVC_ASSIGN_OR_RETURN(std::unique_ptr<nvc_frame> made, host_->Make(frame));
    if (!gpu_.frames_stay) return made;
    const size_t bytes = made->layout.bytes;
    NVC_ASSIGN_OR_RETURN(const auto on_device, Allocate(bytes));
    NVC_RETURN_IF_ERROR(CopyToDevice(gpu_.device, stream_.get(), on_device->pointer(),
                                     made->memory->data(), bytes));
    NVC_RETURN_IF_ERROR(stream_.Synchronize());
    made->memory = on_device;
    return made;
  }

  absl::StatusOr<std::shared_ptr<DeviceFrameMemory>> Allocate(size_t bytes) {
    NVC_ASSIGN_OR_RETURN(DeviceMemory memory, pool_->Take(bytes));
    return std::make_shared<DeviceFrameMemory>(pool_, std::move(memory), gpu_.frames_stay);
  }

  absl::Status Fill(const AVFrame& frame, const GpuPicture& picture, const SurfaceLayout& layout,
                    CUdeviceptr to) {
    if (color_ == SurfaceColor::kNative) return CopyPicture(picture, layout, to, stream_.get());
    const SourceSpec source = GpuSourceSpec(frame);
    if (converter_ == nullptr || !(converter_->source() == source)) {
      OutputSpec output;
      if (color_ == SurfaceColor::kRgbPlanar) output.layout = Layout::kTchw;
      NVC_ASSIGN_OR_RETURN(converter_,
                           NewGpuFrameConverter(gpu_.device, stream_.get(), output, source));
    }
    return converter_->Convert(frame, reinterpret_cast<void*>(to));
  }

  const GpuChoice gpu_;
  const SurfaceColor color_;
  const std::unique_ptr<FrameMaker> host_;
  const BorrowedStream stream_;
  const std::shared_ptr<DeviceMemoryPool> pool_;
  std::unique_ptr<FrameConverter> converter_;  // for pictures like the last one
};

}  // namespace

absl::StatusOr<GpuChoice> ChooseGpu(const nvc_decoder_options& options) {
  GpuChoice choice;
  if (options.backend == kBackendFfmpeg) return choice;
  const int gpu = options.gpu;
  const absl::StatusOr<GpuDevice*> found = FindNvdec(gpu);
  if (!found.ok()) {
    if (options.device_memory == 0 && options.backend == kBackendAuto) return choice;
    return absl::Status(found.status().code(),
                        absl::StrCat("GPU ", gpu, " can't decode: ", found.status().message(),
                                     "; without usedevicememory=True and backend=\"nvdec\" FFmpeg "
                                     "decodes, to host memory"));
  }
  choice.device = *found;
  choice.frames_stay = options.device_memory != 0;
  choice.stream = options.cuda_stream;
  if (options.cuda_context != 0) {
    NVC_ASSIGN_OR_RETURN(
        choice.device, choice.device->InContext(reinterpret_cast<CUcontext>(options.cuda_context)));
  }
  NVC_RETURN_IF_ERROR(BorrowedStream::Check(choice.device, choice.stream));
  return choice;
}

absl::StatusOr<std::unique_ptr<Decoder>> OpenGpuDecoder(const GpuChoice& gpu,
                                                        const AVCodecParameters& codec,
                                                        AVRational time_base,
                                                        const DecoderOptions& options) {
  return OpenNvdecDecoder(gpu.device, codec, time_base, options);
}

absl::StatusOr<std::unique_ptr<FrameMaker>> MakeFrames(const GpuChoice& gpu, SurfaceColor color) {
  if (gpu.device == nullptr) return MakeHostFrames(color);
  NVC_ASSIGN_OR_RETURN(BorrowedStream stream, BorrowedStream::Create(gpu.device, gpu.stream));
  return std::make_unique<GpuFrameMaker>(gpu, color, std::move(stream));
}

}  // namespace nvc
