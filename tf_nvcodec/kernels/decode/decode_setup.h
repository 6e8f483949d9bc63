// Reads the attributes and geometry inputs that all decoding ops share, and chooses the decoder.
#ifndef TF_NVCODEC_KERNELS_DECODE_DECODE_SETUP_H_
#define TF_NVCODEC_KERNELS_DECODE_DECODE_SETUP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.pb.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/decode/frame_collector.h"
#include "tf_nvcodec/core/decode/frame_stream.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/format/frame_format.h"
#include "tf_nvcodec/core/index/frame_index.h"
#include "tf_nvcodec/kernels/tensors/gpu_stream.h"
#include "tf_nvcodec/nv/decode/decode_backend.h"

namespace nvc {

// The decoding attributes of an op.
struct DecodeAttributes {
  OutputSpec output;  // without size and crop, which are inputs
  ::tensorflow::DataType dtype = ::tensorflow::DT_UINT8;
  Backend backend = Backend::kAuto;
  OnError on_error = OnError::kRaise;
  int num_threads = 0;
  int64_t max_pixels = 0, max_frames = 0, max_packets = 0, max_bytes = 0;
  double timeout = 0;  // seconds; 0: no limit

  // Reads the attributes from `context`. Returns FailedPrecondition if backend="nvdec" and this
  // machine has no usable NVDEC.
  absl::Status Read(::tensorflow::OpKernelConstruction* context);

  // For an index of any length: max_frames is about the result.
  FrameIndex::Limits index_limits() const {
    FrameIndex::Limits limits;
    limits.max_pixels = max_pixels;
    limits.max_packets = max_packets;
    return limits;
  }

  // The policy for damaged frames of a clip. A clip has a fixed length, so a clip with damaged
  // frames is left out as a whole unless they are repeated.
  OnError on_error_in_clip() const {
    return on_error == OnError::kRepeat ? OnError::kRepeat : OnError::kRaise;
  }
};

// Reads input `size_input` ([height, width]) and input `crop_input` ([top, left, height, width])
// into `output`. Zeros mean no resizing and no cropping; a size of [-n, -n] is the shorter side.
absl::Status ReadGeometry(::tensorflow::OpKernelContext* context, int size_input, int crop_input,
                          OutputSpec* output);

// Returns about how many bytes an output frame has, rounded up for most formats.
int64_t FrameBytesAtMost(const DecodeAttributes& attributes, const AVCodecParameters& codec);

// Returns the frames start, start + stride, ... below stop of a video of `count` frames, by
// Python's slice rules: a negative position counts from the end.
absl::StatusOr<std::vector<int64_t>> FramesInSlice(int64_t start, int64_t stop, int64_t stride,
                                                   int64_t count);

// The decoder for one stream.
struct DecodeSetup {
  ReadOptions options;
  std::unique_ptr<NvdecQuota> quota;  // this decode's quota of the GPU's NVDEC engines
  // Makes the target for a batch: memory of the GPU that the frames must be on, or host memory.
  std::function<std::unique_ptr<FrameTarget>()> new_target;
};

// Chooses the decoder for `stream`. `gpu` says on which GPU the frames must be; null means host
// memory. Returns Unimplemented or FailedPrecondition if backend="nvdec" can't decode this stream.
// If "auto" falls back to the CPU, it logs the reason once; so it does if the frames are left as
// stored for an odd display matrix.
absl::StatusOr<DecodeSetup> SetUpDecoding(const DecodeAttributes& attributes, const GpuStream* gpu,
                                          const StreamInfo& stream, const Cancelled& cancelled);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DECODE_DECODE_SETUP_H_
