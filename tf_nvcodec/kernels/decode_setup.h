// Which decoder makes a kernel's frames, and where they go.
#ifndef TF_NVCODEC_KERNELS_DECODE_SETUP_H_
#define TF_NVCODEC_KERNELS_DECODE_SETUP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/decode/frame_target.h"
#include "tf_nvcodec/core/decode/video_reader.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/kernels/decode_attributes.h"
#include "tf_nvcodec/kernels/gpu_stream.h"
#include "tf_nvcodec/nv/decode/decode_backend.h"

namespace nvc {

struct DecodeSetup {
  ReadOptions options;
  std::unique_ptr<FrameTarget> target;
  std::unique_ptr<NvdecShare> share;  // of the GPU's engines, while it decodes
};

// `gpu`: where the frames are to be; null: in host memory. Unimplemented or FailedPrecondition
// when backend="nvdec" can't have this stream; where "auto" can't, the log says so once.
absl::StatusOr<DecodeSetup> SetUpDecoding(const DecodeAttributes& attributes, const GpuStream* gpu,
                                          const StreamInfo& stream, const Cancelled& cancelled);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DECODE_SETUP_H_
