#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/kernels/decode/clip_attributes.h"
#include "tf_nvcodec/kernels/stream/dataset_statistics.h"
#include "tf_nvcodec/kernels/stream/video_store.h"
#include "tf_nvcodec/kernels/tensors/kernel_util.h"

namespace nvc {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

template <typename T, typename Values>
absl::Status SetVector(OpKernelContext* context, int output, const Values& values) {
  Tensor* tensor = nullptr;
  TF_RETURN_IF_ERROR(context->allocate_output(
      output, TensorShape({static_cast<int64_t>(values.size())}), &tensor));
  std::copy(values.begin(), values.end(), tensor->vec<T>().data());
  return absl::OkStatus();
}

class StatisticsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Read(context)); }

 private:
  static absl::Status Read(OpKernelContext* context) {
    absl::string_view name;
    TF_RETURN_IF_ERROR(GetContents(context, &name));
    const auto found = DatasetStatistics::Of(std::string(name));
    const DatasetStatistics& s = *found;
    const std::vector<int64_t> counters = {s.files_opened, s.files_indexed, s.clips,
                                           s.frames,       s.bytes_read,    s.index_ns,
                                           s.decode_ns,    s.wait_ns,       s.active_ns};
    const DatasetStatistics::Skipped skipped = s.skipped();
    std::vector<std::string> reasons;
    std::vector<int64_t> counts;
    for (const auto& [reason, count] : skipped.by_reason) {
      reasons.push_back(reason);
      counts.push_back(count);
    }
    TF_RETURN_IF_ERROR(SetVector<int64_t>(context, 0, counters));
    TF_RETURN_IF_ERROR(SetVector<tstring>(context, 1, reasons));
    TF_RETURN_IF_ERROR(SetVector<int64_t>(context, 2, counts));
    return SetVector<tstring>(context, 3, skipped.messages);
  }
};

class ClipCountsOp : public OpKernel {
 public:
  explicit ClipCountsOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, ReadClipAttributes(context, &clips_));
    OP_REQUIRES_OK(context, context->GetAttr("index_cache", &cache_));
    OP_REQUIRES_OK(context, context->GetAttr("max_pixels", &limits_.max_pixels));
    OP_REQUIRES_OK(context, context->GetAttr("max_packets", &limits_.max_packets));
    OP_REQUIRES_OK(context, ReadTimeout(context, &timeout_));
  }

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Count(context)); }

 private:
  absl::Status Count(OpKernelContext* context) const {
    ClipSpec clips = clips_;
    NVC_RETURN_IF_ERROR(ReadScalar(context, 1, "period", &clips.period));
    NVC_RETURN_IF_ERROR(clips.Validate());
    const Tensor& videos = context->input(0);
    std::vector<TimeSegment> segments;
    NVC_RETURN_IF_ERROR(
        ReadSegments(context->input(2), videos, /*names_are_files=*/true, &segments));
    const auto store = MakeFileStore(videos, cache_, limits_);
    const Cancelled cancelled = StepCancelled(context, /*timeout=*/0);
    DatasetStatistics statistics;
    std::vector<int64_t> counts, frames;
    std::vector<std::string> errors;
    for (int64_t i = 0; i < videos.NumElements(); ++i) {
      if (IsCancelled(cancelled)) return cancelled.Error("indexing files");
      const char* stage = "";
      const auto video = store->Open(i, cancelled.Before(Deadline(timeout_)), &statistics, &stage);
      const TimeSegment segment =
          segments.empty() ? TimeSegment() : segments[static_cast<size_t>(i)];
      counts.push_back(video.ok() ? CountOf(clips, *video->index, segment) : 0);
      frames.push_back(video.ok() ? video->index->num_frames() : 0);
      errors.push_back(video.ok() ? "" : absl::StrCat(stage, ": ", video.status().ToString()));
    }
    TF_RETURN_IF_ERROR(SetVector<int64_t>(context, 0, counts));
    TF_RETURN_IF_ERROR(SetVector<int64_t>(context, 1, frames));
    return SetVector<tstring>(context, 2, errors);
  }

  static int64_t CountOf(const ClipSpec& clips, const FrameIndex& index,
                         const TimeSegment& segment) {
    if (clips.sampling == ClipSampling::kAll) return clips.CountAll(index, segment);
    const bool fits = clips.pad != ClipPad::kDrop || clips.CountAll(index, segment) > 0;
    return fits ? clips.clips_per_video : 0;
  }

  ClipSpec clips_;
  std::string cache_;
  FrameIndex::Limits limits_;
  double timeout_ = 0;
};

REGISTER_KERNEL_BUILDER(Name("VideoDatasetStatistics").Device(::tensorflow::DEVICE_CPU),
                        StatisticsOp);
REGISTER_KERNEL_BUILDER(Name("VideoClipCounts").Device(::tensorflow::DEVICE_CPU), ClipCountsOp);

}  // namespace
}  // namespace nvc
