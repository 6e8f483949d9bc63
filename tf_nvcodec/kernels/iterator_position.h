// Where a VideoDataset's iterator stands, as a checkpoint holds it.
#ifndef TF_NVCODEC_KERNELS_ITERATOR_POSITION_H_
#define TF_NVCODEC_KERNELS_ITERATOR_POSITION_H_

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
  bool exhausted = false;           // the cursor came to its end

  // `shape_of_order` tells datasets apart: positions of one mean nothing in another.
  absl::Status Write(const std::string& prefix, const std::vector<int64_t>& shape_of_order,
                     ::tensorflow::data::IteratorStateWriter* writer) const;
  // InvalidArgument when the checkpoint is of another dataset; DataLoss when it makes no sense.
  absl::Status Read(const std::string& prefix, const std::vector<int64_t>& shape_of_order,
                    int64_t num_videos, ::tensorflow::data::IteratorStateReader* reader);
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_ITERATOR_POSITION_H_
