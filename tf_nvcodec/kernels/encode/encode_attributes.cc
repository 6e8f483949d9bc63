#include "tf_nvcodec/kernels/encode/encode_attributes.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;

absl::StatusOr<SampleType> FrameSampleType(DataType dtype) {
  switch (dtype) {
    case ::tensorflow::DT_UINT8:
      return SampleType::kUint8;
    case ::tensorflow::DT_UINT16:
      return SampleType::kUint16;
    case ::tensorflow::DT_HALF:
      return SampleType::kFloat16;
    case ::tensorflow::DT_FLOAT:
      return SampleType::kFloat32;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("frames must be uint8, uint16, float16 or float32; got ",
                       ::tensorflow::DataTypeString(dtype)));
  }
}

absl::StatusOr<CodecOptions> ParseCodecOptions(const std::vector<std::string>& entries) {
  CodecOptions options;
  for (const std::string& entry : entries) {
    const size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("options must read name=value; got \"", entry, "\""));
    }
    options.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return options;
}

template <typename T>
absl::StatusOr<T> Attribute(OpKernelConstruction* context, const char* name) {
  T value;
  TF_RETURN_IF_ERROR(context->GetAttr(name, &value));
  return value;
}

absl::Status ReadColors(OpKernelConstruction* context, EncodeOptions* options) {
  NVC_ASSIGN_OR_RETURN(const std::string space, Attribute<std::string>(context, "color_space"));
  NVC_ASSIGN_OR_RETURN(const std::string range, Attribute<std::string>(context, "color_range"));
  if (!space.empty()) {
    NVC_ASSIGN_OR_RETURN(options->color_space, ParseColorSpace(space));
  }
  if (!range.empty()) {
    NVC_ASSIGN_OR_RETURN(options->color_range, ParseColorRange(range));
  }
  return absl::OkStatus();
}

absl::StatusOr<EncodeOptions> ReadEncodeOptions(OpKernelConstruction* context) {
  EncodeOptions options;
  NVC_ASSIGN_OR_RETURN(const std::string codec, Attribute<std::string>(context, "codec"));
  NVC_ASSIGN_OR_RETURN(options.codec, ParseEncodeCodec(codec));
  NVC_ASSIGN_OR_RETURN(const std::string container, Attribute<std::string>(context, "container"));
  NVC_ASSIGN_OR_RETURN(options.container, ParseEncodeContainer(container));
  NVC_ASSIGN_OR_RETURN(const float crf, Attribute<float>(context, "crf"));
  if (crf != -1) options.quality = crf;
  NVC_ASSIGN_OR_RETURN(options.bitrate, Attribute<int64_t>(context, "bitrate"));
  NVC_ASSIGN_OR_RETURN(options.gop, Attribute<int>(context, "gop"));
  NVC_ASSIGN_OR_RETURN(options.max_b_frames, Attribute<int>(context, "bf"));
  NVC_ASSIGN_OR_RETURN(options.preset, Attribute<std::string>(context, "preset"));
  NVC_ASSIGN_OR_RETURN(options.pixel_format, Attribute<std::string>(context, "pixel_format"));
  NVC_ASSIGN_OR_RETURN(options.num_threads, Attribute<int>(context, "num_threads"));
  NVC_ASSIGN_OR_RETURN(options.fragmented, Attribute<bool>(context, "fragmented"));
  NVC_ASSIGN_OR_RETURN(options.faststart, Attribute<bool>(context, "faststart"));
  NVC_ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                       Attribute<std::vector<std::string>>(context, "options"));
  NVC_ASSIGN_OR_RETURN(options.codec_options, ParseCodecOptions(entries));
  NVC_RETURN_IF_ERROR(ReadColors(context, &options));
  return options;
}

}  // namespace

absl::Status EncodeAttributes::Read(OpKernelConstruction* context) {
  NVC_ASSIGN_OR_RETURN(const std::string format, Attribute<std::string>(context, "input_format"));
  NVC_ASSIGN_OR_RETURN(input_format, ParsePixelFormat(format));
  NVC_ASSIGN_OR_RETURN(const DataType dtype, Attribute<DataType>(context, "T"));
  NVC_ASSIGN_OR_RETURN(sample_type, FrameSampleType(dtype));
  NVC_ASSIGN_OR_RETURN(const std::string name, Attribute<std::string>(context, "backend"));
  NVC_ASSIGN_OR_RETURN(backend, ParseEncodeBackend(name));
  NVC_ASSIGN_OR_RETURN(options, ReadEncodeOptions(context));
  if (backend == EncodeBackend::kNvenc) options.engine = EncodeEngine::kNvenc;
  return options.Validate();
}

}  // namespace nvc
