// The tf.data dataset behind VideoDataset.
#ifndef TF_NVCODEC_KERNELS_DATASET_VIDEO_DATASET_H_
#define TF_NVCODEC_KERNELS_DATASET_VIDEO_DATASET_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/dataset.h"
#include "tf_nvcodec/core/clips/clip_order.h"
#include "tf_nvcodec/kernels/dataset/clip_reader.h"
#include "tf_nvcodec/kernels/stream/dataset_statistics.h"
#include "tf_nvcodec/kernels/stream/video_store.h"

namespace nvc {

// All arguments of the op. The dataset keeps the tensors to write itself into a graph again.
struct VideoDatasetArguments {
  ClipArguments clip;
  ClipCounts counts;
  ClipOrder::Options order;
  int64_t seed = 0, seed2 = 0;  // seeds of the splits; both 0: random
  bool reshuffle_each_iteration = true;
  int64_t num_parallel_calls = ::tensorflow::data::model::kAutotune;
  std::string deterministic;  // "true", "false" or "default"
  std::string statistics_name;
  std::string cache_directory;
  ::tensorflow::DataTypeVector output_types;
  std::vector<::tensorflow::PartialTensorShape> output_shapes;

  std::vector<::tensorflow::Tensor> inputs;  // all but the seed dataset and the components
  std::vector<std::pair<std::string, ::tensorflow::AttrValue>> attributes;
};

class VideoDataset : public ::tensorflow::data::DatasetBase {
 public:
  // The first element of `seeds` is the seed of an epoch.
  VideoDataset(::tensorflow::OpKernelContext* context, const ::tensorflow::data::DatasetBase* seeds,
               VideoDatasetArguments arguments);
  ~VideoDataset() override;

  const ::tensorflow::DataTypeVector& output_dtypes() const override {
    return arguments_.output_types;
  }
  const std::vector<::tensorflow::PartialTensorShape>& output_shapes() const override {
    return arguments_.output_shapes;
  }
  std::string DebugString() const override { return "VideoDatasetOp::Dataset"; }
  absl::Status CheckExternalState() const override { return absl::OkStatus(); }
  absl::Status InputDatasets(
      std::vector<const ::tensorflow::data::DatasetBase*>* inputs) const override;
  absl::Status MakeSplitProviders(
      std::vector<std::unique_ptr<::tensorflow::data::SplitProvider>>* providers) const override;
  int64_t CardinalityInternal(::tensorflow::data::CardinalityOptions options) const override;

  const VideoDatasetArguments& arguments() const { return arguments_; }
  const ClipOrder& order() const { return order_; }
  const ClipReader& reader() const { return reader_; }
  DatasetStatistics* statistics() const { return statistics_.get(); }
  const ::tensorflow::data::DatasetBase* seeds() const { return seeds_; }

  // Whether one pass reads the clips of a video, which come in the order of its frames then. Only
  // times of sampling "at" may still go back.
  bool in_order() const;
  // Returns whether reading a clip can yield no element, because of on_error or pad="drop".
  bool may_leave_out() const;

 protected:
  absl::Status AsGraphDefInternal(::tensorflow::data::SerializationContext* context,
                                  DatasetGraphDefBuilder* builder,
                                  ::tensorflow::Node** node) const override;
  std::unique_ptr<::tensorflow::data::IteratorBase> MakeIteratorInternal(
      const std::string& prefix) const override;

 private:
  const ::tensorflow::data::DatasetBase* const seeds_;
  const VideoDatasetArguments arguments_;
  const ClipOrder order_;
  const std::unique_ptr<VideoStore> store_;
  const std::shared_ptr<DatasetStatistics> statistics_;
  const ClipReader reader_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DATASET_VIDEO_DATASET_H_
