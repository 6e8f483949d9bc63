// Where a batch of frames lies and how frames get there: host memory, or a GPU's.
#ifndef TF_NVCODEC_CORE_DECODE_FRAME_COLLECTOR_H_
#define TF_NVCODEC_CORE_DECODE_FRAME_COLLECTOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/core/decode/video_reader.h"
#include "tf_nvcodec/core/format/frame_format.h"

namespace nvc {

// Thread-safe. Must outlive the converters it made.
class FrameTarget {
 public:
  virtual ~FrameTarget() = default;

  // What a converter for `picture` is made for.
  virtual SourceSpec SourceOf(const AVFrame& picture, int rotation) const {
    return SourceSpec::Of(picture, rotation);
  }
  // A converter for pictures of this source whose AVFrame::format is that of `picture`. What it
  // writes may be under way until it is destroyed.
  virtual absl::StatusOr<std::unique_ptr<FrameConverter>> NewConverter(const OutputSpec& output,
                                                                       const AVFrame& picture,
                                                                       int rotation) = 0;
  // The batch has its memory.
  virtual void SetMemory(void* memory, size_t bytes) {}
  // Copies a frame to another place of the batch, after all that was asked for before; at once, or
  // by Finish. Frames are whole: the same one or apart.
  virtual absl::Status Copy(void* to, const void* from, size_t bytes) = 0;
  // Once all converters are destroyed: whatever is asked of the batch's memory from now on comes
  // after the frames. The first thing that went wrong since the beginning.
  virtual absl::Status Finish() { return absl::OkStatus(); }
};

// Memory of the host, for pictures of the host.
class HostTarget : public FrameTarget {
 public:
  absl::StatusOr<std::unique_ptr<FrameConverter>> NewConverter(const OutputSpec& output,
                                                               const AVFrame& picture,
                                                               int rotation) override;
  void SetMemory(void* memory, size_t bytes) override;
  absl::Status Copy(void* to, const void* from, size_t bytes) override;
};

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
