#include "tf_nvcodec/capi/encoder.h"

#include <memory>
#include <mutex>
#include <utility>

#include "tf_nvcodec/capi/error.h"
#include "tf_nvcodec/core/encode_session.h"
#include "tf_nvcodec/core/status.h"

struct NvcEncoder {
  std::mutex mutex;  // ctypes lets Python's other threads in during a call
  std::unique_ptr<nvc::EncodeSession> session;
  nvc::SessionPacket packet;
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
    NVC_ASSIGN_OR_RETURN(const nvc::SessionSpec spec, ReadConfig(*config));
    auto encoder = std::make_unique<NvcEncoder>();
    NVC_ASSIGN_OR_RETURN(encoder->session, nvc::EncodeSession::Create(spec));
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

int nvc_encoder_check_options(const char* encoder, const char* const* names,
                              const char* const* values, int count) {
  return Guarded([&]() -> absl::Status {
    nvc::CodecOptions options;
    for (int i = 0; i < count; ++i) options.emplace_back(names[i], values[i]);
    return nvc::CheckEncoderOptions(encoder, options);
  });
}
