#include "tf_nvcodec/nv/convert/gpu_frame_converter.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/convert/gpu_conversion.h"
#include "tf_nvcodec/nv/convert/gpu_deinterlace.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"
#include "tf_nvcodec/nv/kernels/frame_kernel_plan.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

// Of a block of threads: wide enough for whole lines of memory; high enough that rotated pictures
// are read in whole lines too, but lower where there would be too few blocks for all of the GPU.
constexpr unsigned kBlockWidth = 32, kBlockHeight = 8, kSmallBlockHeight = 2;
constexpr int64_t kFewThreads = 132 * 2048 / 2;

unsigned Blocks(int size, unsigned block) {
  return (static_cast<unsigned>(size) + block - 1) / block;
}

class GpuFrameConverter : public FrameConverter {
 public:
  GpuFrameConverter(GpuDevice* device, CUstream stream, const SourceSpec& source,
                    std::shared_ptr<const GpuConversion> conversion)
      : FrameConverter(source, conversion->plan.shape),
        device_(device),
        stream_(stream),
        conversion_(std::move(conversion)) {}

  absl::Status Convert(const AVFrame& frame, void* out) override {
    const GpuPicture* picture = GpuPictureOf(frame);
    NVC_RETURN_IF_ERROR(CheckPicture(frame, picture));
    const ScopedContext context(*device_);
    NVC_RETURN_IF_ERROR(context.status());
    if (picture->ready != nullptr) {
      NVC_RETURN_IF_ERROR(
          device_->Check(device_->cuda().cuStreamWaitEvent(stream_, picture->ready, 0),
                         "waiting for a decoded picture"));
    }
    absl::Status status = Launch(*picture, out);
    // Also after a failure: what was launched before it reads the picture.
    status.Update(picture->UsedOn(stream_));
    return status;
  }

 private:
  absl::Status CheckPicture(const AVFrame& frame, const GpuPicture* picture) const {
    if (picture == nullptr) {
      return absl::InvalidArgumentError("a frame in host memory was given to a GPU's converter");
    }
    if (picture->device != device_) {
      return absl::InvalidArgumentError(
          absl::StrCat("a picture on GPU ", picture->device->ordinal(),
                       " was given to a converter on GPU ", device_->ordinal()));
    }
    if (frame.width != source().width || frame.height != source().height ||
        picture->stream_format != source().format) {
      return absl::InvalidArgumentError(
          absl::StrCat("a ", frame.width, "x", frame.height, " ", Name(picture->stream_format),
                       " picture was given to a converter made for ", source().width, "x",
                       source().height, " ", Name(source().format)));
    }
    if (picture->layout != GpuLayoutOf(source().format)) {
      return absl::InternalError(absl::StrCat("a ", Name(picture->stream_format),
                                              " picture is laid out as ", Name(picture->layout)));
    }
    return absl::OkStatus();
  }

  absl::Status Launch(const GpuPicture& picture, void* out) const {
    PlaneAddresses addresses;
    for (int i = 0; i < 3; ++i) addresses.planes[i] = picture.planes[i];
    addresses.pitch = picture.pitch;
    const std::vector<FrameKernelJob>& jobs = conversion_->plan.jobs;
    for (size_t i = 0; i < jobs.size(); ++i) {
      FrameKernelParams params =
          jobs[i].At(addresses, conversion_->tables.get(), reinterpret_cast<uint64_t>(out));
      void* arguments[] = {&params};
      const int threads = jobs[i].ThreadsAcross();
      const bool few = int64_t{threads} * params.height < kFewThreads;
      const unsigned block_height = few ? kSmallBlockHeight : kBlockHeight;
      NVC_RETURN_IF_ERROR(device_->Check(
          device_->cuda().cuLaunchKernel(conversion_->kernels[i], Blocks(threads, kBlockWidth),
                                         Blocks(params.height, block_height), 1, kBlockWidth,
                                         block_height, 1, 0, stream_, arguments, nullptr),
          "starting the colour kernel"));
    }
    return absl::OkStatus();
  }

  static absl::string_view Name(AVPixelFormat format) {
    const char* name = av_get_pix_fmt_name(format);
    return name != nullptr ? name : "unknown";
  }

  GpuDevice* device_;
  CUstream stream_;
  std::shared_ptr<const GpuConversion> conversion_;
};

}  // namespace

SourceSpec GpuSourceSpec(const AVFrame& frame, int rotation) {
  SourceSpec source = SourceSpec::Of(frame, rotation);
  const GpuPicture* picture = GpuPictureOf(frame);
  source.format = picture != nullptr ? picture->stream_format : AV_PIX_FMT_NONE;
  return source;
}

absl::StatusOr<std::unique_ptr<FrameConverter>> NewGpuFrameConverter(GpuDevice* device,
                                                                     CUstream stream,
                                                                     const OutputSpec& output,
                                                                     const SourceSpec& source) {
  NVC_ASSIGN_OR_RETURN(std::shared_ptr<const GpuConversion> conversion,
                       GetGpuConversion(device, stream, output, source));
  auto converter =
      std::make_unique<GpuFrameConverter>(device, stream, source, std::move(conversion));
  if (output.deinterlace == Deinterlace::kNone) return converter;
  return NewGpuBobConverter(device, stream, std::move(converter));
}

}  // namespace nvc
