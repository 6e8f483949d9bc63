#include "tf_nvcodec/core/mux/file_muxer.h"

#include <climits>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"
#include "tf_nvcodec/core/ffmpeg/av_log.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/mux/exact_times.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/dict.h>
}

namespace nvc {
namespace {

// True if MPEG-TS can hold the audio codec. libavformat has no table of these.
bool HoldsInTs(AVCodecID codec) {
  switch (codec) {
    case AV_CODEC_ID_MP2:
    case AV_CODEC_ID_MP3:
    case AV_CODEC_ID_AAC:
    case AV_CODEC_ID_AC3:
    case AV_CODEC_ID_EAC3:
    case AV_CODEC_ID_DTS:
    case AV_CODEC_ID_OPUS:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::Status FileMuxer::Error(int averror, absl::string_view doing) const {
  const std::string message = absl::StrCat(doing, " ", spec_.path);
  if (averror == AVERROR(ENOENT) || averror == AVERROR(ENOTDIR)) {
    return absl::NotFoundError(absl::StrCat(message, ": no such folder"));
  }
  if (averror == AVERROR(EACCES) || averror == AVERROR(EISDIR) || averror == AVERROR(EROFS)) {
    return absl::PermissionDeniedError(absl::StrCat(message, ": ", FfmpegErrorText(averror)));
  }
  return absl::InternalError(absl::StrCat(message, ": ", FfmpegErrorText(averror)));
}

absl::StatusOr<std::unique_ptr<FileMuxer>> FileMuxer::Create(const FileMuxerSpec& spec) {
  NVC_RETURN_IF_ERROR(CheckContainer(spec.container, spec.codec));
  if (spec.width < 1 || spec.height < 1 || spec.time_base.num < 1 || spec.time_base.den < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a muxer takes a size and a time base above 0; got ", spec.width, "x",
                     spec.height, " and ", spec.time_base.num, "/", spec.time_base.den));
  }
  if (spec.path.empty() || spec.path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(
        "the path of the file to write is empty or contains a zero byte");
  }
  AvLogScope log;
  std::unique_ptr<FileMuxer> muxer(new FileMuxer(spec));
  const char* const name = MuxerName(spec.container, spec.codec);
  int result = avformat_alloc_output_context2(&muxer->context_, nullptr, name, nullptr);
  if (result < 0) {
    return absl::UnimplementedError(
        absl::StrCat("this machine's FFmpeg (libavformat) is built without the muxer ", name,
                     "; install one that has it, or choose another container"));
  }
  muxer->context_->flags |= AVFMT_FLAG_BITEXACT;
  muxer->stream_ = avformat_new_stream(muxer->context_, nullptr);
  if (muxer->stream_ == nullptr) return absl::ResourceExhaustedError("out of memory for a stream");
  AVCodecParameters* const codec = muxer->stream_->codecpar;
  codec->codec_type = AVMEDIA_TYPE_VIDEO;
  codec->codec_id = TraitsOf(spec.codec).id;
  codec->width = spec.width;
  codec->height = spec.height;
  codec->format = AV_PIX_FMT_YUV420P;
  NVC_RETURN_IF_ERROR(SetParameterSets(spec.parameter_sets, codec));
  result =
      avio_open(&muxer->context_->pb, absl::StrCat("file:", spec.path).c_str(), AVIO_FLAG_WRITE);
  if (result < 0) return muxer->Error(result, "opening");
  return muxer;
}

FileMuxer::~FileMuxer() {
  if (context_ != nullptr) avio_closep(&context_->pb);
  avformat_free_context(context_);
}

absl::Status FileMuxer::AddSound(const SoundTrack& track) {
  const AVOutputFormat& format = *context_->oformat;
  const AVCodecID id = track.codec->codec_id;
  const bool holds = spec_.container == EncodeContainer::kTs
                         ? HoldsInTs(id)
                         : avformat_query_codec(&format, id, FF_COMPLIANCE_NORMAL) == 1;
  if (!holds) {
    return absl::InvalidArgumentError(
        absl::StrCat("container ", TraitsOf(spec_.container).name, " can't hold audio of codec ",
                     avcodec_get_name(id), ": use mkv, which holds nearly every codec"));
  }
  AVStream* const stream = avformat_new_stream(context_, nullptr);
  if (stream == nullptr || avcodec_parameters_copy(stream->codecpar, track.codec.get()) < 0) {
    return absl::ResourceExhaustedError("out of memory for a stream");
  }
  stream->codecpar->codec_tag = 0;  // the source container's tag does not apply
  stream->time_base = track.time_base;
  if (!track.language.empty()) {
    av_dict_set(&stream->metadata, "language", track.language.c_str(), 0);
  }
  sound_[track.index] = {stream, track.time_base};
  return absl::OkStatus();
}

absl::Status FileMuxer::Tag(AVPacket* packet) {
  if (!tags_.has_value()) return absl::OkStatus();
  if (!tagging_.has_value()) {
    AVCodecParameters* const codec = stream_->codecpar;
    NVC_ASSIGN_OR_RETURN(tagging_, TaggingFilter(*tags_, *codec, spec_.time_base));
    const auto sets = tagging_->headers();
    NVC_RETURN_IF_ERROR(SetParameterSets(std::string(sets.begin(), sets.end()), codec));
  }
  return tagging_->Filter(packet);
}

absl::Status FileMuxer::Start(const AVPacket& first) {
  AvLogScope log;
  AVCodecParameters* const codec = stream_->codecpar;
  NVC_ASSIGN_OR_RETURN(const std::string sets, ParameterSetsIn(first, codec->codec_id));
  if (!sets.empty()) NVC_RETURN_IF_ERROR(SetParameterSets(sets, codec));
  // Apple's players accept HEVC only with this tag.
  if (TraitsOf(spec_.container).is_mp4_like && spec_.codec == EncodeCodec::kHevc) {
    codec->codec_tag = MKTAG('h', 'v', 'c', '1');
  }
  if (tags_.has_value()) NVC_RETURN_IF_ERROR(TagStream(*tags_, stream_));
  stream_->time_base = spec_.time_base;
  if (spec_.frame_rate.num > 0) stream_->avg_frame_rate = spec_.frame_rate;
  AVDictionary* settings = nullptr;
  StoreExactTimes(TraitsOf(spec_.container), spec_.time_base, context_, &settings);
  const int written = avformat_write_header(context_, &settings);
  av_dict_free(&settings);
  if (written >= 0) return absl::OkStatus();
  const absl::Status status = Error(written, "writing the header of");
  return absl::Status(status.code(), absl::StrCat(status.message(), log.Detail()));
}

absl::Status FileMuxer::Write(const void* data, size_t size, int64_t pts, int64_t dts,
                              int64_t duration, bool key) {
  if (finished_) return absl::FailedPreconditionError("the file is already finished");
  NVC_RETURN_IF_ERROR(failed_);
  if (data == nullptr || size == 0 || size > INT_MAX - AV_INPUT_BUFFER_PADDING_SIZE) {
    return absl::InvalidArgumentError(absl::StrCat("packet ", packets_, " has ", size, " bytes"));
  }
  if (dts > pts || (packets_ > 0 && dts <= last_dts_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("packet ", packets_, " has pts ", pts, " and dts ", dts,
                     packets_ > 0 ? absl::StrCat(" after dts ", last_dts_) : "",
                     ": dts must rise and be no later than pts"));
  }
  const AvPacketPtr packet(av_packet_alloc());
  if (packet == nullptr || av_new_packet(packet.get(), static_cast<int>(size)) < 0) {
    return absl::ResourceExhaustedError("out of memory for a packet");
  }
  std::memcpy(packet->data, data, size);
  packet->pts = pts;
  packet->dts = dts;
  packet->duration = duration;
  if (key) packet->flags |= AV_PKT_FLAG_KEY;
  NVC_RETURN_IF_ERROR(Tag(packet.get()));
  if (!started_) {
    // A second header would write beyond what libavformat keeps for the streams of the first.
    started_ = true;
    failed_ = Start(*packet);
    NVC_RETURN_IF_ERROR(failed_);
  }
  av_packet_rescale_ts(packet.get(), spec_.time_base, stream_->time_base);
  NVC_RETURN_IF_ERROR(Store(packet.get()));
  ++packets_;
  last_dts_ = dts;
  return absl::OkStatus();
}

absl::Status FileMuxer::WriteSound(const AVPacket& packet, int64_t start) {
  if (finished_) return absl::FailedPreconditionError("the file is already finished");
  const auto track = sound_.find(packet.stream_index);
  if (track == sound_.end() || packets_ == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "audio of stream ", packet.stream_index,
        packets_ == 0 ? " came before the first video packet, which must be written first"
                      : " can't be written: that stream was not added"));
  }
  const AvPacketPtr moved(av_packet_clone(&packet));
  if (moved == nullptr) return absl::ResourceExhaustedError("out of memory for a packet");
  const auto& [stream, time_base] = track->second;
  const int64_t shift = av_rescale_q(start, spec_.time_base, time_base);
  if (moved->dts == AV_NOPTS_VALUE) moved->dts = moved->pts;
  if (moved->pts != AV_NOPTS_VALUE) moved->pts -= shift;
  if (moved->dts != AV_NOPTS_VALUE) moved->dts -= shift;
  av_packet_rescale_ts(moved.get(), time_base, stream->time_base);
  moved->stream_index = stream->index;
  moved->pos = -1;
  return Store(moved.get());
}

absl::Status FileMuxer::Store(AVPacket* packet) {
  AvLogScope log;
  const int written = av_interleaved_write_frame(context_, packet);
  if (written >= 0) return absl::OkStatus();
  const absl::Status status = Error(written, "writing a packet to");
  return absl::Status(status.code(), absl::StrCat(status.message(), log.Detail()));
}

absl::Status FileMuxer::Finish() {
  if (finished_) return finish_status_;
  if (packets_ == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec_.path, " can't be finished: no packet was written"));
  }
  finished_ = true;
  AvLogScope log;
  int written = av_write_trailer(context_);
  const int closed = avio_closep(&context_->pb);
  if (written >= 0) written = closed;
  if (written < 0) {
    const absl::Status status = Error(written, "finishing");
    finish_status_ = absl::Status(status.code(), absl::StrCat(status.message(), log.Detail()));
  }
  return finish_status_;
}

}  // namespace nvc
