#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/logging.h"
#include "tf_nvcodec/core/encode_options.h"
#include "tf_nvcodec/core/frame_batch.h"
#include "tf_nvcodec/core/frame_timing.h"
#include "tf_nvcodec/core/software_encoder.h"
#include "tf_nvcodec/core/status.h"
#include "tf_nvcodec/core/video_writer.h"
#include "tf_nvcodec/kernels/kernel_util.h"
#include "tf_nvcodec/nv/encode_backend.h"

namespace nvc {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

// The element of a string tensor that a muxer writes into.
class TstringBytes : public GrowingBytes {
 public:
  explicit TstringBytes(tstring* bytes) : bytes_(bytes) {}
  char* Resize(size_t size) override {
    bytes_->resize_uninitialized(size);
    return bytes_->mdata();
  }

 private:
  tstring* bytes_;
};

absl::StatusOr<SampleType> SampleTypeOf(DataType dtype) {
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

absl::StatusOr<EncodeOptions> ReadOptions(OpKernelConstruction* context) {
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

// Once for each reason. Reasons name sizes and formats, of which there may be any number.
void LogFallback(const std::string& why) {
  constexpr size_t kMostReasons = 100;
  static std::mutex mutex;
  static auto* const logged = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(mutex);
  if (logged->size() >= kMostReasons || !logged->insert(why).second) return;
  LOG(WARNING) << "tf_nvcodec encodes on the CPU, not with NVENC: " << why;
}

class EncodeOp : public OpKernel {
 public:
  explicit EncodeOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, Construct(context));
  }

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Encode(context)); }

 private:
  absl::Status Construct(OpKernelConstruction* context) {
    NVC_ASSIGN_OR_RETURN(const std::string format, Attribute<std::string>(context, "input_format"));
    NVC_ASSIGN_OR_RETURN(input_format_, ParsePixelFormat(format));
    NVC_ASSIGN_OR_RETURN(const DataType dtype, Attribute<DataType>(context, "T"));
    NVC_ASSIGN_OR_RETURN(sample_type_, SampleTypeOf(dtype));
    NVC_ASSIGN_OR_RETURN(const std::string backend, Attribute<std::string>(context, "backend"));
    NVC_ASSIGN_OR_RETURN(backend_, ParseEncodeBackend(backend));
    NVC_ASSIGN_OR_RETURN(options_, ReadOptions(context));
    if (backend_ == EncodeBackend::kNvenc) options_.engine = EncodeEngine::kNvenc;
    return options_.Validate();
  }

  absl::Status Encode(OpKernelContext* context) const {
    NVC_ASSIGN_OR_RETURN(const FrameBatch frames, ReadFrames(context));
    NVC_ASSIGN_OR_RETURN(const FrameTiming timing, ReadTiming(context, frames.count));
    Tensor* contents = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(0, TensorShape({}), &contents));
    TstringBytes bytes(&contents->scalar<tstring>()());
    return EncodeWith(EncodeEngines(), backend_, frames, timing, options_, StepCancelled(context),
                      &bytes, LogFallback);
  }

  absl::StatusOr<FrameBatch> ReadFrames(OpKernelContext* context) const {
    const Tensor& frames = context->input(0);
    const Tensor& size = context->input(3);
    const int channels = Channels(input_format_);
    const bool shaped =
        channels == 0 ? frames.dims() == 2 : frames.dims() == 4 && frames.dim_size(3) == channels;
    if (!shaped) {
      return absl::InvalidArgumentError(absl::StrCat(
          "frames of input_format ", Name(input_format_), " must have shape ",
          channels == 0 ? "[T, frame_bytes]" : absl::StrCat("[T, H, W, ", channels, "]"), "; got ",
          frames.shape().DebugString()));
    }
    if (size.dims() != 1 || size.dim_size(0) != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("size must be (height, width); got shape ", size.shape().DebugString()));
    }
    FrameBatch batch;
    batch.data = frames.tensor_data().data();
    batch.count = frames.dim_size(0);
    batch.pixel_format = input_format_;
    batch.sample_type = sample_type_;
    batch.height = size.vec<int32_t>()(0);
    batch.width = size.vec<int32_t>()(1);
    if (channels != 0) {
      const int64_t height = frames.dim_size(1), width = frames.dim_size(2);
      const bool given = batch.height != 0 || batch.width != 0;
      if (given && (batch.height != height || batch.width != width)) {
        return absl::InvalidArgumentError(
            absl::StrCat("size is of packed frames only, and (", batch.height, ", ", batch.width,
                         ") is not that of frames of shape ", frames.shape().DebugString()));
      }
      if (height > INT32_MAX || width > INT32_MAX) {
        return absl::InvalidArgumentError(
            absl::StrCat("frames are too large: ", frames.shape().DebugString()));
      }
      batch.height = static_cast<int>(height);
      batch.width = static_cast<int>(width);
    }
    if (channels == 0 && (batch.height <= 0 || batch.width <= 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("frames of input_format ", Name(input_format_),
                       " are packed and need size=(height, width), both positive; got (",
                       batch.height, ", ", batch.width, ")"));
    }
    batch.frame_bytes =
        batch.count > 0 ? frames.tensor_data().size() / static_cast<size_t>(batch.count) : 0;
    NVC_RETURN_IF_ERROR(batch.Validate());
    return batch;
  }

  absl::StatusOr<FrameTiming> ReadTiming(OpKernelContext* context, int64_t count) const {
    const Tensor& fps = context->input(1);
    const Tensor& pts = context->input(2);
    if (fps.dims() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("fps must be a scalar; got shape ", fps.shape().DebugString()));
    }
    const double rate = fps.scalar<double>()();
    if (pts.dims() == 1 && pts.dim_size(0) == 0) return FrameTiming::FromFps(rate);
    if (pts.dims() != 1 || pts.dim_size(0) != count) {
      return absl::InvalidArgumentError(absl::StrCat("pts must have one time a frame; got shape ",
                                                     pts.shape().DebugString(), " for ", count,
                                                     " frames"));
    }
    const auto times = pts.vec<double>();
    return FrameTiming::FromSeconds(absl::MakeConstSpan(times.data(), times.size()), rate,
                                    options_.container);
  }

  PixelFormat input_format_ = PixelFormat::kRgb;
  SampleType sample_type_ = SampleType::kUint8;
  EncodeBackend backend_ = EncodeBackend::kAuto;
  EncodeOptions options_;
};

// While the library is loaded, before the first step's threads run.
[[maybe_unused]] const bool quiet = [] {
  QuietEncoderLibraries();
  return true;
}();

REGISTER_KERNEL_BUILDER(Name("VideoEncode").Device(::tensorflow::DEVICE_CPU), EncodeOp);

}  // namespace
}  // namespace nvc
