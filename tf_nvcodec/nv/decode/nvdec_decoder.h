// core's Decoder on NVDEC: the driver's parser reads the packets, a pooled session decodes, and the
// frames that come out carry a GpuPicture.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_DECODER_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_DECODER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/decode/nvdec_pool.h"

namespace nvc {

// Unimplemented: the GPU does not take this stream, and why; also from Send, where only the
// stream's own headers tell, and then from every Send after it.
//
// Pictures come some packets late, so that the engine always has the next ones to work on, unless
// low_latency is set; each names its packet in pkt_pos. A frame may be held, and read, after the
// decoder is gone, but of one decoder fewer than NvdecSession::kOutputSurfaces at a time.
//
// DataLoss is about the packet. Internal and FailedPrecondition are about the GPU: nothing will
// decode after them. num_threads and reorder_depth don't matter here; pictures that the decoder
// holds for unreachable are always given.
absl::StatusOr<std::unique_ptr<Decoder>> OpenNvdecDecoder(GpuDevice* device,
                                                          const AVCodecParameters& codec,
                                                          AVRational time_base,
                                                          const DecoderOptions& options);
// With sessions of that pool.
absl::StatusOr<std::unique_ptr<Decoder>> OpenNvdecDecoder(NvdecPool* pool,
                                                          const AVCodecParameters& codec,
                                                          AVRational time_base,
                                                          const DecoderOptions& options);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_DECODER_H_
