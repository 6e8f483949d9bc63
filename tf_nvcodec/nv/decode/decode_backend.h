// Chooses between NVDEC and FFmpeg for a stream, and makes the DecoderFactory for NVDEC.
#ifndef TF_NVCODEC_NV_DECODE_DECODE_BACKEND_H_
#define TF_NVCODEC_NV_DECODE_DECODE_BACKEND_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/decode/frame_stream.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/decode/nvdec_quota.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

// kAuto uses NVDEC for frames that the caller wants on a GPU, if NVDEC decodes the stream exactly
// as FFmpeg does.
enum class Backend { kAuto, kCpu, kNvdec };

// Returns InvalidArgument, which lists the names, for an unknown name.
absl::StatusOr<Backend> ParseBackend(absl::string_view name);

// Returns the error of a decode with backend="nvdec", with the advice to use another backend.
absl::Status WithNvdecCure(const absl::Status& status);

// Returns the first GPU with NVDEC, for frames that go to host memory. Returns FailedPrecondition,
// with the reason, when no GPU has it. A GPU that was found is remembered.
absl::StatusOr<GpuDevice*> DefaultNvdec();

// Returns the GPU whose NVDEC decodes the stream, or null if FFmpeg decodes it. `frames_on` is the
// GPU that the frames go to; null means host memory. If kAuto chooses FFmpeg for frames that go to
// a GPU, `why_not` says why. If kNvdec can't decode the stream, the status says why.
absl::StatusOr<GpuDevice*> ChooseDecoder(Backend backend, GpuDevice* frames_on,
                                         const AVCodecParameters& codec, std::string* why_not);

// Makes what ReadFrames needs to decode on `device`, with as many sessions as `quota` allows. If a
// segment turns out to be damaged, FFmpeg decodes it again and decides which frames are damaged.
// With kAuto, FFmpeg also decodes segments whose own headers show that this GPU can't decode them.
// `say` then gets the reason.
DecoderFactory DecodeOnGpu(GpuDevice* device, Backend backend, NvdecQuota* quota,
                           std::function<void(const std::string& why)> say);

// Returns how many segments FFmpeg has decoded again in this process.
int64_t SegmentsDecodedAgain();

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_DECODE_BACKEND_H_
