// Where a batch of frames lies and how frames get there: host memory, or a GPU's.
#ifndef TF_NVCODEC_CORE_DECODE_FRAME_TARGET_H_
#define TF_NVCODEC_CORE_DECODE_FRAME_TARGET_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"
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

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_FRAME_TARGET_H_
