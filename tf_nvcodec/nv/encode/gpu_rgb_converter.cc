#include "tf_nvcodec/nv/encode/gpu_rgb_converter.h"

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/rgb_weights.h"
#include "tf_nvcodec/core/format/color.h"
#include "tf_nvcodec/nv/cuda/kernel_cache.h"
#include "tf_nvcodec/nv/kernels/kernel_sources.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

void SetWeights(const StreamSpec& stream, RgbParams* params) {
  const RgbToYuv matrix = MakeRgbToYuv(stream.color_space, stream.color_range, /*bit_depth=*/8);
  const FixedLuma luma = MakeFixedLuma(matrix);
  for (int c = 0; c < 3; ++c) params->luma_weights[c] = luma.weight[c];
  params->luma_offset = luma.offset;
  for (int i = 0; i < 2; ++i) {
    const FixedChroma chroma = MakeFixedChroma(matrix, i + 1);
    params->chroma_channels[i][0] = chroma.up;
    params->chroma_weights[i][0] = chroma.up_weight;
    for (int k = 0; k < 2; ++k) {
      params->chroma_channels[i][k + 1] = chroma.down[k];
      params->chroma_weights[i][k + 1] = chroma.down_weight[k];
    }
    params->chroma_offsets[i] = chroma.offset;
  }
}

}  // namespace

GpuRgbConverter::GpuRgbConverter(GpuDevice* device, CUfunction kernel, const StreamSpec& stream,
                                 const RgbPixel& pixel)
    : device_(device), kernel_(kernel) {
  params_.width = stream.width;
  params_.height = stream.height;
  params_.pixel_bytes = pixel.bytes;
  params_.pixel_pitch = static_cast<long long>(row_bytes());
  params_.red = pixel.blue_first ? 2 : 0;
  params_.blue = 2 - params_.red;
  params_.shift = stream.encoder_format == AV_PIX_FMT_YUV420P ? 1 : 0;
  SetWeights(stream, &params_);
}

absl::StatusOr<std::unique_ptr<GpuRgbConverter>> GpuRgbConverter::Create(GpuDevice* device,
                                                                         const StreamSpec& stream,
                                                                         const RgbPixel& pixel) {
  if (stream.encoder_format != AV_PIX_FMT_YUV420P && stream.encoder_format != AV_PIX_FMT_YUV444P) {
    return absl::UnimplementedError(absl::StrCat("RGB becomes yuv420p or yuv444p on the GPU, not ",
                                                 av_get_pix_fmt_name(stream.encoder_format)));
  }
  const ScopedContext context(*device);
  NVC_RETURN_IF_ERROR(context.status());
  NVC_ASSIGN_OR_RETURN(const CUfunction kernel,
                       GetKernel(device, RgbKernelSource(), kRgbKernel, {"NVC_RGB=1"}));
  return std::unique_ptr<GpuRgbConverter>(new GpuRgbConverter(device, kernel, stream, pixel));
}

absl::Status GpuRgbConverter::Convert(CUstream stream, CUdeviceptr pixels, AVFrame* frame) const {
  RgbParams params = params_;
  params.pixels = reinterpret_cast<const unsigned char*>(pixels);
  for (int plane = 0; plane < 3; ++plane) {
    params.planes[plane] = frame->data[plane];
    params.pitches[plane] = frame->linesize[plane];
  }
  return Launch(*device_, kernel_, &params, "starting the RGB kernel", *frame, params.shift,
                stream);
}

}  // namespace nvc
