// Decodes the packets of one stream with NVDEC, behind core's Decoder interface. The driver's
// parser reads the packets, a session from a pool decodes them, and each frame carries a
// GpuPicture.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_DECODER_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_DECODER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/decode/nvdec_pool.h"

namespace nvc {

// Opens a decoder on NVDEC. Returns Unimplemented, with the reason, if the GPU can't decode this
// stream. If only the stream's own headers tell that, Send returns it, and so does every later
// Send.
//
// Unless low_latency is set, frames come out some packets late, so that the engine always has more
// pictures to work on. PacketPos() of a frame names its packet. A caller may hold and read frames
// after the decoder is destroyed, but always fewer than NvdecSession::kOutputSurfaces frames of a
// decoder at a time.
//
// A DataLoss concerns the packet only. After Internal or FailedPrecondition, which concern the GPU,
// the decoder decodes nothing more. It ignores num_threads and reorder_depth, and always does
// what output_unreachable says.
absl::StatusOr<std::unique_ptr<Decoder>> OpenNvdecDecoder(GpuDevice* device,
                                                          const AVCodecParameters& codec,
                                                          AVRational time_base,
                                                          const DecoderOptions& options);
// The same with sessions of `pool`.
absl::StatusOr<std::unique_ptr<Decoder>> OpenNvdecDecoder(NvdecPool* pool,
                                                          const AVCodecParameters& codec,
                                                          AVRational time_base,
                                                          const DecoderOptions& options);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_DECODER_H_
