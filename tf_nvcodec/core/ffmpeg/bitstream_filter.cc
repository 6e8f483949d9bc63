#include "tf_nvcodec/core/ffmpeg/bitstream_filter.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/ffmpeg/av_log.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace nvc {
namespace {

absl::Status Broken(const AVBSFContext& filter, int averror, const AvLogScope& log) {
  return FfmpegError(averror, absl::StrCat(filter.filter->name, log.Detail()));
}

// Whether the units that an hvcC record counts (ISO/IEC 14496-15, 8.3.3.1) lie inside it. FFmpeg's
// filter takes those beyond its end for empty ones and copies everything again for each, which
// takes seconds for a record of thirty bytes. Headers with start codes are not looked at.
bool IsWholeHvcc(const AVCodecParameters& stream) {
  constexpr int kFixedBytes = 23;
  const uint8_t* at = stream.extradata;
  if (at == nullptr || stream.extradata_size < kFixedBytes) return true;
  const uint8_t* const end = at + stream.extradata_size;
  const bool start_code = at[0] == 0 && at[1] == 0 && (at[2] == 1 || (at[2] == 0 && at[3] == 1));
  if (start_code) return true;
  at += kFixedBytes;
  for (int arrays = at[-1]; arrays > 0; --arrays) {
    if (end - at < 3) return false;
    int units = at[1] << 8 | at[2];
    for (at += 3; units > 0; --units) {
      if (end - at < 2) return false;
      const int size = at[0] << 8 | at[1];
      if (end - at - 2 < size) return false;
      at += 2 + size;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<BitstreamFilter> BitstreamFilter::Create(const char* name,
                                                        const AVCodecParameters& stream,
                                                        AVRational time_base,
                                                        const Options& options) {
  const AVBitStreamFilter* const type = av_bsf_get_by_name(name);
  if (type == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("this machine's FFmpeg has no bitstream filter '", name, "'"));
  }
  if (absl::string_view(name) == "hevc_mp4toannexb" && !IsWholeHvcc(stream)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " refuses the stream: its hvcC record counts more than it holds"));
  }
  AvLogScope log;
  BitstreamFilter filter;
  filter.dropped_.reset(av_packet_alloc());
  AVBSFContext* context = nullptr;
  int error = filter.dropped_ != nullptr ? av_bsf_alloc(type, &context) : AVERROR(ENOMEM);
  filter.context_.reset(context);
  if (error >= 0) error = avcodec_parameters_copy(context->par_in, &stream);
  for (const auto& [key, value] : options) {
    if (error < 0) break;
    error = av_opt_set(context, key.c_str(), value.c_str(), AV_OPT_SEARCH_CHILDREN);
  }
  if (error >= 0) {
    context->time_base_in = time_base;
    error = av_bsf_init(context);
  }
  if (error == AVERROR(ENOMEM)) return FfmpegError(error, name);
  if (error < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " refuses the stream: ", FfmpegErrorText(error), log.Detail()));
  }
  return filter;
}

absl::Span<const uint8_t> BitstreamFilter::headers() const {
  if (codec().extradata == nullptr) return {};
  return {codec().extradata, static_cast<size_t>(codec().extradata_size)};
}

absl::Status BitstreamFilter::Send(AVPacket* packet) {
  AvLogScope log;
  do {
    av_packet_unref(dropped_.get());
  } while (av_bsf_receive_packet(context_.get(), dropped_.get()) >= 0);
  const int error = av_bsf_send_packet(context_.get(), packet);
  return error >= 0 ? absl::OkStatus() : Broken(*context_, error, log);
}

absl::StatusOr<bool> BitstreamFilter::Receive(AVPacket* packet) {
  AvLogScope log;
  av_packet_unref(packet);
  const int error = av_bsf_receive_packet(context_.get(), packet);
  if (error >= 0) return true;
  if (error == AVERROR(EAGAIN)) return false;
  // After an error, packets left inside would keep the filter from accepting more.
  Reset();
  return Broken(*context_, error, log);
}

absl::Status BitstreamFilter::Filter(AVPacket* packet) {
  NVC_RETURN_IF_ERROR(Send(packet));
  NVC_ASSIGN_OR_RETURN(const bool filtered, Receive(packet));
  if (filtered) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("bitstream filter ", context_->filter->name,
                                          " gave no packet for its input packet"));
}

}  // namespace nvc
