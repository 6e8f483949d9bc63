#include "tf_nvcodec/nv/convert/gpu_frame_converter.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/pool.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"
#include "tf_nvcodec/nv/cuda/nvrtc.h"
#include "tf_nvcodec/nv/kernels/frame_kernel_plan.h"
#include "tf_nvcodec/nv/kernels/kernel_sources.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

// Number of conversions to keep. The tables of each take about 10 KB.
constexpr size_t kKept = 256;

using Conversion = std::shared_ptr<const GpuConversion>;

template <typename Enum>
int Number(Enum value) {
  return static_cast<int>(value);
}

uint32_t Bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// Returns a key made of every field that a plan may depend on.
std::string KeyOf(GpuDevice* device, const OutputSpec& o, const SourceSpec& s) {
  std::string key = absl::StrCat(reinterpret_cast<uintptr_t>(device), ";", Number(o.pixel_format),
                                 ",", Number(o.sample_type), ",", Number(o.layout), ",", o.height,
                                 ",", o.width, ",", Number(o.resize_method), ",",
                                 Number(o.chroma_upsampling), ",", Number(o.apply_rotation),
                                 Number(o.flip));
  if (o.crop.has_value()) {
    absl::StrAppend(&key, ";crop", o.crop->top, ",", o.crop->left, ",", o.crop->height, ",",
                    o.crop->width);
  }
  if (o.color_space.has_value()) absl::StrAppend(&key, ";space", Number(*o.color_space));
  if (o.color_range.has_value()) absl::StrAppend(&key, ";range", Number(*o.color_range));
  for (int c = 0; c < 3; ++c) {
    absl::StrAppend(&key, ";", absl::Hex(Bits(o.mean[c])), ",", absl::Hex(Bits(o.std_dev[c])));
  }
  absl::StrAppend(&key, ";", s.width, "x", s.height, ",", Number(s.format), ",",
                  Number(s.color_space), ",", Number(s.color_range), ",", Number(s.chroma_location),
                  ",", s.orientation.turned, s.orientation.flip_x, s.orientation.flip_y);
  return key;
}

struct KnownConversion {
  std::string key;
  Conversion conversion;
};

Pool<KnownConversion>& KnownConversions() {
  static auto* const known = new Pool<KnownConversion>(SIZE_MAX, kKept);
  return *known;
}

absl::StatusOr<Conversion> Make(GpuDevice* device, CUstream stream, const OutputSpec& output,
                                const SourceSpec& source) {
  auto made = std::make_shared<GpuConversion>();
  NVC_ASSIGN_OR_RETURN(made->plan, MakeFrameKernelPlan(output, source));
  for (const FrameKernelJob& job : made->plan.jobs) {
    NVC_ASSIGN_OR_RETURN(CUfunction kernel, GetKernel(device, FrameKernelSource(), kFrameKernel,
                                                      KernelMacros(job.config)));
    made->kernels.push_back(kernel);
  }
  const std::vector<uint8_t>& tables = made->plan.tables;
  if (tables.empty()) return made;
  NVC_ASSIGN_OR_RETURN(made->tables, DeviceMemory::Allocate(device, tables.size()));
  NVC_ASSIGN_OR_RETURN(made->uploaded, CudaEvent::Create(device));
  // The source is pageable memory, so the driver has read the bytes when this call returns.
  NVC_RETURN_IF_ERROR(device->Check(
      device->cuda().cuMemcpyHtoDAsync(made->tables.get(), tables.data(), tables.size(), stream),
      "copying the colour kernel's tables to the GPU"));
  NVC_RETURN_IF_ERROR(made->uploaded.Record(stream));
  return made;
}

}  // namespace

absl::StatusOr<Conversion> GetGpuConversion(GpuDevice* device, CUstream stream,
                                            const OutputSpec& output, const SourceSpec& source) {
  const ScopedContext context(*device);
  NVC_RETURN_IF_ERROR(context.status());
  const std::string key = KeyOf(device, output, source);
  const auto known =
      KnownConversions().Share([&](const KnownConversion& each) { return each.key == key; });
  if (known.has_value()) {
    const CUevent uploaded = known->conversion->uploaded.get();
    if (uploaded != nullptr) {
      NVC_RETURN_IF_ERROR(device->Check(device->cuda().cuStreamWaitEvent(stream, uploaded, 0),
                                        "waiting for the colour kernel's tables"));
    }
    return known->conversion;
  }
  NVC_ASSIGN_OR_RETURN(Conversion made, Make(device, stream, output, source));
  KnownConversions().Give({key, made});
  return made;
}

namespace {

// The size of a block of threads. Its width covers whole lines of memory. Its height lets the
// kernel read turned pictures in whole lines too; a small frame gets lower blocks, so that there
// are enough of them for the whole GPU.
constexpr unsigned kBlockWidth = 32, kBlockHeight = 8, kSmallBlockHeight = 2;
constexpr int64_t kFewThreads = 132 * 2048 / 2;

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
    // After a failure too: kernels launched before it still read the picture.
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

SourceSpec GpuSourceSpec(const AVFrame& frame, Orientation orientation) {
  SourceSpec source = SourceSpec::Of(frame, orientation);
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
  return std::make_unique<GpuFrameConverter>(device, stream, source, std::move(conversion));
}

}  // namespace nvc
