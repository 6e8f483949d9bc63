#include "tf_nvcodec/core/ffmpeg/decoder.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/ffmpeg/av_log.h"
#include "tf_nvcodec/core/ffmpeg/picture_pool.h"

namespace nvc {
namespace {

// What FFmpeg's callbacks need of a decoder; AVCodecContext::opaque leads here.
struct CallbackState : AvErrorFlag {
  PicturePool pictures{&BlockCache::Shared()};
};

int GetPictureBuffer(AVCodecContext* context, AVFrame* frame, int) {
  auto* const flag = static_cast<AvErrorFlag*>(context->opaque);
  return static_cast<CallbackState*>(flag)->pictures.GetBuffer(context, frame);
}

#if FF_API_THREAD_SAFE_CALLBACKS
// Else they have the thread that sends packets make the call, and wait for it.
void AllowCallsByFrameThreads(AVCodecContext* context) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  context->thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
}
#endif

class SoftwareDecoder : public Decoder {
 public:
  explicit SoftwareDecoder(AvCodecContextPtr context) : context_(std::move(context)) {
    context_->opaque = state_.opaque();
  }

  // Before the state that the context's threads may still write to.
  ~SoftwareDecoder() override { context_.reset(); }

  int Open(const AVCodec* decoder) {
    if ((decoder->capabilities & AV_CODEC_CAP_DR1) != 0) {
      context_->get_buffer2 = GetPictureBuffer;
#if FF_API_THREAD_SAFE_CALLBACKS
      AllowCallsByFrameThreads(context_.get());
#endif
    }
    const int opened = avcodec_open2(context_.get(), decoder, nullptr);
    // Its flush forgets all it was sent, the sequence header too. FFmpeg's own decoders keep more:
    // parameter sets, or which encoder's mistakes to make up for.
    if (opened >= 0 && absl::string_view(decoder->name) == "libdav1d") {
      as_opened_.reset(avcodec_parameters_alloc());
      if (as_opened_ != nullptr) avcodec_parameters_from_context(as_opened_.get(), context_.get());
    }
    return opened;
  }

  bool TakeErrors() override {
    const bool seen = state_.Take();
    had_errors_ |= seen;
    return seen;
  }

  bool TakeConcealment() override { return state_.TakeConcealment(); }

  absl::Status Send(const AVPacket* packet) override {
    is_reset_ = false;
    AvLogScope log;
    const int sent = avcodec_send_packet(context_.get(), packet);
    if (sent >= 0 || sent == AVERROR_EOF) return absl::OkStatus();
    return Error(sent, log.Detail());
  }

  absl::StatusOr<bool> Receive(AVFrame* frame) override {
    AvLogScope log;
    const int received = avcodec_receive_frame(context_.get(), frame);
    if (received >= 0) return true;
    if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) return false;
    return Error(received, log.Detail());
  }

  void Reset() override {
    avcodec_flush_buffers(context_.get());
    is_reset_ = true;
  }

  bool IsAsNew() override {
    TakeErrors();
    if (as_opened_ == nullptr || had_errors_ || !is_reset_) return false;
    // Streams may say more of their colours than what they were opened with, or something else; it
    // would be passed on to a stream that says nothing.
    AvCodecParametersPtr now(avcodec_parameters_alloc());
    return now != nullptr && avcodec_parameters_from_context(now.get(), context_.get()) >= 0 &&
           SameParameters(*as_opened_, *now);
  }

 private:
  absl::Status Error(int averror, const std::string& detail) {
    had_errors_ = true;
    // FFmpeg has no code of its own for this.
    if (absl::StrContains(detail, "max pixel count")) {
      return absl::ResourceExhaustedError(absl::StrCat("pictures are above max_pixels, ",
                                                       context_->max_pixels, detail,
                                                       "; raise it if the file is to be trusted"));
    }
    return FfmpegError(averror, absl::StrCat(context_->codec->name, detail));
  }

  CallbackState state_;
  AvCodecContextPtr context_;
  AvCodecParametersPtr as_opened_;  // null when decoding leaves traces
  bool is_reset_ = true;
  bool had_errors_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Decoder>> OpenSoftwareDecoder(const AVCodecParameters& codec,
                                                             AVRational time_base,
                                                             const DecoderOptions& options) {
  AvLogScope log;
  const char* name = avcodec_get_name(codec.codec_id);
  const AVCodec* decoder = avcodec_find_decoder(codec.codec_id);
  if (decoder == nullptr || decoder->type != AVMEDIA_TYPE_VIDEO) {
    return absl::UnimplementedError(absl::StrCat("this FFmpeg has no video decoder for codec '",
                                                 name, "'; tf-nvcodec doctor lists those it has"));
  }
  AvCodecContextPtr context(avcodec_alloc_context3(decoder));
  if (context == nullptr || avcodec_parameters_to_context(context.get(), &codec) < 0) {
    return absl::ResourceExhaustedError(absl::StrCat("out of memory opening decoder ", name));
  }
  context->pkt_timebase = time_base;
  context->thread_count = options.num_threads;
  // dav1d's threads take any work of any frame and never wait for the caller, so that the spare
  // ones of the plan only get in their way.
  if (codec.codec_id == AV_CODEC_ID_AV1 && options.num_threads > kSpareThreads) {
    context->thread_count -= kSpareThreads;
  }
  context->thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE;
  // Else decoders of MPEG-4, VC-1 and their like take shortcuts, some on x86 alone: averages that
  // are about right, no mismatch control. Of JPEG 2000 the flag is the shortcut: a transform of
  // integers.
  if (codec.codec_id != AV_CODEC_ID_JPEG2000) context->flags |= AV_CODEC_FLAG_BITEXACT;
  // With frame threads FFmpeg's decoder gives other pictures than without (seen with 5.1, where a
  // frame repeats the last one).
  if (codec.codec_id == AV_CODEC_ID_THEORA || codec.codec_id == AV_CODEC_ID_VP3) {
    context->thread_count = 1;
  }
  if (options.reorder_depth >= 0 && codec.codec_id == AV_CODEC_ID_H264) {
    context->has_b_frames = options.reorder_depth;
  }
  if (options.output_unreachable) context->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
  if (options.max_pixels > 0) {
    // FFmpeg also compares the width rounded up to its alignment, which may pass a limit that the
    // picture itself keeps.
    constexpr int64_t kAlignment = 64;
    context->max_pixels = options.max_pixels + kAlignment * codec.height;
  }
  // The HEVC decoder keeps errors inside a slice to itself unless asked to fail on them; the others
  // report them in the frame.
  if (codec.codec_id == AV_CODEC_ID_HEVC) context->err_recognition |= AV_EF_EXPLODE;
  auto software = std::make_unique<SoftwareDecoder>(std::move(context));
  const int opened = software->Open(decoder);
  if (opened < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "decoder ", name, " refuses the stream: ", FfmpegErrorText(opened), log.Detail()));
  }
  return software;
}

bool SameParameters(const AVCodecParameters& a, const AVCodecParameters& b) {
  // Not the bit rate and the aspect ratio, which no picture depends on.
  const auto fields = [](const AVCodecParameters& codec) {
    return std::make_tuple(codec.codec_id, codec.codec_tag, codec.format, codec.width, codec.height,
                           codec.bits_per_coded_sample, codec.bits_per_raw_sample, codec.profile,
                           codec.level, codec.field_order, codec.color_range, codec.color_primaries,
                           codec.color_trc, codec.color_space, codec.chroma_location,
                           codec.video_delay);
  };
  return fields(a) == fields(b) && a.extradata_size == b.extradata_size &&
         std::equal(a.extradata, a.extradata + a.extradata_size, b.extradata);
}

bool IsDamaged(const AVFrame& frame) {
  return frame.decode_error_flags != 0 || (frame.flags & AV_FRAME_FLAG_CORRUPT) != 0;
}

}  // namespace nvc
