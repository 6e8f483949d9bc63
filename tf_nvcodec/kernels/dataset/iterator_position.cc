#include "tf_nvcodec/kernels/dataset/iterator_position.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/framework/tensor.h"

namespace nvc {
namespace {

using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

constexpr char kOrder[] = "order";
constexpr char kState[] = "state";
constexpr char kPending[] = "pending";
constexpr int64_t kStateSize = 7, kPendingSize = 3;

Tensor VectorTensor(const std::vector<int64_t>& values) {
  Tensor tensor(::tensorflow::DT_INT64, TensorShape({static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), tensor.flat<int64_t>().data());
  return tensor;
}

absl::Status ReadVector(const std::string& prefix, const char* key,
                        ::tensorflow::data::IteratorStateReader* reader,
                        std::vector<int64_t>* values) {
  Tensor tensor;
  TF_RETURN_IF_ERROR(reader->ReadTensor(prefix, key, &tensor));
  if (tensor.dtype() != ::tensorflow::DT_INT64 || tensor.dims() != 1) {
    return absl::DataLossError(absl::StrCat("the checkpoint is damaged: ", prefix, " ", key,
                                            " should be a vector of int64, got ",
                                            tensor.DebugString()));
  }
  const auto flat = tensor.vec<int64_t>();
  values->assign(flat.data(), flat.data() + flat.size());
  return absl::OkStatus();
}

}  // namespace

absl::Status IteratorPosition::Write(const std::string& prefix,
                                     const std::vector<int64_t>& shape_of_order,
                                     ::tensorflow::data::IteratorStateWriter* writer) const {
  std::vector<int64_t> waiting;
  for (const SeededClip& clip : pending) {
    waiting.insert(waiting.end(), {clip.id.video, clip.id.clip, static_cast<int64_t>(clip.seed)});
  }
  TF_RETURN_IF_ERROR(writer->WriteTensor(prefix, kOrder, VectorTensor(shape_of_order)));
  TF_RETURN_IF_ERROR(writer->WriteTensor(
      prefix, kState,
      VectorTensor({started, static_cast<int64_t>(epoch_seed), cursor.next_unit, cursor.unit,
                    cursor.place, static_cast<int64_t>(cursor.seed), exhausted})));
  return writer->WriteTensor(prefix, kPending, VectorTensor(waiting));
}

absl::Status IteratorPosition::Read(const std::string& prefix,
                                    const std::vector<int64_t>& shape_of_order, int64_t num_videos,
                                    ::tensorflow::data::IteratorStateReader* reader) {
  std::vector<int64_t> order, state, waiting;
  TF_RETURN_IF_ERROR(ReadVector(prefix, kOrder, reader, &order));
  TF_RETURN_IF_ERROR(ReadVector(prefix, kState, reader, &state));
  TF_RETURN_IF_ERROR(ReadVector(prefix, kPending, reader, &waiting));
  if (order.size() != shape_of_order.size()) {
    return absl::InvalidArgumentError(
        "another version of tf_nvcodec wrote the checkpoint: restore it with that version, or "
        "begin the epoch anew");
  }
  if (order != shape_of_order) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the checkpoint belongs to another VideoDataset (its order is ", absl::StrJoin(order, ", "),
        "; here it is ", absl::StrJoin(shape_of_order, ", "),
        "): restore it into one with the same files and arguments"));
  }
  if (static_cast<int64_t>(state.size()) != kStateSize || waiting.size() % kPendingSize != 0) {
    return absl::DataLossError(
        absl::StrCat("the checkpoint is damaged: its VideoDataset has a state of ", state.size(),
                     " numbers and waiting clips of ", waiting.size(), " numbers"));
  }
  started = state[0] != 0;
  epoch_seed = static_cast<uint64_t>(state[1]);
  cursor = {state[2], state[3], state[4], static_cast<uint64_t>(state[5])};
  exhausted = state[6] != 0;
  pending.clear();
  for (size_t i = 0; i < waiting.size(); i += kPendingSize) {
    if (waiting[i] < 0 || waiting[i] >= num_videos || waiting[i + 1] < 0) {
      return absl::DataLossError(absl::StrCat("the checkpoint is damaged: it names clip ",
                                              waiting[i + 1], " of video ", waiting[i],
                                              ", but there are ", num_videos, " videos"));
    }
    pending.push_back({{waiting[i], waiting[i + 1]}, static_cast<uint64_t>(waiting[i + 2])});
  }
  return absl::OkStatus();
}

}  // namespace nvc
