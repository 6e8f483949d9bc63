#include "tf_nvcodec/nv/encode/gpu_to_planes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/convert/conversion_maps.h"
#include "tf_nvcodec/core/encode/rgb_weights.h"
#include "tf_nvcodec/core/format/color.h"
#include "tf_nvcodec/nv/cuda/nvrtc.h"
#include "tf_nvcodec/nv/kernels/kernel_sources.h"

extern "C" {
#include <libavutil/common.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

constexpr unsigned kBlockWidth = 64, kBlockHeight = 4;

}  // namespace

absl::Status GpuToPlanes::Launch(const GpuDevice& device, CUfunction kernel, void* params,
                                 const char* doing, const AVFrame& frame, int chroma_shift,
                                 CUstream stream) {
  const ScopedContext context(device);
  NVC_RETURN_IF_ERROR(context.status());
  void* arguments[] = {params};
  return device.Check(device.cuda().cuLaunchKernel(
                          kernel, Blocks(AV_CEIL_RSHIFT(frame.width, chroma_shift), kBlockWidth),
                          Blocks(AV_CEIL_RSHIFT(frame.height, chroma_shift), kBlockHeight), 1,
                          kBlockWidth, kBlockHeight, 1, 0, stream, arguments, nullptr),
                      doing);
}

namespace {

constexpr int kDepth = 8;

PlanesElement ElementOf(SampleType type) {
  switch (type) {
    case SampleType::kUint8:
      return kPlanesByte;
    case SampleType::kUint16:
      return kPlanesWord;
    case SampleType::kFloat16:
      return kPlanesHalf;
    case SampleType::kFloat32:
      return kPlanesFloat;
  }
  return kPlanesByte;
}

void SetLuma(const FloatWeights& weights, PlanesParams* params) {
  std::copy(weights.weight, weights.weight + 3, params->luma_weights);
  params->luma_offset = weights.offset;
}

void SetChroma(int i, const FloatWeights& weights, PlanesParams* params) {
  std::copy(weights.weight, weights.weight + 3, params->chroma_weights[i]);
  params->chroma_offsets[i] = weights.offset;
}

void ReadPixels(const FrameBatch& frames, const StreamSpec& stream, PlanesParams* params) {
  const RgbToYuv matrix = MakeRgbToYuv(stream.color_space, stream.color_range, kDepth);
  const float white = WhiteOf(frames.sample_type);
  params->element = ElementOf(frames.sample_type);
  params->channels = Channels(frames.pixel_format);
  params->red = frames.pixel_format == PixelFormat::kBgr ? 2 : 0;
  params->blue = 2 - params->red;
  if (params->channels == 1) {
    SetLuma(MakeGrayWeights(matrix, white, kDepth), params);
    return;
  }
  SetLuma(MakeFloatWeights(matrix, 0, white, kDepth), params);
  for (int i = 0; i < 2; ++i) SetChroma(i, MakeFloatWeights(matrix, i + 1, white, kDepth), params);
}

void ReadPacked(const FrameBatch& frames, const StreamSpec& stream, PlanesParams* params) {
  const YuvLayout layout = YuvLayoutOf(frames.pixel_format);
  params->element = layout.depth > 8 ? kPlanesWord : kPlanesByte;
  params->unused_bits = layout.shift;
  const long long luma = static_cast<long long>(frames.width) * frames.height;
  const int width = AV_CEIL_RSHIFT(frames.width, layout.log2_chroma_w);
  const int height = AV_CEIL_RSHIFT(frames.height, layout.log2_chroma_h);
  params->chroma_shift = layout.log2_chroma_w;
  params->chroma_step = layout.interleaved ? 2 : 1;
  params->chroma_pitch = static_cast<long long>(width) * params->chroma_step;
  params->chroma_first[0] = luma;
  params->chroma_first[1] = luma + (layout.interleaved ? 1 : params->chroma_pitch * height);
  ConversionPlan plan;
  plan.source.format = RawVideoFormat(frames.pixel_format);
  plan.range = stream.color_range;
  const LinearMap map = MakePlaneMap(plan, 0, kDepth);
  params->luma_weights[0] = map.factor[0];
  params->luma_offset = map.offset;
  for (int i = 0; i < 2; ++i) {
    const LinearMap chroma = MakePlaneMap(plan, i + 1, kDepth);
    params->chroma_weights[i][0] = chroma.factor[0];
    params->chroma_offsets[i] = chroma.offset;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<GpuPlanesConverter>> GpuPlanesConverter::Create(
    GpuDevice* device, const FrameBatch& frames, const StreamSpec& stream) {
  if (stream.encoder_format != AV_PIX_FMT_YUV420P && stream.encoder_format != AV_PIX_FMT_YUV444P) {
    return absl::UnimplementedError(absl::StrCat(
        Name(frames.pixel_format), " frames become yuv420p or yuv444p on the GPU, not ",
        av_get_pix_fmt_name(stream.encoder_format)));
  }
  NVC_ASSIGN_OR_RETURN(const size_t bytes, FrameBytes(frames.pixel_format, frames.sample_type,
                                                      stream.height, stream.width));
  NVC_ASSIGN_OR_RETURN(PinnedMemory flag, PinnedMemory::Allocate(device, sizeof(int)));
  *static_cast<int*>(flag.get()) = 0;
  PlanesParams params = {};
  params.width = stream.width;
  params.height = stream.height;
  params.shift = stream.encoder_format == AV_PIX_FMT_YUV420P ? 1 : 0;
  // Every GPU with an NVENC has unified addressing, so this address is valid on the GPU too.
  params.out_of_range = static_cast<int*>(flag.get());
  if (Channels(frames.pixel_format) != 0) {
    ReadPixels(frames, stream, &params);
  } else {
    ReadPacked(frames, stream, &params);
  }
  const ScopedContext context(*device);
  NVC_RETURN_IF_ERROR(context.status());
  NVC_ASSIGN_OR_RETURN(const CUfunction kernel,
                       GetKernel(device, PlanesKernelSource(), kPlanesKernel, {"NVC_PLANES=1"}));
  return std::unique_ptr<GpuPlanesConverter>(
      new GpuPlanesConverter(device, kernel, std::move(flag), bytes, params));
}

absl::Status GpuPlanesConverter::Convert(CUstream stream, CUdeviceptr samples,
                                         AVFrame* frame) const {
  PlanesParams params = params_;
  params.samples = reinterpret_cast<const void*>(samples);
  for (int plane = 0; plane < 3; ++plane) {
    params.planes[plane] = frame->data[plane];
    params.pitches[plane] = frame->linesize[plane];
  }
  return Launch(*device_, kernel_, &params, "starting the planes kernel", *frame, params.shift,
                stream);
}

bool GpuPlanesConverter::found_out_of_range() const {
  return *static_cast<const volatile int*>(flag_.get()) != 0;
}

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
