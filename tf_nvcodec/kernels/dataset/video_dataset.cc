#include "tf_nvcodec/kernels/dataset/video_dataset.h"

#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/clips/clip_spec.h"
#include "tf_nvcodec/kernels/dataset/clip_split_provider.h"
#include "tf_nvcodec/kernels/dataset/video_dataset_iterator.h"

namespace nvc {

using ::tensorflow::Node;
using ::tensorflow::Tensor;
using ::tensorflow::data::CardinalityOptions;
using ::tensorflow::data::DatasetBase;
using ::tensorflow::data::DatasetContext;
using ::tensorflow::data::IteratorBase;
using ::tensorflow::data::SerializationContext;
using ::tensorflow::data::SplitProvider;

namespace {

std::unique_ptr<VideoStore> MakeStore(const VideoDatasetArguments& arguments) {
  const ClipArguments& clip = arguments.clip;
  return clip.names_are_files
             ? MakeFileStore(clip.videos, arguments.cache_directory, clip.decode.index_limits())
             : MakeMemoryStore(clip.videos, clip.decode.index_limits());
}

}  // namespace

VideoDataset::VideoDataset(::tensorflow::OpKernelContext* context, const DatasetBase* seeds,
                           VideoDatasetArguments arguments)
    : DatasetBase(DatasetContext(context)),
      seeds_(seeds),
      arguments_(std::move(arguments)),
      order_(arguments_.counts, arguments_.order),
      store_(MakeStore(arguments_)),
      statistics_(DatasetStatistics::Of(arguments_.statistics_name)),
      reader_(&arguments_.clip, store_.get(), statistics_.get()) {
  seeds_->Ref();
}

VideoDataset::~VideoDataset() { seeds_->Unref(); }

bool VideoDataset::in_order() const {
  // Packed clips have no pictures in common, so they are read side by side.
  return !arguments_.order.shuffle && !arguments_.clip.pack &&
         arguments_.clip.clips.sampling != ClipSampling::kRandom;
}

bool VideoDataset::may_leave_out() const {
  // `counts` holds only clips that fit into their videos, except for sampling "at", where the user
  // gives the times.
  const bool all_fit =
      arguments_.clip.clips.pad != ClipPad::kDrop ||
      (!arguments_.counts.counts.empty() && arguments_.clip.clips.sampling != ClipSampling::kAt);
  return arguments_.clip.decode.on_error != OnError::kRaise || !all_fit;
}

absl::Status VideoDataset::InputDatasets(std::vector<const DatasetBase*>* inputs) const {
  inputs->push_back(seeds_);
  return absl::OkStatus();
}

absl::Status VideoDataset::MakeSplitProviders(
    std::vector<std::unique_ptr<SplitProvider>>* providers) const {
  providers->push_back(std::make_unique<ClipSplitProvider>(
      order_.num_units(), static_cast<uint64_t>(arguments_.seed),
      static_cast<uint64_t>(arguments_.seed2), arguments_.reshuffle_each_iteration));
  return absl::OkStatus();
}

int64_t VideoDataset::CardinalityInternal(CardinalityOptions options) const {
  const bool known = order_.units_are_clips() && !may_leave_out();
  return known ? order_.num_units() : ::tensorflow::data::kUnknownCardinality;
}

absl::Status VideoDataset::AsGraphDefInternal(SerializationContext* context,
                                              DatasetGraphDefBuilder* builder, Node** node) const {
  Node* seeds = nullptr;
  TF_RETURN_IF_ERROR(builder->AddInputDataset(context, seeds_, &seeds));
  std::vector<Node*> components(arguments_.clip.components.size());
  for (size_t i = 0; i < components.size(); ++i) {
    TF_RETURN_IF_ERROR(
        builder->AddDatasetOrTensor(context, arguments_.clip.components[i], &components[i]));
  }
  std::vector<std::pair<size_t, Node*>> inputs = {{0, seeds}};
  for (size_t i = 0; i < arguments_.inputs.size(); ++i) {
    Node* input = nullptr;
    TF_RETURN_IF_ERROR(builder->AddDatasetOrTensor(context, arguments_.inputs[i], &input));
    inputs.emplace_back(i + 1, input);
  }
  std::vector<std::pair<absl::string_view, ::tensorflow::AttrValue>> attributes;
  for (const auto& [name, value] : arguments_.attributes) attributes.emplace_back(name, value);
  return builder->AddDataset(this, inputs, {{arguments_.inputs.size() + 1, components}}, attributes,
                             node);
}

std::unique_ptr<IteratorBase> VideoDataset::MakeIteratorInternal(const std::string& prefix) const {
  return MakeVideoDatasetIterator(this, prefix + "::Video");
}

}  // namespace nvc
