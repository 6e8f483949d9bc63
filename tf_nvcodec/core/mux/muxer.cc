#include "tf_nvcodec/core/mux/muxer.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"
#include "tf_nvcodec/core/ffmpeg/av_log.h"
#include "tf_nvcodec/core/mux/exact_times.h"

extern "C" {
#include <libavutil/dict.h>
}

namespace nvc {
namespace {

absl::Status MuxerError(int averror, absl::string_view doing, const EncodeOptions& options,
                        const AvLogScope& log) {
  const absl::Status status =
      FfmpegError(averror, absl::StrCat(doing, " container ", TraitsOf(options.container).name));
  const absl::StatusCode code =
      status.code() == absl::StatusCode::kDataLoss ? absl::StatusCode::kInternal : status.code();
  return absl::Status(code, absl::StrCat(status.message(), log.Detail()));
}

// delay_moov writes the header only when the edit list, which takes back the encoder's delay, is
// known.
std::string MovFlags(const EncodeOptions& options) {
  if (options.fragmented) return "frag_keyframe+delay_moov+default_base_moof";
  return options.faststart ? "faststart" : "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Muxer>> Muxer::Create(const EncodeOptions& options,
                                                     GrowingBytes* bytes) {
  NVC_ASSIGN_OR_RETURN(std::unique_ptr<MemoryOutput> output, MemoryOutput::Create(bytes));
  std::unique_ptr<Muxer> muxer(new Muxer(options, std::move(output)));
  const char* const name = MuxerName(options.container, options.codec);
  if (av_guess_format(name, nullptr, nullptr) == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("this machine's FFmpeg (libavformat) is built without the muxer ", name,
                     "; install one that has it, or choose another container"));
  }
  AvLogScope log;
  const int allocated = avformat_alloc_output_context2(&muxer->context_, nullptr, name, nullptr);
  if (allocated < 0) return MuxerError(allocated, "opening", options, log);
  muxer->context_->pb = muxer->output_->avio();
  muxer->context_->opaque = muxer.get();
  muxer->context_->io_open = &Muxer::OpenForReading;
  muxer->context_->io_close2 = &Muxer::CloseReader;
  muxer->context_->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
  return muxer;
}

Muxer::~Muxer() { avformat_free_context(context_); }

bool Muxer::wants_global_header() const {
  return (context_->oformat->flags & AVFMT_GLOBALHEADER) != 0;
}

// To move the index to the front, libavformat reads back what it wrote. It may open nothing else.
int Muxer::OpenForReading(AVFormatContext* context, AVIOContext** io, const char* url, int flags,
                          AVDictionary** dictionary) {
  if ((flags & AVIO_FLAG_WRITE) != 0) return AVERROR(EPERM);
  *io = static_cast<Muxer*>(context->opaque)->output_->OpenReader();
  return *io == nullptr ? AVERROR(ENOMEM) : 0;
}

int Muxer::CloseReader(AVFormatContext* context, AVIOContext* io) {
  MemoryOutput::CloseReader(io);
  return 0;
}

absl::Status Muxer::Start(const AVCodecContext& encoder, const FrameTiming& timing,
                          const AVPacket& first) {
  AvLogScope log;
  stream_ = avformat_new_stream(context_, nullptr);
  if (stream_ == nullptr) return absl::ResourceExhaustedError("out of memory for a stream");
  const int copied = avcodec_parameters_from_context(stream_->codecpar, &encoder);
  if (copied < 0) return MuxerError(copied, "describing the stream to", options_, log);
  stream_->sample_aspect_ratio = encoder.sample_aspect_ratio;
  // SVT-AV1's extradata lacks tools that its packets then use.
  if (options_.codec == EncodeCodec::kAv1) {
    NVC_ASSIGN_OR_RETURN(const std::string sets, ParameterSetsIn(first, AV_CODEC_ID_AV1));
    if (!sets.empty()) NVC_RETURN_IF_ERROR(SetParameterSets(sets, stream_->codecpar));
  }
  const bool mp4_like = TraitsOf(options_.container).is_mp4_like;
  // Apple's players accept HEVC only with this tag.
  if (mp4_like && options_.codec == EncodeCodec::kHevc) {
    stream_->codecpar->codec_tag = MKTAG('h', 'v', 'c', '1');
  }
  time_base_ = timing.time_base();
  stream_->time_base = time_base_;
  if (timing.constant()) stream_->avg_frame_rate = timing.frame_rate();

  AVDictionary* settings = nullptr;
  StoreExactTimes(TraitsOf(options_.container), time_base_, context_, &settings);
  const std::string movflags = MovFlags(options_);
  if (mp4_like && !movflags.empty()) av_dict_set(&settings, "movflags", movflags.c_str(), 0);
  const int written = avformat_write_header(context_, &settings);
  av_dict_free(&settings);
  if (written < 0) return MuxerError(written, "writing the header of", options_, log);
  return absl::OkStatus();
}

absl::Status Muxer::Write(AVPacket* packet) {
  AvLogScope log;
  av_packet_rescale_ts(packet, time_base_, stream_->time_base);
  packet->stream_index = stream_->index;
  const int written = av_interleaved_write_frame(context_, packet);
  if (written < 0) return MuxerError(written, "writing a packet to", options_, log);
  return absl::OkStatus();
}

absl::Status Muxer::Finish() {
  AvLogScope log;
  const int written = av_write_trailer(context_);
  if (written < 0) return MuxerError(written, "finishing", options_, log);
  return output_->Finish();
}

}  // namespace nvc
