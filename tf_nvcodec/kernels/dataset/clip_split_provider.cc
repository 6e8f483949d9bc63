#include "tf_nvcodec/kernels/dataset/clip_split_provider.h"

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/random.h"
#include "tf_nvcodec/core/base/permutation.h"

namespace nvc {
namespace {

using ::tensorflow::Tensor;
using ::tensorflow::data::IteratorStateReader;
using ::tensorflow::data::IteratorStateWriter;

constexpr char kNext[] = "clip_split_next";
constexpr char kEpoch[] = "clip_split_epoch";
constexpr char kSplitSeed[] = "clip_split_seed";

}  // namespace

ClipSplitProvider::ClipSplitProvider(int64_t num_units, uint64_t seed, uint64_t seed2,
                                     bool reshuffle)
    : num_units_(num_units),
      reshuffle_(reshuffle),
      seed_(seed == 0 && seed2 == 0 ? ::tensorflow::random::New64() : HashMix(seed, seed2)) {}

absl::Status ClipSplitProvider::GetNext(Tensor* split, bool* end_of_splits) {
  std::lock_guard<std::mutex> lock(mutex_);
  *end_of_splits = next_ >= num_units_;
  if (*end_of_splits) return absl::OkStatus();
  const uint64_t seed = HashMix(seed_, reshuffle_ ? static_cast<uint64_t>(epoch_) : 0);
  *split = Tensor(::tensorflow::DT_INT64, ::tensorflow::TensorShape({2}));
  split->vec<int64_t>()(0) = next_++;
  split->vec<int64_t>()(1) = static_cast<int64_t>(seed);
  return absl::OkStatus();
}

absl::Status ClipSplitProvider::Reset() {
  std::lock_guard<std::mutex> lock(mutex_);
  next_ = 0;
  ++epoch_;
  return absl::OkStatus();
}

absl::Status ClipSplitProvider::Save(std::function<std::string(std::string)> full_name,
                                     IteratorStateWriter* writer) {
  std::lock_guard<std::mutex> lock(mutex_);
  TF_RETURN_IF_ERROR(writer->WriteScalar(full_name(kNext), next_));
  TF_RETURN_IF_ERROR(writer->WriteScalar(full_name(kEpoch), epoch_));
  return writer->WriteScalar(full_name(kSplitSeed), static_cast<int64_t>(seed_));
}

absl::Status ClipSplitProvider::Restore(std::function<std::string(std::string)> full_name,
                                        IteratorStateReader* reader) {
  int64_t next = 0, epoch = 0, seed = 0;
  TF_RETURN_IF_ERROR(reader->ReadScalar(full_name(kNext), &next));
  TF_RETURN_IF_ERROR(reader->ReadScalar(full_name(kEpoch), &epoch));
  TF_RETURN_IF_ERROR(reader->ReadScalar(full_name(kSplitSeed), &seed));
  if (next < 0 || next > num_units_ || epoch < 0) {
    return absl::InvalidArgumentError(absl::StrCat("the saved split ", next, " of epoch ", epoch,
                                                   " is outside this dataset of ", num_units_,
                                                   " units"));
  }
  std::lock_guard<std::mutex> lock(mutex_);
  next_ = next;
  epoch_ = epoch;
  seed_ = static_cast<uint64_t>(seed);
  return absl::OkStatus();
}

}  // namespace nvc
