// Where decoders and the memory of frames come from: the CPU, or a GPU.
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

struct GpuChoice {
  GpuDevice* device = nullptr;  // null: the CPU decodes
  bool frames_stay = false;     // in the GPU's memory
  uint64_t stream = 0;          // CUDA stream of the caller's for the copies; 0: one of our own
};

// Makes frames of a decoder's pictures. Not thread-safe.
class FrameMaker {
 public:
  virtual ~FrameMaker() = default;
  // The frame has memory of its own and is complete on return.
  virtual absl::StatusOr<std::unique_ptr<nvc_frame>> Make(const AVFrame& picture) = 0;
};

// Of pictures in host memory.
std::unique_ptr<FrameMaker> MakeHostFrames(SurfaceColor color);

// The timestamp of its packet, else FFmpeg's guess; AV_NOPTS_VALUE when there is none.
int64_t TimestampOf(const AVFrame& picture);

}  // namespace nvc

#endif  // TF_NVCODEC_CAPI_FRAME_MAKER_H_
