#include "tf_nvcodec/core/packet_filter.h"

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/av_log.h"
#include "tf_nvcodec/core/status.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace nvc {

absl::StatusOr<std::unique_ptr<PacketFilter>> PacketFilter::Create(const char* name,
                                                                   const CodecOptions& options,
                                                                   const AVCodecContext& encoder) {
  const AVBitStreamFilter* const type = av_bsf_get_by_name(name);
  if (type == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("this machine's FFmpeg has no bitstream filter ", name));
  }
  AvLogScope log;
  auto filter = std::unique_ptr<PacketFilter>(new PacketFilter);
  int result = av_bsf_alloc(type, &filter->context_);
  if (result >= 0) result = avcodec_parameters_from_context(filter->context_->par_in, &encoder);
  for (const auto& [key, value] : options) {
    if (result < 0) break;
    result = av_opt_set(filter->context_->priv_data, key.c_str(), value.c_str(), 0);
  }
  if (result >= 0) {
    filter->context_->time_base_in = encoder.time_base;
    result = av_bsf_init(filter->context_);
  }
  if (result < 0) {
    const absl::Status status = FfmpegError(result, absl::StrCat("opening the filter ", name));
    return absl::Status(status.code(), absl::StrCat(status.message(), log.Detail()));
  }
  return filter;
}

absl::Status PacketFilter::Filter(AVPacket* packet) {
  AvLogScope log;
  int result = av_bsf_send_packet(context_, packet);
  if (result >= 0) result = av_bsf_receive_packet(context_, packet);
  if (result >= 0) return absl::OkStatus();
  const absl::Status status =
      FfmpegError(result, absl::StrCat("filtering a packet with ", context_->filter->name));
  return absl::Status(status.code(), absl::StrCat(status.message(), log.Detail()));
}

std::string PacketFilter::extradata() const {
  const AVCodecParameters& stream = *context_->par_out;
  if (stream.extradata_size <= 0) return "";
  return std::string(reinterpret_cast<const char*>(stream.extradata), stream.extradata_size);
}

}  // namespace nvc
