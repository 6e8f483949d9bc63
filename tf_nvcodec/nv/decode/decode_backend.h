// Chooses between NVDEC and FFmpeg for a stream, and sets the reading up for the choice.
#ifndef TF_NVCODEC_NV_DECODE_DECODE_BACKEND_H_
#define TF_NVCODEC_NV_DECODE_DECODE_BACKEND_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/decode/video_reader.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/decode/nvdec_quota.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

// kAuto: NVDEC for frames that are to be on a GPU, where it decodes the stream exactly as FFmpeg.
enum class Backend { kAuto, kCpu, kNvdec };

absl::StatusOr<Backend> ParseBackend(absl::string_view name);

// Of what "nvdec" can't do.
absl::Status WithNvdecCure(const absl::Status& status);

// The GPU for frames in host memory. FailedPrecondition: why there is none; asked once.
absl::StatusOr<GpuDevice*> DefaultNvdec();

// The GPU whose NVDEC is to decode the stream; null: FFmpeg is to. `frames_on`: the GPU that the
// frames are for; null: host memory. With kAuto, `why_not` says why a GPU's frames come from
// FFmpeg; with kNvdec that is the status.
absl::StatusOr<GpuDevice*> ChooseDecoder(Backend backend, GpuDevice* frames_on,
                                         const AVCodecParameters& codec, std::string* why_not);

// What ReadFrames needs for decoding on `device`, with the engines that `quota` allows. Where a
// segment turns out to be damaged, FFmpeg decodes it again: its word on what is damaged is the one
// that counts. So it does, with kAuto, where the stream's own headers tell that it is none for this
// GPU; `say` gets the reason.
DecoderFactory DecodeOnGpu(GpuDevice* device, Backend backend, NvdecQuota* quota,
                           std::function<void(const std::string& why)> say);

// Segments that FFmpeg decoded again, since the process began.
int64_t SegmentsDecodedAgain();

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_DECODE_BACKEND_H_
