#include "tf_nvcodec/nv/convert/gpu_deinterlace.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/convert/deinterlace.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"
#include "tf_nvcodec/nv/cuda/nvrtc.h"
#include "tf_nvcodec/nv/kernels/deinterlace_kernel.h"
#include "tf_nvcodec/nv/kernels/kernel_sources.h"

extern "C" {
#include <libavutil/common.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

constexpr unsigned kRowBlockWidth = 64, kRowBlockHeight = 4;
constexpr size_t kPitchMultiple = 256;  // in bytes; a multiple of every load of the colour kernel

struct Plane {
  int samples, rows;
};

// Returns the planes of a picture's layout, or luma alone for a gray picture.
std::vector<Plane> PlanesOf(const GpuPicture& picture, int width, int height) {
  std::vector<Plane> planes = {{width, height}};
  if (av_pix_fmt_desc_get(picture.stream_format)->nb_components == 1) return planes;
  const AVPixFmtDescriptor* const layout = av_pix_fmt_desc_get(picture.layout);
  const int chroma_width = AV_CEIL_RSHIFT(width, layout->log2_chroma_w);
  const int chroma_height = AV_CEIL_RSHIFT(height, layout->log2_chroma_h);
  if (av_pix_fmt_count_planes(picture.layout) == 2) {
    planes.push_back({2 * chroma_width, chroma_height});
  } else {
    planes.insert(planes.end(), 2, {chroma_width, chroma_height});
  }
  return planes;
}

class GpuBobConverter : public FrameConverter {
 public:
  GpuBobConverter(GpuDevice* device, CUstream stream, CUfunction kernel,
                  std::unique_ptr<FrameConverter> converter)
      : FrameConverter(converter->source(), converter->shape()),
        device_(device),
        stream_(stream),
        kernel_(kernel),
        converter_(std::move(converter)) {}

  absl::Status Convert(const AVFrame& frame, void* out) override {
    const int first = FirstKeptRow(frame);
    const GpuPicture* const picture = GpuPictureOf(frame);
    const bool ours = picture != nullptr && picture->device == device_ &&
                      frame.width == source().width && frame.height == source().height &&
                      picture->stream_format == source().format;
    // The other converter reports what is wrong with a frame that this one can't take.
    if (first < 0 || !ours) return converter_->Convert(frame, out);
    GpuPicture progressive;
    NVC_RETURN_IF_ERROR(KeepField(*picture, first, &progressive));
    AVFrame shown = frame;  // the caller keeps the references
    shown.opaque = &progressive;
    return converter_->Convert(shown, out);
  }

 private:
  absl::Status KeepField(const GpuPicture& picture, int first, GpuPicture* progressive) {
    const std::vector<Plane> planes = PlanesOf(picture, source().width, source().height);
    const AVPixFmtDescriptor* const layout = av_pix_fmt_desc_get(picture.layout);
    const int sample_bytes = layout->comp[0].depth > 8 ? 2 : 1;
    int widest = 0, rows = 0;
    for (const Plane& plane : planes) {
      widest = std::max(widest, plane.samples);
      rows += plane.rows;
    }
    const size_t pitch = (static_cast<size_t>(widest) * sample_bytes + kPitchMultiple - 1) /
                         kPitchMultiple * kPitchMultiple;
    if (memory_.bytes() < pitch * rows) {
      NVC_ASSIGN_OR_RETURN(memory_, DeviceMemory::Allocate(device_, pitch * rows));
    }
    *progressive = picture;
    progressive->pitch = pitch;
    progressive->ready = nullptr;
    progressive->owner = nullptr;

    const ScopedContext context(*device_);
    NVC_RETURN_IF_ERROR(context.status());
    if (picture.ready != nullptr) {
      NVC_RETURN_IF_ERROR(device_->Check(
          device_->cuda().cuStreamWaitEvent(stream_, picture.ready, 0), "waiting for a picture"));
    }
    BobParams params = {};
    params.from_pitch = static_cast<long long>(picture.pitch);
    params.to_pitch = static_cast<long long>(pitch);
    params.first = first;
    params.sample_bytes = sample_bytes;
    params.code_shift =
        sample_bytes == 1 ? 0 : 16 - av_pix_fmt_desc_get(picture.stream_format)->comp[0].depth;
    CUdeviceptr to = memory_.get();
    absl::Status status;
    for (size_t i = 0; i < planes.size() && status.ok(); ++i) {
      params.from = reinterpret_cast<const unsigned char*>(picture.planes[i]);
      params.to = reinterpret_cast<unsigned char*>(to);
      params.samples = planes[i].samples;
      params.rows = planes[i].rows;
      progressive->planes[i] = to;
      to += pitch * static_cast<size_t>(planes[i].rows);
      void* arguments[] = {&params};
      status = device_->Check(
          device_->cuda().cuLaunchKernel(kernel_, Blocks(params.samples, kRowBlockWidth),
                                         Blocks(params.rows, kRowBlockHeight), 1, kRowBlockWidth,
                                         kRowBlockHeight, 1, 0, stream_, arguments, nullptr),
          "starting the deinterlacing kernel");
    }
    // After a failure too: kernels launched before it still read the picture.
    status.Update(picture.UsedOn(stream_));
    return status;
  }

  GpuDevice* const device_;
  const CUstream stream_;
  const CUfunction kernel_;
  const std::unique_ptr<FrameConverter> converter_;
  DeviceMemory memory_;  // for one picture; the stream finishes with it before it gets to the next
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrameConverter>> NewGpuBobConverter(
    GpuDevice* device, CUstream stream, std::unique_ptr<FrameConverter> converter) {
  const ScopedContext context(*device);
  NVC_RETURN_IF_ERROR(context.status());
  NVC_ASSIGN_OR_RETURN(const CUfunction kernel,
                       GetKernel(device, DeinterlaceKernelSource(), kBobKernel, {"NVC_BOB=1"}));
  return std::make_unique<GpuBobConverter>(device, stream, kernel, std::move(converter));
}

}  // namespace nvc
