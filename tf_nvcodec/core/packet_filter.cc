#include "tf_nvcodec/core/packet_filter.h"

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/av_log.h"
#include "tf_nvcodec/core/av_ptr.h"
#include "tf_nvcodec/core/status.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace nvc {

absl::StatusOr<std::unique_ptr<PacketFilter>> PacketFilter::Create(const char* name,
                                                                   const CodecOptions& options,
                                                                   const AVCodecContext& encoder) {
  const AvCodecParametersPtr stream(avcodec_parameters_alloc());
  if (stream == nullptr) return absl::ResourceExhaustedError("out of memory for a filter");
  const int copied = avcodec_parameters_from_context(stream.get(), &encoder);
  if (copied < 0) return FfmpegError(copied, "describing a stream");
  return Create(name, options, *stream, encoder.time_base);
}

absl::StatusOr<std::unique_ptr<PacketFilter>> PacketFilter::Create(const char* name,
                                                                   const CodecOptions& options,
                                                                   const AVCodecParameters& stream,
                                                                   AVRational time_base) {
  const AVBitStreamFilter* const type = av_bsf_get_by_name(name);
  if (type == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("this machine's FFmpeg has no bitstream filter ", name));
  }
  AvLogScope log;
  auto filter = std::unique_ptr<PacketFilter>(new PacketFilter);
  int result = av_bsf_alloc(type, &filter->context_);
  if (result >= 0) result = avcodec_parameters_copy(filter->context_->par_in, &stream);
  for (const auto& [key, value] : options) {
    if (result < 0) break;
    result = av_opt_set(filter->context_->priv_data, key.c_str(), value.c_str(), 0);
  }
  if (result >= 0) {
    filter->context_->time_base_in = time_base;
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

absl::StatusOr<std::string> ParameterSetsIn(const AVPacket& packet,
                                            const AVCodecParameters& stream) {
  NVC_ASSIGN_OR_RETURN(const std::unique_ptr<PacketFilter> filter,
                       PacketFilter::Create("extract_extradata", {}, stream, {1, 90000}));
  const AvPacketPtr copy(av_packet_clone(&packet));
  if (copy == nullptr) return absl::ResourceExhaustedError("out of memory for a packet");
  NVC_RETURN_IF_ERROR(filter->Filter(copy.get()));
  size_t size = 0;
  const uint8_t* const sets = av_packet_get_side_data(copy.get(), AV_PKT_DATA_NEW_EXTRADATA, &size);
  return sets == nullptr ? std::string() : std::string(sets, sets + size);
}

std::string PacketFilter::extradata() const {
  const AVCodecParameters& stream = *context_->par_out;
  if (stream.extradata_size <= 0) return "";
  return std::string(reinterpret_cast<const char*>(stream.extradata), stream.extradata_size);
}

}  // namespace nvc
