// Saves and restores the position of a VideoDataset's iterator in a checkpoint.
#ifndef TF_NVCODEC_KERNELS_DATASET_ITERATOR_POSITION_H_
#define TF_NVCODEC_KERNELS_DATASET_ITERATOR_POSITION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/dataset.h"
#include "tf_nvcodec/core/clips/clip_cursor.h"

namespace nvc {

struct IteratorPosition {
  bool started = false;  // the epoch has its seed
  uint64_t epoch_seed = 0;
  ClipCursor::State cursor;
  std::vector<SeededClip> pending;  // taken from the cursor, not yet returned
  bool exhausted = false;           // the cursor has reached its end

  // Writes the position. `shape_of_order` identifies the dataset: a position is valid only in a
  // dataset with the same numbers.
  absl::Status Write(const std::string& prefix, const std::vector<int64_t>& shape_of_order,
                     ::tensorflow::data::IteratorStateWriter* writer) const;
  // Reads the position. Returns InvalidArgument if the checkpoint comes from another dataset,
  // DataLoss if its numbers make no sense.
  absl::Status Read(const std::string& prefix, const std::vector<int64_t>& shape_of_order,
                    int64_t num_videos, ::tensorflow::data::IteratorStateReader* reader);
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DATASET_ITERATOR_POSITION_H_
