// Collects the decoded frames of a read into one batch, in host memory or in a GPU's memory.
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
#include "tf_nvcodec/core/decode/frame_stream.h"
#include "tf_nvcodec/core/format/frame_format.h"

namespace nvc {

// The memory that a batch lies in, and how frames get there. Thread-safe. A target must outlive the
// converters that it made.
class FrameTarget {
 public:
  virtual ~FrameTarget() = default;

  // Returns the properties of `picture` that a converter is made for.
  virtual SourceSpec SourceOf(const AVFrame& picture, Orientation orientation) const {
    return SourceSpec::Of(picture, orientation);
  }
  // Makes a converter for pictures that have the same source and AVFrame::format as `picture`. The
  // last frames that it converts may still be on their way until it is destroyed.
  virtual absl::StatusOr<std::unique_ptr<FrameConverter>> NewConverter(const OutputSpec& output,
                                                                       const AVFrame& picture,
                                                                       Orientation orientation) = 0;
  // True when a frame is in its place as soon as Convert returns. Several batches can then share
  // the target and its converters.
  virtual bool IsImmediate() const { return false; }
  // Tells the target the batch's memory, before any frame is written to it.
  virtual void SetMemory(void* memory, size_t bytes) {}
  // Copies a frame to another place in the batch, after all work that was queued before. The copy
  // happens now, or at the latest in Finish. `to` and `from` are the same frame or do not overlap.
  virtual absl::Status Copy(void* to, const void* from, size_t bytes) = 0;
  // Ends the batch, once all converters are destroyed. Later uses of the batch's memory are ordered
  // after its frames. Returns the first error of the whole batch.
  virtual absl::Status Finish() { return absl::OkStatus(); }
};

// Host memory, for pictures in host memory.
class HostTarget : public FrameTarget {
 public:
  absl::StatusOr<std::unique_ptr<FrameConverter>> NewConverter(const OutputSpec& output,
                                                               const AVFrame& picture,
                                                               Orientation orientation) override;
  bool IsImmediate() const override { return true; }
  void SetMemory(void* memory, size_t bytes) override;
  absl::Status Copy(void* to, const void* from, size_t bytes) override;
};

// A converter for each worker of a read, made for the pictures that it has. Thread-safe for
// different workers.
class FrameConverters {
 public:
  // `orientation`: the stream's. `target` must outlive the converters.
  FrameConverters(const OutputSpec& output, Orientation orientation, FrameTarget* target)
      : output_(output), orientation_(orientation), target_(*target) {}

  void Start(int workers) { converters_.resize(static_cast<size_t>(workers)); }
  absl::StatusOr<FrameConverter*> For(int worker, const AVFrame& picture);
  // Destroys the worker's converter, which delivers its last frame.
  void Leave(int worker) { converters_[static_cast<size_t>(worker)].converter.reset(); }
  void Clear() { converters_.clear(); }

 private:
  struct WorkersConverter {
    std::unique_ptr<FrameConverter> converter;
    int format = -1;  // AVFrame::format of the pictures
  };

  const OutputSpec output_;
  const Orientation orientation_;
  FrameTarget& target_;
  std::vector<WorkersConverter> converters_;
};

// What to do with damaged frames. kRaise: the call fails. kSkip: they are left out. kRepeat: the
// nearest earlier good frame replaces each; the first good frame replaces those before it.
enum class OnError { kRaise, kSkip, kRepeat };
absl::StatusOr<OnError> ParseOnError(absl::string_view name);

// Returns memory for `count` frames of `shape`. The memory lives as long as the batch.
using AllocateFrames = std::function<absl::StatusOr<void*>(const FrameShape& shape, int64_t count)>;

// Converts the frames of a read and writes them to their places in the batch.
class FrameCollector : public FrameSink {
 public:
  // `frames`: display indices in the order of the batch, also repeated ones. `orientation`: the
  // stream's, in degrees clockwise. `target`: describes the memory that `allocate` returns; it must
  // outlive the collector.
  FrameCollector(const OutputSpec& output, Orientation orientation,
                 const std::vector<int64_t>& frames, AllocateFrames allocate, FrameTarget* target);

  void Start(int workers) override { converters_.Start(workers); }
  absl::Status Write(int worker, int frame, const AVFrame& picture) override;
  void Leave(int worker) override { converters_.Leave(worker); }

  // The two halves of Write for a caller that converts frames itself, with a target that
  // IsImmediate. Place returns where a frame of `shape` made of `picture` belongs, or null if the
  // batch has no such frame or another shape. Repeat copies it to the other places that it has in
  // the batch.
  absl::StatusOr<void*> Place(int frame, const AVFrame& picture, const FrameShape& shape);
  absl::Status Repeat(int frame);

  // Ends the batch without a result. Its memory may be freed afterwards.
  void Discard() { converters_.Clear(); }

  // True after the first picture, which determines the shape of the batch.
  bool has_shape() const { return allocated_; }

  // Applies `on_error` after the last frame. Returns for each frame left in the batch whether it is
  // valid. `slots` tells which of the wanted frames each one is. Returns InvalidArgument when the
  // stream changes its picture size or sample format and `output` does not bring all frames to one
  // shape.
  absl::StatusOr<std::vector<bool>> Finish(const FrameIndex& index, const DamagedFrames& damaged,
                                           OnError on_error, std::vector<size_t>* slots);

 private:
  struct Kind {
    FrameShape shape;
    int format = -1;  // AVFrame::format of the picture
  };

  absl::Status Allocate(const Kind& first);
  absl::Status CheckShapes(const DamagedFrames& damaged) const;
  uint8_t* Slot(size_t i) const { return base_ + i * shape_.bytes; }

  const std::vector<int64_t>& frames_;
  const AllocateFrames allocate_;
  std::unordered_map<int, std::vector<size_t>> slots_of_frame_;
  FrameTarget& target_;
  FrameConverters converters_;

  std::mutex mutex_;  // guards what follows until Finish
  bool allocated_ = false;
  FrameShape shape_;  // of the first picture that came
  int format_ = -1;
  uint8_t* base_ = nullptr;
  // Frames of other shapes. At the end is known where in the order of display the shape changes.
  std::unordered_map<int, Kind> others_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_FRAME_COLLECTOR_H_
