// The attributes and geometry inputs that all decoding ops share.
#ifndef TF_NVCODEC_KERNELS_DECODE_SETUP_H_
#define TF_NVCODEC_KERNELS_DECODE_SETUP_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.pb.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/decode/frame_collector.h"
#include "tf_nvcodec/core/decode/video_reader.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/format/frame_format.h"
#include "tf_nvcodec/kernels/gpu_stream.h"
#include "tf_nvcodec/nv/decode/decode_backend.h"

namespace nvc {

struct DecodeAttributes {
  OutputSpec output;  // without size and crop, which are inputs
  ::tensorflow::DataType dtype = ::tensorflow::DT_UINT8;
  Backend backend = Backend::kAuto;
  OnError on_error = OnError::kRaise;
  int num_threads = 0;
  int64_t max_pixels = 0, max_frames = 0, max_bytes = 0;

  // FailedPrecondition when backend="nvdec" can't be had on this machine.
  absl::Status Read(::tensorflow::OpKernelConstruction* context);
};

// Puts inputs `size_input` ([height, width]) and `crop_input` ([top, left, height, width]) into
// `output`; zeros mean none.
absl::Status ReadGeometry(::tensorflow::OpKernelContext* context, int size_input, int crop_input,
                          OutputSpec* output);

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
