// Hands out the units of a ClipOrder to the workers of tf.data service's dynamic sharding.
#ifndef TF_NVCODEC_KERNELS_DATASET_CLIP_SPLIT_PROVIDER_H_
#define TF_NVCODEC_KERNELS_DATASET_CLIP_SPLIT_PROVIDER_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "tensorflow/core/framework/dataset.h"

namespace nvc {

// A split is an int64 [2]: a unit and the seed of its epoch. A worker needs nothing else to decode
// the unit.
class ClipSplitProvider : public ::tensorflow::data::SplitProvider {
 public:
  // If `seed` and `seed2` are both 0, draws a random seed.
  ClipSplitProvider(int64_t num_units, uint64_t seed, uint64_t seed2, bool reshuffle);

  absl::Status GetNext(::tensorflow::Tensor* split, bool* end_of_splits) override;
  absl::Status Reset() override;
  absl::Status Save(std::function<std::string(std::string)> full_name,
                    ::tensorflow::data::IteratorStateWriter* writer) override;
  absl::Status Restore(std::function<std::string(std::string)> full_name,
                       ::tensorflow::data::IteratorStateReader* reader) override;
  int64_t Cardinality() const override { return num_units_; }

 private:
  const int64_t num_units_;
  const bool reshuffle_;
  std::mutex mutex_;
  uint64_t seed_;
  int64_t next_ = 0, epoch_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DATASET_CLIP_SPLIT_PROVIDER_H_
