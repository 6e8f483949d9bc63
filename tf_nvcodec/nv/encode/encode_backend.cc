#include "tf_nvcodec/nv/encode/encode_backend.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/codec_settings.h"
#include "tf_nvcodec/core/encode/nvenc_settings.h"
#include "tf_nvcodec/core/encode/stream_spec.h"
#include "tf_nvcodec/nv/cuda/gpu_copy.h"
#include "tf_nvcodec/nv/encode/gpu_frame_input.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

EncodeOptions ForNvenc(const EncodeOptions& options) {
  EncodeOptions nvenc = options;
  nvenc.engine = EncodeEngine::kNvenc;
  return nvenc;
}

absl::Status Write(const EncodeEngines& engines, const FrameBatch& frames,
                   const FrameTiming& timing, const EncodeOptions& options,
                   const Cancelled& cancelled, GrowingBytes* out) {
  EncodeOptions nvenc = ForNvenc(options);
  // The checks that need no GPU come first.
  NVC_RETURN_IF_ERROR(nvenc.Validate());
  NVC_ASSIGN_OR_RETURN(const StreamSpec stream, ChooseStream(frames, nvenc));
  NVC_RETURN_IF_ERROR(MakeNvencSettings(stream.encoder, nvenc).status());
  NVC_ASSIGN_OR_RETURN(const NvencGpu* const gpu, engines.find());
  NVC_RETURN_IF_ERROR(CheckNvencCodec(*gpu, options.codec));
  nvenc.gpu = gpu->device;
  return engines.write(frames, timing, nvenc, cancelled, out);
}

absl::Status WithCure(const absl::Status& status) {
  if (!absl::IsFailedPrecondition(status) && !absl::IsUnimplemented(status)) return status;
  return absl::Status(status.code(),
                      absl::StrCat("backend=\"nvenc\": ", status.message(),
                                   "; backend=\"auto\" or \"cpu\" encodes on the CPU"));
}

}  // namespace

absl::Status CheckNvencCodec(const NvencGpu& gpu, EncodeCodec codec) {
  const std::string name = TraitsOf(codec).name;
  if (std::find(gpu.codecs.begin(), gpu.codecs.end(), name) != gpu.codecs.end()) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat("the NVENC of ", gpu.name, " encodes ",
                                               absl::StrJoin(gpu.codecs, ", "), ", not ", name));
}

absl::StatusOr<EncodeBackend> ParseEncodeBackend(absl::string_view name) {
  if (name == "auto") return EncodeBackend::kAuto;
  if (name == "cpu") return EncodeBackend::kCpu;
  if (name == "nvenc") return EncodeBackend::kNvenc;
  return absl::InvalidArgumentError(
      absl::StrCat("backend is '", name, "'; it must be one of: auto, cpu, nvenc"));
}

bool NvencIsOn() {
  const char* const value = std::getenv("TF_NVCODEC_EXPERIMENTAL_NVENC");
  return value != nullptr && absl::string_view(value) == "1";
}

absl::Status NvencMeansTheSame(const FrameBatch& frames, const EncodeOptions& options) {
  const CodecTraits& traits = TraitsOf(options.codec);
  NVC_ASSIGN_OR_RETURN(const StreamSpec cpu, ChooseStream(frames, options));
  const auto differs = [](const std::string& what) {
    return absl::UnimplementedError(absl::StrCat(what, "; backend=\"nvenc\" takes NVENC's"));
  };
  const absl::StatusOr<const AVCodec*> encoder = FindNvencEncoder(options.codec);
  if (!encoder.ok()) return absl::UnimplementedError(encoder.status().message());
  for (const auto& [name, value] : options.codec_options) {
    if (IsTag(name)) continue;
    return differs(absl::StrCat("options[\"", name, "\"] is one of ", traits.encoding->encoder));
  }
  if (!options.preset.empty())
    return differs(absl::StrCat("preset is one of ", traits.encoding->encoder));
  if (options.quality.has_value()) {
    return differs(absl::StrCat("crf is on the scale of ", traits.encoding->encoder));
  }
  const absl::StatusOr<StreamSpec> nvenc = ChooseStream(frames, ForNvenc(options));
  if (!nvenc.ok() || nvenc->format != cpu.format) {
    return absl::UnimplementedError(absl::StrCat("NVENC makes no ", av_get_pix_fmt_name(cpu.format),
                                                 " of ", Name(frames.pixel_format), " frames in ",
                                                 traits.name));
  }
  return absl::OkStatus();
}

absl::Status EncodeWith(const EncodeEngines& engines, EncodeBackend backend,
                        const FrameBatch& frames, const FrameTiming& timing,
                        const EncodeOptions& options, const Cancelled& cancelled, GrowingBytes* out,
                        const std::function<void(const std::string&)>& say) {
  if (backend == EncodeBackend::kNvenc) {
    return WithCure(Write(engines, frames, timing, options, cancelled, out));
  }
  absl::Status why;
  if (backend == EncodeBackend::kAuto && engines.auto_tries_nvenc) {
    why = NvencMeansTheSame(frames, options);
    if (why.ok()) {
      why = Write(engines, frames, timing, options, cancelled, out);
      if (why.ok() || absl::IsCancelled(why)) return why;
    }
  }
  const absl::Status written = engines.write(frames, timing, options, cancelled, out);
  // If the CPU's encoder fails too, the fault is in the frames or options, not in NVENC.
  if (written.ok() && !why.ok()) say(std::string(why.message()));
  return written;
}

EncodeEngines EnginesOnGpu(GpuDevice* gpu, CUstream stream, HostMemory host) {
  EncodeEngines engines;
  engines.find = [gpu] { return GetNvencGpu(gpu->ordinal()); };
  engines.write = [gpu, producer = stream, host = std::move(host)](
                      const FrameBatch& frames, const FrameTiming& timing,
                      const EncodeOptions& options, const Cancelled& cancelled,
                      GrowingBytes* out) -> absl::Status {
    if (options.engine == EncodeEngine::kNvenc) {
      const OpenFrames open = [&](const StreamSpec& stream) {
        return GpuFrameLoader::Create(gpu, options.gpu, producer, frames, stream);
      };
      return WriteVideoFrom(frames, open, timing, options, cancelled, out);
    }
    // Refuses frames and options that no encoder takes before it copies anything.
    NVC_RETURN_IF_ERROR(frames.Validate());
    NVC_RETURN_IF_ERROR(options.Validate());
    NVC_RETURN_IF_ERROR(ChooseStream(frames, options).status());
    const size_t bytes = frames.frame_bytes * static_cast<size_t>(frames.count);
    NVC_ASSIGN_OR_RETURN(void* const copy, host(bytes));
    NVC_RETURN_IF_ERROR(
        CopyToHost(gpu, producer, copy, reinterpret_cast<CUdeviceptr>(frames.data), bytes));
    FrameBatch on_host = frames;
    on_host.data = copy;
    return WriteVideo(on_host, timing, options, cancelled, out);
  };
  return engines;
}

}  // namespace nvc
