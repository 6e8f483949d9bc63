// Collects decoded frames into one dense batch, in the order they were asked for.
#ifndef TF_NVCODEC_CORE_DECODE_FRAME_COLLECTOR_H_
#define TF_NVCODEC_CORE_DECODE_FRAME_COLLECTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/core/decode/frame_target.h"
#include "tf_nvcodec/core/decode/video_reader.h"
#include "tf_nvcodec/core/format/frame_format.h"

namespace nvc {

// What happens to frames that can't be trusted: the call fails, they are left out, or the nearest
// earlier good frame (for leading ones the first good one) stands in for them.
enum class OnError { kRaise, kSkip, kRepeat };
absl::StatusOr<OnError> ParseOnError(absl::string_view name);

// Memory for `count` frames of `shape`, which stays valid as long as the batch.
using AllocateFrames = std::function<absl::StatusOr<void*>(const FrameShape& shape, int64_t count)>;

class FrameCollector : public FrameSink {
 public:
  // `frames`: display indices in the order wanted, duplicates allowed. `rotation`: of the stream.
  // `target` is where `allocate` takes memory from; it must outlive the collector.
  FrameCollector(const OutputSpec& output, int rotation, const std::vector<int64_t>& frames,
                 AllocateFrames allocate, FrameTarget* target);

  void Start(int workers) override;
  // InvalidArgument when the picture's size differs from the first one's and the output spec has
  // no size to bring both to.
  absl::Status Write(int worker, int frame, const AVFrame& picture) override;
  void Leave(int worker) override;

  // Whether a picture came, so that the shape of the batch is known.
  bool has_shape() const { return allocated_; }

  // Applies the policy once all frames are in. Returns, for each slot left in the batch, whether
  // it is valid, and in `slots` which of the wanted frames it is.
  absl::StatusOr<std::vector<bool>> Finish(const FrameIndex& index, const DamagedFrames& damaged,
                                           OnError on_error, std::vector<size_t>* slots);

 private:
  struct WorkersConverter {
    std::unique_ptr<FrameConverter> converter;
    int format = -1;  // of the pictures' AVFrames
  };

  absl::Status Allocate(const FrameShape& shape);
  absl::StatusOr<FrameConverter*> ConverterFor(int worker, const AVFrame& picture);
  uint8_t* Slot(size_t i) const { return base_ + i * shape_.bytes; }

  const OutputSpec output_;
  const int rotation_;
  const std::vector<int64_t>& frames_;
  const AllocateFrames allocate_;
  std::unordered_map<int, std::vector<size_t>> slots_of_frame_;
  FrameTarget& target_;
  std::vector<WorkersConverter> converters_;  // by worker

  std::mutex mutex_;  // guards the allocation
  bool allocated_ = false;
  FrameShape shape_;
  uint8_t* base_ = nullptr;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_FRAME_COLLECTOR_H_
