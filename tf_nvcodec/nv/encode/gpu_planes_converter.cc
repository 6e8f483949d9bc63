#include "tf_nvcodec/nv/encode/gpu_planes_converter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/rgb_weights.h"
#include "tf_nvcodec/core/format/color.h"
#include "tf_nvcodec/nv/cuda/kernel_cache.h"
#include "tf_nvcodec/nv/kernels/kernel_sources.h"

extern "C" {
#include <libavutil/common.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
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
  const PackedLayout layout = LayoutOf(frames.pixel_format);
  params->element = layout.depth > 8 ? kPlanesWord : kPlanesByte;
  params->unused_bits = layout.depth > 8 ? 16 - layout.depth : 0;
  const long long luma = static_cast<long long>(frames.width) * frames.height;
  const int width = AV_CEIL_RSHIFT(frames.width, layout.log2_chroma);
  const int height = AV_CEIL_RSHIFT(frames.height, layout.log2_chroma);
  params->chroma_shift = layout.log2_chroma;
  params->chroma_step = layout.interleaved ? 2 : 1;
  params->chroma_pitch = static_cast<long long>(width) * params->chroma_step;
  params->chroma_first[0] = luma;
  params->chroma_first[1] = luma + (layout.interleaved ? 1 : params->chroma_pitch * height);
  SetLuma(MakeDepthWeights(stream.color_range, false, layout.depth, kDepth), params);
  const FloatWeights chroma = MakeDepthWeights(stream.color_range, true, layout.depth, kDepth);
  for (int i = 0; i < 2; ++i) SetChroma(i, chroma, params);
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
  // With unified addressing, which every GPU with an NVENC has, the address is the GPU's too.
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

}  // namespace nvc
