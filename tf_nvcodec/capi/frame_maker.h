// Makes the C API's frames of a decoder's pictures.
#ifndef TF_NVCODEC_CAPI_FRAME_MAKER_H_
#define TF_NVCODEC_CAPI_FRAME_MAKER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/capi/frame.h"
#include "tf_nvcodec/core/convert/surface.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"

namespace nvc {

class GpuDevice;

// The device that decodes, and the memory where frames stay.
struct GpuChoice {
  GpuDevice* device = nullptr;  // null: the CPU decodes
  bool frames_stay = false;     // whether frames stay in GPU memory
  uint64_t stream = 0;          // the caller's CUDA stream for copies; 0: one of our own
};

// Makes frames of a decoder's pictures. Not thread-safe.
class FrameMaker {
 public:
  virtual ~FrameMaker() = default;
  // Makes a frame that has its own memory and is complete on return.
  virtual absl::StatusOr<std::unique_ptr<nvc_frame>> Make(const AVFrame& picture) = 0;
};

// Returns a maker for pictures in host memory.
std::unique_ptr<FrameMaker> MakeHostFrames(SurfaceColor color);

// Returns the timestamp of the picture's packet, or else FFmpeg's guess. Returns AV_NOPTS_VALUE if
// there is neither.
int64_t TimestampOf(const AVFrame& picture);

}  // namespace nvc

#endif  // TF_NVCODEC_CAPI_FRAME_MAKER_H_
