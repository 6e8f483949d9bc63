#include "tf_nvcodec/nv/decode/decode_backend.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/decode/nvdec_caps.h"
#include "tf_nvcodec/nv/decode/nvdec_decoder.h"
#include "tf_nvcodec/nv/decode/nvdec_pool.h"

namespace nvc {
namespace {

std::atomic<int64_t> decoded_again{0};

absl::StatusOr<GpuDevice*> FindDefaultNvdec() {
  NVC_ASSIGN_OR_RETURN(const int count, GpuDevice::Count());
  absl::Status status = NoGpu();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const auto device = GpuDevice::Get(ordinal);
    status = device.status();
    if (status.ok()) status = NvdecPool::Of(*device).status();
    if (status.ok()) return device;
  }
  return status;
}

// Returns the first Unimplemented status, which says that the GPU can't decode such streams, or OK.
absl::Status Unsupported(const DamagedFrames& damaged) {
  for (const auto& [frame, status] : damaged) {
    if (absl::IsUnimplemented(status)) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Backend> ParseBackend(absl::string_view name) {
  if (name == "auto") return Backend::kAuto;
  if (name == "cpu") return Backend::kCpu;
  if (name == "nvdec") return Backend::kNvdec;
  return absl::InvalidArgumentError(
      absl::StrCat("backend is '", name, "'; it must be one of: auto, cpu, nvdec"));
}

absl::Status WithNvdecCure(const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat("backend=\"nvdec\": ", status.message(),
                                   "; backend=\"auto\" or \"cpu\" decodes with FFmpeg"));
}

absl::StatusOr<GpuDevice*> DefaultNvdec() {
  // This check comes first because a forked process can't use the GPU that its parent found.
  const absl::Status driver = GetCudaDriver().status();
  if (!driver.ok()) return WithNvdecCure(driver);
  static std::atomic<GpuDevice*> found{nullptr};
  if (GpuDevice* const device = found; device != nullptr) return device;
  // A failure is not remembered, because it may be temporary, such as a lack of memory.
  const absl::StatusOr<GpuDevice*> device = FindDefaultNvdec();
  if (!device.ok()) return WithNvdecCure(device.status());
  found = *device;
  return *device;
}

absl::StatusOr<GpuDevice*> ChooseDecoder(Backend backend, GpuDevice* frames_on,
                                         const AVCodecParameters& codec, std::string* why_not) {
  why_not->clear();
  if (backend == Backend::kCpu) return nullptr;
  if (backend == Backend::kAuto) {
    if (frames_on == nullptr) return nullptr;
    const absl::Status status = CheckNvdecTakes(frames_on, codec);
    if (status.ok()) return frames_on;
    // Other errors, such as a GPU that is out of memory or gone, do not fall back to FFmpeg.
    if (!absl::IsUnimplemented(status) && !absl::IsFailedPrecondition(status)) return status;
    *why_not = std::string(status.message());
    return nullptr;
  }
  GpuDevice* device = frames_on;
  if (device == nullptr) {
    NVC_ASSIGN_OR_RETURN(device, DefaultNvdec());
  }
  const absl::Status status = CheckNvdecTakes(device, codec);
  if (!status.ok()) return WithNvdecCure(status);
  return device;
}

DecoderFactory DecodeOnGpu(GpuDevice* device, Backend backend, NvdecQuota* quota,
                           std::function<void(const std::string& why)> say) {
  DecoderFactory decoder;
  decoder.open = [device](const AVCodecParameters& codec, AVRational time_base,
                          const DecoderOptions& options) {
    return OpenNvdecDecoder(device, codec, time_base, options);
  };
  decoder.max_workers = quota->most();
  decoder.quota = quota;
  decoder.before_decoding_again = [backend, say = std::move(say)](const DamagedFrames& damaged) {
    const absl::Status unsupported = Unsupported(damaged);
    if (!unsupported.ok()) {
      if (backend == Backend::kNvdec) return WithNvdecCure(unsupported);
      say(std::string(unsupported.message()));
    }
    ++decoded_again;
    return absl::OkStatus();
  };
  return decoder;
}

int64_t SegmentsDecodedAgain() { return decoded_again; }

}  // namespace nvc
