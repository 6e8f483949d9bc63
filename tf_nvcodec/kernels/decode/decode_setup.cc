#include "tf_nvcodec/kernels/decode/decode_setup.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/types.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/kernels/decode/fallback_log.h"
#include "tf_nvcodec/kernels/tensors/kernel_util.h"
#include "tf_nvcodec/nv/convert/gpu_targets.h"
#include "tf_nvcodec/nv/cuda/nvrtc.h"

namespace nvc {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

SampleType SampleTypeOf(::tensorflow::DataType dtype) {
  switch (dtype) {
    case ::tensorflow::DT_UINT16:
      return SampleType::kUint16;
    case ::tensorflow::DT_HALF:
      return SampleType::kFloat16;
    case ::tensorflow::DT_FLOAT:
      return SampleType::kFloat32;
    default:
      return SampleType::kUint8;
  }
}

// Reads a list with one value, or one for each channel, into `out`. An empty list leaves it as it
// is.
absl::Status ReadPerChannel(OpKernelConstruction* context, const char* name, int channels,
                            std::array<float, 3>* out) {
  std::vector<float> values;
  NVC_RETURN_IF_ERROR(context->GetAttr(name, &values));
  if (values.empty()) return absl::OkStatus();
  if (values.size() != 1 && static_cast<int>(values.size()) != channels) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " must have 1 or ", channels, " values for this pixel_format, got ", values.size()));
  }
  for (size_t i = 0; i < out->size(); ++i) (*out)[i] = values[i % values.size()];
  return absl::OkStatus();
}

absl::Status ReadBackend(OpKernelConstruction* context, Deinterlace deinterlace, Backend* backend) {
  std::string name;
  NVC_RETURN_IF_ERROR(context->GetAttr("backend", &name));
  NVC_ASSIGN_OR_RETURN(*backend, ParseBackend(name));
  if (*backend == Backend::kNvdec && deinterlace != Deinterlace::kNone) {
    return WithNvdecCure(absl::InvalidArgumentError("deinterlace works on the CPU only"));
  }
  const bool gpu_is_given = context->device_type() == ::tensorflow::DEVICE_GPU;
  if (*backend != Backend::kNvdec || gpu_is_given) return absl::OkStatus();
  // Fails here and not at the first video, because a dataset is made long before it is read.
  return DefaultNvdec().status();
}

absl::StatusOr<std::vector<int32_t>> ReadVector(OpKernelContext* context, int input,
                                                const char* name, int64_t count) {
  const Tensor& tensor = context->input(input);
  if (tensor.dims() != 1 || tensor.dim_size(0) != count) {
    return absl::InvalidArgumentError(absl::StrCat(name, " must be a vector of ", count,
                                                   " integers, got shape ",
                                                   tensor.shape().DebugString()));
  }
  const auto values = tensor.vec<int32_t>();
  return std::vector<int32_t>(values.data(), values.data() + count);
}

void DecodesOnTheCpu(const std::string& why) {
  LogFallback("decodes on the CPU, not with NVDEC", why);
}

int64_t ClampToSlice(int64_t position, int64_t count) {
  if (position < 0) position += count;
  return std::min(std::max<int64_t>(position, 0), count);
}

}  // namespace

absl::Status DecodeAttributes::Read(OpKernelConstruction* context) {
  std::string format, layout, method, chroma, deinterlace, space, range, policy;
  NVC_RETURN_IF_ERROR(context->GetAttr("dtype", &dtype));
  NVC_RETURN_IF_ERROR(context->GetAttr("pixel_format", &format));
  NVC_RETURN_IF_ERROR(context->GetAttr("layout", &layout));
  NVC_RETURN_IF_ERROR(context->GetAttr("resize_method", &method));
  NVC_RETURN_IF_ERROR(context->GetAttr("antialias", &output.antialias));
  NVC_RETURN_IF_ERROR(context->GetAttr("chroma_upsampling", &chroma));
  NVC_RETURN_IF_ERROR(context->GetAttr("apply_rotation", &output.apply_rotation));
  NVC_RETURN_IF_ERROR(context->GetAttr("deinterlace", &deinterlace));
  NVC_RETURN_IF_ERROR(context->GetAttr("color_space", &space));
  NVC_RETURN_IF_ERROR(context->GetAttr("color_range", &range));
  NVC_RETURN_IF_ERROR(context->GetAttr("num_threads", &num_threads));
  NVC_RETURN_IF_ERROR(context->GetAttr("on_error", &policy));
  NVC_RETURN_IF_ERROR(context->GetAttr("max_pixels", &max_pixels));
  NVC_RETURN_IF_ERROR(context->GetAttr("max_frames", &max_frames));
  NVC_RETURN_IF_ERROR(context->GetAttr("max_packets", &max_packets));
  NVC_RETURN_IF_ERROR(context->GetAttr("max_bytes", &max_bytes));
  NVC_RETURN_IF_ERROR(ReadTimeout(context, &timeout));
  output.sample_type = SampleTypeOf(dtype);
  NVC_ASSIGN_OR_RETURN(output.pixel_format, ParsePixelFormat(format));
  NVC_ASSIGN_OR_RETURN(output.layout, ParseLayout(layout));
  NVC_ASSIGN_OR_RETURN(output.resize_method, ParseResizeMethod(method));
  NVC_ASSIGN_OR_RETURN(output.chroma_upsampling, ParseChromaUpsampling(chroma));
  NVC_ASSIGN_OR_RETURN(output.deinterlace, ParseDeinterlace(deinterlace));
  if (!space.empty()) {
    NVC_ASSIGN_OR_RETURN(output.color_space, ParseColorSpace(space));
  }
  if (!range.empty()) {
    NVC_ASSIGN_OR_RETURN(output.color_range, ParseColorRange(range));
  }
  NVC_ASSIGN_OR_RETURN(on_error, ParseOnError(policy));
  const int channels = Channels(output.pixel_format);
  NVC_RETURN_IF_ERROR(ReadPerChannel(context, "mean", channels, &output.mean));
  NVC_RETURN_IF_ERROR(ReadPerChannel(context, "std", channels, &output.std_dev));
  NVC_RETURN_IF_ERROR(output.Validate());
  return ReadBackend(context, output.deinterlace, &backend);
}

absl::Status ReadGeometry(OpKernelContext* context, int size_input, int crop_input,
                          OutputSpec* output) {
  NVC_ASSIGN_OR_RETURN(const auto size, ReadVector(context, size_input, "size", 2));
  NVC_ASSIGN_OR_RETURN(const auto crop, ReadVector(context, crop_input, "crop", 4));
  if (size[0] < 0 && size[0] == size[1]) {
    output->short_side = -size[0];
  } else {
    output->height = size[0];
    output->width = size[1];
  }
  const bool has_crop = crop[0] != 0 || crop[1] != 0 || crop[2] != 0 || crop[3] != 0;
  if (has_crop) output->crop = Crop{crop[0], crop[1], crop[2], crop[3]};
  return absl::OkStatus();
}

int64_t FrameBytesAtMost(const DecodeAttributes& attributes, const AVCodecParameters& codec) {
  const OutputSpec& output = attributes.output;
  int64_t height = codec.height, width = codec.width;
  if (output.height > 0) {
    height = output.height;
    width = output.width;
  } else if (output.short_side > 0) {
    const double scale =
        static_cast<double>(output.short_side) / std::max<int64_t>(1, std::min(height, width));
    height = static_cast<int64_t>(static_cast<double>(height) * scale) + 1;
    width = static_cast<int64_t>(static_cast<double>(width) * scale) + 1;
  } else if (output.crop.has_value()) {
    height = output.crop->height;
    width = output.crop->width;
  }
  return height * width * 3 * ::tensorflow::DataTypeSize(attributes.dtype);
}

absl::StatusOr<std::vector<int64_t>> FramesInSlice(int64_t start, int64_t stop, int64_t stride,
                                                   int64_t count) {
  if (stride < 1) {
    return absl::InvalidArgumentError(absl::StrCat("stride must be at least 1, got ", stride));
  }
  stop = ClampToSlice(stop, count);
  std::vector<int64_t> frames;
  for (int64_t i = ClampToSlice(start, count); i < stop;) {
    frames.push_back(i);
    if (stride >= stop - i) break;
    i += stride;
  }
  return frames;
}

absl::StatusOr<DecodeSetup> SetUpDecoding(const DecodeAttributes& attributes, const GpuStream* gpu,
                                          const StreamInfo& stream, const Cancelled& cancelled) {
  const OutputSpec& output = attributes.output;
  if (output.apply_rotation && output.pixel_format != PixelFormat::kNative) {
    LogOddMatrix(stream.odd_matrix);
  }
  DecodeSetup setup;
  setup.options.num_threads = attributes.num_threads;
  setup.options.max_pixels = attributes.max_pixels;
  setup.options.cancelled = cancelled;
  std::string why_not;
  NVC_ASSIGN_OR_RETURN(GpuDevice * decoder,
                       ChooseDecoder(attributes.backend, gpu == nullptr ? nullptr : gpu->device,
                                     *stream.codec, &why_not));
  if (decoder != nullptr && output.deinterlace != Deinterlace::kNone) {
    decoder = nullptr;
    why_not = "deinterlace works on the CPU only";
  }
  if (decoder != nullptr && attributes.backend == Backend::kAuto && !Nvrtc::Get().ok()) {
    decoder = nullptr;
    why_not = std::string(Nvrtc::Get().status().message());
  }
  if (!why_not.empty()) DecodesOnTheCpu(why_not);
  if (decoder != nullptr) {
    setup.quota = std::make_unique<NvdecQuota>(*decoder, attributes.num_threads);
    setup.options.factory =
        DecodeOnGpu(decoder, attributes.backend, setup.quota.get(), DecodesOnTheCpu);
  }
  if (gpu != nullptr) {
    setup.new_target = [on = *gpu] { return std::make_unique<DeviceTarget>(on.device, on.stream); };
  } else if (decoder != nullptr) {
    setup.new_target = [decoder] { return std::make_unique<DownloadTarget>(decoder); };
  } else {
    setup.new_target = [] { return std::make_unique<HostTarget>(); };
  }
  return setup;
}

}  // namespace nvc
