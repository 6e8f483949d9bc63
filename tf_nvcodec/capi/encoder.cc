#include "tf_nvcodec/capi/encoder.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tf_nvcodec/capi/error.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/encode_session.h"
#include "tf_nvcodec/core/encode/nvenc_settings.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/nvenc_gpu.h"
#include "tf_nvcodec/nv/cuda/stream_order.h"
#include "tf_nvcodec/nv/encode/encode_backend.h"
#include "tf_nvcodec/nv/encode/gpu_frame_input.h"
#include "tf_nvcodec/nv/encode/gpu_to_planes.h"

struct NvcEncoder {
  std::mutex mutex;               // ctypes lets other Python threads run during a call
  nvc::GpuDevice* gpu = nullptr;  // the GPU whose NVENC encodes
  std::unique_ptr<nvc::EncodeSession> session;
  nvc::SessionPacket packet;
  std::unique_ptr<nvc::GpuFrameInput> gpu_input;  // for the GPU of the last frame
  std::unique_ptr<nvc::GpuRgbConverter> rgb;      // for NVENC's GPU
  std::vector<uint8_t> downloaded;
};

namespace {

using nvc::Guarded;

absl::StatusOr<nvc::SessionSpec> ReadConfig(const NvcEncoderConfig& config) {
  nvc::SessionSpec spec;
  NVC_ASSIGN_OR_RETURN(spec.codec, nvc::ParseEncodeCodec(config.codec));
  NVC_ASSIGN_OR_RETURN(spec.format, nvc::ParseInputFormat(config.format));
  if (config.color_space != nullptr && *config.color_space != 0) {
    NVC_ASSIGN_OR_RETURN(spec.color_space, nvc::ParseColorSpace(config.color_space));
  }
  for (int i = 0; i < config.options + config.params; ++i) {
    nvc::CodecOptions& list = i < config.options ? spec.options : spec.params;
    list.emplace_back(config.names[i], config.values[i]);
  }
  spec.width = config.width;
  spec.height = config.height;
  spec.frame_rate = {config.fps_num, config.fps_den};
  spec.gop = config.gop;
  spec.full_range = config.full_range != 0;
  spec.repeat_headers = config.repeat_headers != 0;
  if (config.tick_units != 0) spec.tick = AVRational{config.tick_units, config.tick_scale};
  return spec;
}

// Returns the GPU that encodes, with libavutil's context for it.
absl::StatusOr<const nvc::NvencGpu*> ChooseNvenc(const NvcEncoderConfig& config,
                                                 nvc::EncodeCodec codec) {
  // The check that needs no GPU comes first.
  NVC_RETURN_IF_ERROR(nvc::FindNvencEncoder(codec).status());
  NVC_ASSIGN_OR_RETURN(const nvc::NvencGpu* const gpu,
                       config.gpu < 0 ? nvc::FindNvencGpu() : nvc::GetNvencGpu(config.gpu));
  NVC_RETURN_IF_ERROR(nvc::CheckNvencCodec(*gpu, codec));
  if (config.cuda_context != 0 &&
      config.cuda_context != reinterpret_cast<uintptr_t>(gpu->gpu->context())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the CUDA context is not the primary one of GPU ", gpu->gpu->ordinal(),
        ", which TensorFlow and PyTorch use: pass 0, or with pycuda the one of Device(",
        gpu->gpu->ordinal(), ").retain_primary_context()"));
  }
  return gpu;
}

absl::Status Create(const NvcEncoderConfig& config, NvcEncoder* encoder) {
  NVC_ASSIGN_OR_RETURN(nvc::SessionSpec spec, ReadConfig(config));
  if (config.nvenc != 0) {
    NVC_ASSIGN_OR_RETURN(const nvc::NvencGpu* const gpu, ChooseNvenc(config, spec.codec));
    encoder->gpu = gpu->gpu;
    spec.engine = nvc::EncodeEngine::kNvenc;
    spec.gpu = gpu->device;
    spec.frames_on_gpu = config.frames_on_gpu != 0;
  } else {
    // Not a stand-in: the settings are those of x264.
    NVC_RETURN_IF_ERROR(nvc::FindEncoder(nvc::TraitsOf(spec.codec).encoding->encoder).status());
  }
  NVC_ASSIGN_OR_RETURN(encoder->session, nvc::EncodeSession::Create(spec));
  if (encoder->session->gpu_frames() == nullptr || !nvc::IsRgb(spec.format)) {
    return absl::OkStatus();
  }
  const nvc::RgbPixel pixel = {4, spec.format == nvc::InputFormat::kArgb};
  NVC_ASSIGN_OR_RETURN(
      encoder->rgb, nvc::GpuRgbConverter::Create(encoder->gpu, encoder->session->stream(), pixel));
  return absl::OkStatus();
}

absl::StatusOr<nvc::GpuFrameInput*> InputOf(NvcEncoder* encoder, int gpu) {
  NVC_ASSIGN_OR_RETURN(nvc::GpuDevice* const device, nvc::GpuDevice::Get(gpu));
  if (encoder->gpu_input == nullptr || encoder->gpu_input->device() != device) {
    NVC_ASSIGN_OR_RETURN(encoder->gpu_input, nvc::GpuFrameInput::Create(device));
  }
  return encoder->gpu_input.get();
}

absl::Status EncodeRows(NvcEncoder* encoder, int gpu, absl::Span<const nvc::GpuRows> rows,
                        int64_t timestamp, bool force_key) {
  nvc::EncodeSession& session = *encoder->session;
  NVC_ASSIGN_OR_RETURN(nvc::GpuFrameInput* const input, InputOf(encoder, gpu));
  const nvc::GpuFramePool* const pool = session.gpu_frames();
  if (pool != nullptr && input->device() == encoder->gpu) {
    NVC_ASSIGN_OR_RETURN(nvc::AvFramePtr frame, pool->Take());
    NVC_RETURN_IF_ERROR(encoder->rgb != nullptr ? input->ConvertTo(frame.get(), rows, *encoder->rgb)
                                                : input->CopyTo(frame.get(), rows));
    return session.EncodeGpuFrame(std::move(frame), timestamp, force_key);
  }
  std::vector<uint8_t>& host = encoder->downloaded;
  host.resize(session.frame_bytes());
  NVC_RETURN_IF_ERROR(input->CopyTo(host.data(), rows, host.size()));
  return session.Encode(host.data(), host.size(), timestamp, force_key);
}

template <typename Call>
int Locked(NvcEncoder* encoder, Call&& call) {
  return Guarded([&]() -> absl::Status {
    const std::lock_guard<std::mutex> lock(encoder->mutex);
    return call(*encoder->session);
  });
}

}  // namespace

int nvc_encoder_new(const NvcEncoderConfig* config, NvcEncoder** out) {
  return Guarded([&]() -> absl::Status {
    auto encoder = std::make_unique<NvcEncoder>();
    NVC_RETURN_IF_ERROR(Create(*config, encoder.get()));
    *out = encoder.release();
    return absl::OkStatus();
  });
}

void nvc_encoder_free(NvcEncoder* encoder) { delete encoder; }

int nvc_encoder_info(NvcEncoder* encoder, uint64_t* frame_bytes, int32_t* time_num,
                     int32_t* time_den) {
  return Locked(encoder, [&](nvc::EncodeSession& session) {
    *frame_bytes = session.frame_bytes();
    *time_num = session.time_base().num;
    *time_den = session.time_base().den;
    return absl::OkStatus();
  });
}

int nvc_encoder_encode(NvcEncoder* encoder, const void* data, uint64_t size, int64_t timestamp,
                       int force_key) {
  return Locked(encoder, [&](nvc::EncodeSession& session) {
    return session.Encode(data, size, timestamp, force_key != 0);
  });
}

int nvc_encoder_encode_gpu(NvcEncoder* encoder, int gpu, const NvcGpuRows* rows, int num_rows,
                           int64_t timestamp, int force_key) {
  return Locked(encoder, [&](nvc::EncodeSession&) {
    std::vector<nvc::GpuRows> read;
    for (int i = 0; i < num_rows; ++i) {
      read.push_back({rows[i].data, rows[i].row_bytes, rows[i].rows, rows[i].pitch});
    }
    return EncodeRows(encoder, gpu, read, timestamp, force_key != 0);
  });
}

int nvc_encoder_gpu_stream(NvcEncoder* encoder, int gpu, int64_t* stream) {
  return Locked(encoder, [&](nvc::EncodeSession&) -> absl::Status {
    NVC_ASSIGN_OR_RETURN(const nvc::GpuFrameInput* const input, InputOf(encoder, gpu));
    *stream = nvc::NumberOfStream(input->stream());
    return absl::OkStatus();
  });
}

int nvc_encoder_wait_for(NvcEncoder* encoder, int gpu, int64_t stream) {
  return Locked(encoder, [&](nvc::EncodeSession&) -> absl::Status {
    NVC_ASSIGN_OR_RETURN(nvc::GpuFrameInput* const input, InputOf(encoder, gpu));
    NVC_ASSIGN_OR_RETURN(const auto producer, nvc::StreamOfNumber(stream));
    return input->WaitFor(producer);
  });
}

int nvc_encoder_finish(NvcEncoder* encoder) {
  return Locked(encoder, [&](nvc::EncodeSession& session) { return session.Finish(); });
}

int nvc_encoder_packet(NvcEncoder* encoder, NvcPacket* out) {
  return Locked(encoder, [&](nvc::EncodeSession& session) {
    nvc::SessionPacket& packet = encoder->packet;
    *out = {};
    if (!session.Next(&packet)) return absl::OkStatus();
    out->data = reinterpret_cast<const uint8_t*>(packet.data.data());
    out->size = packet.data.size();
    out->timestamp = packet.timestamp;
    out->pts = packet.pts;
    out->dts = packet.dts;
    out->picture_type = packet.type;
    out->key = packet.key ? 1 : 0;
    return absl::OkStatus();
  });
}

int nvc_encoder_parameter_sets(NvcEncoder* encoder, const uint8_t** data, uint64_t* size) {
  return Locked(encoder, [&](nvc::EncodeSession& session) {
    *data = reinterpret_cast<const uint8_t*>(session.parameter_sets().data());
    *size = session.parameter_sets().size();
    return absl::OkStatus();
  });
}

int nvc_encoder_set_rate(NvcEncoder* encoder, int64_t bitrate, int64_t max_bitrate,
                         int64_t vbv_size, int32_t fps_num, int32_t fps_den) {
  return Locked(encoder, [&](nvc::EncodeSession& session) {
    return session.SetRate({bitrate, max_bitrate, vbv_size}, {fps_num, fps_den});
  });
}

int nvc_nvenc_is_on() { return nvc::NvencIsOn() ? 1 : 0; }

int nvc_gpu_of_memory(uint64_t address, int32_t* gpu) {
  return Guarded([&]() -> absl::Status {
    NVC_ASSIGN_OR_RETURN(const nvc::GpuDevice* const device, nvc::GpuOfMemory(address));
    *gpu = device->ordinal();
    return absl::OkStatus();
  });
}

int nvc_encoder_check_options(const char* encoder, const char* const* names,
                              const char* const* values, int count) {
  return Guarded([&]() -> absl::Status {
    nvc::CodecOptions options;
    for (int i = 0; i < count; ++i) options.emplace_back(names[i], values[i]);
    return nvc::CheckEncoderOptions(encoder, options);
  });
}
