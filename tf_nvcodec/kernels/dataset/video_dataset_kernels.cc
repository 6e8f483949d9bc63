#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/kernels/dataset/video_dataset.h"
#include "tf_nvcodec/kernels/decode/clip_attributes.h"
#include "tf_nvcodec/kernels/tensors/kernel_util.h"

namespace nvc {
namespace {

using ::tensorflow::OpInputList;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::data::DatasetBase;

// The op's inputs in order. Input 0 is the seed dataset.
enum Input {
  kVideos = 1,
  kClipCounts,
  kPeriod,
  kClipTimes,
  kClipTimeSplits,
  kSegments,
  kSize,
  kCrop,
  kNumShards,
  kShardIndex,
  kSeed,
  kSeed2,
  kComponents,
};

template <typename T>
absl::Status ReadVector(OpKernelContext* context, int input, const char* name,
                        std::vector<T>* values) {
  const Tensor& tensor = context->input(input);
  if (tensor.dims() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be a vector, got shape ", tensor.shape().DebugString()));
  }
  const auto flat = tensor.vec<T>();
  values->assign(flat.data(), flat.data() + flat.size());
  return absl::OkStatus();
}

// Assigns the clip times to the videos and counts them.
absl::Status ReadClipTimes(OpKernelContext* context, VideoDatasetArguments* arguments) {
  ClipArguments& clip = arguments->clip;
  clip.times_are_float32 = context->input_dtype(kClipTimes) == ::tensorflow::DT_FLOAT;
  if (clip.times_are_float32) {
    std::vector<float> times;
    NVC_RETURN_IF_ERROR(ReadVector(context, kClipTimes, "clip_at", &times));
    clip.times.assign(times.begin(), times.end());
  } else {
    NVC_RETURN_IF_ERROR(ReadVector(context, kClipTimes, "clip_at", &clip.times));
  }
  NVC_RETURN_IF_ERROR(
      ReadVector(context, kClipTimeSplits, "the splits of clip_at", &clip.time_splits));
  if (clip.clips.sampling != ClipSampling::kAt) return absl::OkStatus();
  ClipCounts& counts = arguments->counts;
  const auto times = static_cast<int64_t>(clip.times.size());
  if (clip.time_splits.empty()) {
    counts.per_video = times;
    return absl::OkStatus();
  }
  const auto splits = static_cast<int64_t>(clip.time_splits.size());
  if (splits != counts.num_videos + 1 || clip.time_splits.front() != 0 ||
      clip.time_splits.back() != times) {
    return absl::InvalidArgumentError(absl::StrCat("clip_at has a row for each of ", splits - 1,
                                                   " videos, but there are ", counts.num_videos));
  }
  counts.counts.clear();
  for (size_t i = 1; i < clip.time_splits.size(); ++i) {
    counts.counts.push_back(clip.time_splits[i] - clip.time_splits[i - 1]);
  }
  return absl::OkStatus();
}

class VideoDatasetOp : public ::tensorflow::data::UnaryDatasetOpKernel {
 public:
  explicit VideoDatasetOp(OpKernelConstruction* context) : UnaryDatasetOpKernel(context) {
    OP_REQUIRES_OK(context, ReadAttributes(context));
  }

 protected:
  void MakeDataset(OpKernelContext* context, DatasetBase* seeds, DatasetBase** output) override {
    VideoDatasetArguments arguments = attributes_;
    OP_REQUIRES_OK(context, ReadInputs(context, &arguments));
    *output = new VideoDataset(context, seeds, std::move(arguments));
  }

 private:
  absl::Status ReadAttributes(OpKernelConstruction* context) {
    VideoDatasetArguments& a = attributes_;
    std::string source;
    NVC_RETURN_IF_ERROR(a.clip.decode.Read(context));
    NVC_RETURN_IF_ERROR(ReadClipAttributes(context, &a.clip.clips));
    bool decode = true;
    NVC_RETURN_IF_ERROR(context->GetAttr("decode", &decode));
    a.clip.pack = !decode;
    NVC_RETURN_IF_ERROR(ReadAugmentation(context, &a.clip));
    NVC_RETURN_IF_ERROR(context->GetAttr("output_types", &a.output_types));
    NVC_RETURN_IF_ERROR(context->GetAttr("output_shapes", &a.output_shapes));
    NVC_RETURN_IF_ERROR(context->GetAttr("output_order", &a.clip.output_order));
    NVC_RETURN_IF_ERROR(context->GetAttr("source", &source));
    NVC_RETURN_IF_ERROR(context->GetAttr("shuffle", &a.order.shuffle));
    NVC_RETURN_IF_ERROR(context->GetAttr("shuffle_group", &a.order.group));
    NVC_RETURN_IF_ERROR(context->GetAttr("reshuffle_each_iteration", &a.reshuffle_each_iteration));
    NVC_RETURN_IF_ERROR(context->GetAttr("num_parallel_calls", &a.num_parallel_calls));
    NVC_RETURN_IF_ERROR(context->GetAttr("deterministic", &a.deterministic));
    NVC_RETURN_IF_ERROR(context->GetAttr("index_cache", &a.cache_directory));
    NVC_RETURN_IF_ERROR(context->GetAttr("statistics_name", &a.statistics_name));
    a.clip.names_are_files = source == "files";
    if (a.num_parallel_calls < 1 && a.num_parallel_calls != ::tensorflow::data::model::kAutotune) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_parallel_calls must be at least 1, or tf.data.AUTOTUNE, got ",
                       a.num_parallel_calls));
    }
    // No machine decodes so many at once, and tf.data keeps the number as a double.
    a.num_parallel_calls = std::min(a.num_parallel_calls, int64_t{1} << 20);
    for (const auto& [name, value] : context->def().attr()) {
      // Whoever writes the graph adds the outputs' types and shapes.
      const bool outputs = name == "output_types" || name == "output_shapes";
      if (!outputs && name[0] != '_') a.attributes.emplace_back(name, value);
    }
    return absl::OkStatus();
  }

  static absl::Status ReadAugmentation(OpKernelConstruction* context, ClipArguments* clip) {
    std::vector<float> area, ratio;
    std::vector<int32_t> size;
    float flip = 0;
    NVC_RETURN_IF_ERROR(context->GetAttr("random_resized_crop", &area));
    NVC_RETURN_IF_ERROR(context->GetAttr("ratio", &ratio));
    NVC_RETURN_IF_ERROR(context->GetAttr("random_crop", &size));
    NVC_RETURN_IF_ERROR(context->GetAttr("flip", &flip));
    float center_crop = 0;
    NVC_RETURN_IF_ERROR(context->GetAttr("center_crop", &center_crop));
    clip->center_crop = center_crop;
    Augmentation& augmentation = clip->augmentation;
    augmentation.flip = flip;
    if (!area.empty()) augmentation.area = {area[0], area.back()};
    if (!ratio.empty()) augmentation.ratio = {ratio[0], ratio.back()};
    if (!size.empty()) {
      augmentation.crop_height = size[0];
      augmentation.crop_width = size.back();
    }
    NVC_RETURN_IF_ERROR(augmentation.Validate());
    if (augmentation.any() && Channels(clip->decode.output.pixel_format) == 0) {
      return absl::InvalidArgumentError(
          "random crops and flips take pixel_format=\"rgb\", \"bgr\" or \"gray\"");
    }
    return absl::OkStatus();
  }

  static absl::Status ReadInputs(OpKernelContext* context, VideoDatasetArguments* arguments) {
    ClipArguments& clip = arguments->clip;
    for (int i = kVideos; i < kComponents; ++i) arguments->inputs.push_back(context->input(i));
    clip.videos = context->input(kVideos);
    if (clip.videos.dims() != 1) {
      return absl::InvalidArgumentError(absl::StrCat("filenames must be a vector, got shape ",
                                                     clip.videos.shape().DebugString()));
    }
    arguments->counts.num_videos = clip.videos.NumElements();
    NVC_RETURN_IF_ERROR(ReadVector(context, kClipCounts, "clip_counts", &arguments->counts.counts));
    if (arguments->counts.counts.empty() && clip.clips.sampling != ClipSampling::kAll) {
      arguments->counts.per_video = clip.clips.clips_per_video;
    }
    NVC_RETURN_IF_ERROR(ReadScalar(context, kPeriod, "period", &clip.clips.period));
    NVC_RETURN_IF_ERROR(clip.clips.Validate());
    NVC_RETURN_IF_ERROR(ReadClipTimes(context, arguments));
    NVC_RETURN_IF_ERROR(
        ReadSegments(context->input(kSegments), clip.videos, clip.names_are_files, &clip.segments));
    NVC_RETURN_IF_ERROR(ReadGeometry(context, kSize, kCrop, &clip.decode.output));
    NVC_RETURN_IF_ERROR(clip.decode.output.Validate());
    NVC_RETURN_IF_ERROR(CheckAugmentation(clip));
    NVC_RETURN_IF_ERROR(
        ReadScalar(context, kNumShards, "num_shards", &arguments->order.num_shards));
    NVC_RETURN_IF_ERROR(ReadScalar(context, kShardIndex, "index", &arguments->order.shard));
    NVC_RETURN_IF_ERROR(ReadScalar(context, kSeed, "seed", &arguments->seed));
    NVC_RETURN_IF_ERROR(ReadScalar(context, kSeed2, "seed2", &arguments->seed2));
    NVC_RETURN_IF_ERROR(ReadComponents(context, arguments));
    return ClipOrder::Validate(arguments->counts, arguments->order);
  }

  static absl::Status CheckAugmentation(const ClipArguments& clip) {
    if (clip.center_crop > 0 && (clip.decode.output.height == 0 || clip.augmentation.crops() ||
                                 clip.decode.output.crop.has_value())) {
      return absl::InvalidArgumentError(
          "center_crop cuts the frame to the shape of size: pass size, and no other crop");
    }
    if (!clip.augmentation.crops()) return absl::OkStatus();
    if (clip.decode.output.crop.has_value()) {
      return absl::InvalidArgumentError("crop and a random crop both cut: pass one");
    }
    if (clip.augmentation.area.has_value() && clip.decode.output.height == 0 && !clip.pack) {
      return absl::InvalidArgumentError(
          "random_resized_crop gives crops of all shapes: pass size=(height, width) to bring them "
          "to one");
    }
    return absl::OkStatus();
  }

  static absl::Status ReadComponents(OpKernelContext* context, VideoDatasetArguments* arguments) {
    OpInputList components;
    NVC_RETURN_IF_ERROR(context->input_list("components", &components));
    for (const Tensor& component : components) {
      if (component.dims() < 1 || component.dim_size(0) != arguments->counts.num_videos) {
        return absl::InvalidArgumentError(absl::StrCat(
            "labels and each tensor of aligned must have one row for each of the ",
            arguments->counts.num_videos, " videos, got shape ", component.shape().DebugString()));
      }
      arguments->clip.components.push_back(component);
    }
    const size_t outputs =
        6 + arguments->clip.components.size() + (arguments->clip.augmentation.any() ? 2 : 0);
    if (arguments->output_types.size() != outputs || arguments->output_shapes.size() != outputs) {
      return absl::InvalidArgumentError(
          absl::StrCat("an element has ", outputs, " parts, but output_types has ",
                       arguments->output_types.size(), " entries and output_shapes has ",
                       arguments->output_shapes.size()));
    }
    std::vector<bool> seen(outputs, arguments->clip.output_order.empty());
    for (const int32_t part : arguments->clip.output_order) {
      if (part >= 0 && part < static_cast<int64_t>(outputs)) seen[static_cast<size_t>(part)] = true;
    }
    if (std::find(seen.begin(), seen.end(), false) != seen.end() ||
        arguments->clip.output_order.size() > outputs) {
      return absl::InvalidArgumentError(
          absl::StrCat("output_order must name each of the ", outputs, " parts once"));
    }
    return absl::OkStatus();
  }

  VideoDatasetArguments attributes_;  // the part that the attributes give
};

REGISTER_KERNEL_BUILDER(Name("VideoDataset").Device(::tensorflow::DEVICE_CPU), VideoDatasetOp);

}  // namespace
}  // namespace nvc
