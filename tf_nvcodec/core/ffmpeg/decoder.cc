#include "tf_nvcodec/core/ffmpeg/decoder.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/ffmpeg/av_log.h"
#include "tf_nvcodec/core/ffmpeg/color_tags.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/core/ffmpeg/picture_pool.h"
#include "tf_nvcodec/core/format/codec_table.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

// Room for four decoders of one thread at 1080p, or for two of several threads.
constexpr size_t kIdleBytes = size_t{128} << 20;
constexpr auto kIdleTime = std::chrono::seconds(10);

// What FFmpeg's callbacks need to know of a decoder. AVCodecContext::opaque points here.
struct CallbackState : AvErrorFlag {
  explicit CallbackState(bool marks) : pictures(&BlockCache::Shared(), marks) {}
  PicturePool pictures;
};

int GetPictureBuffer(AVCodecContext* context, AVFrame* frame, int) {
  auto* const flag = static_cast<AvErrorFlag*>(context->opaque);
  return static_cast<CallbackState*>(flag)->pictures.GetBuffer(context, frame);
}

// Returns a context that is not open, or null if there is no memory for it.
AvCodecContextPtr NewContext(const AVCodec* decoder, const AVCodecParameters& codec,
                             AVRational time_base, const DecoderOptions& options) {
  AvCodecContextPtr context(avcodec_alloc_context3(decoder));
  if (context == nullptr || avcodec_parameters_to_context(context.get(), &codec) < 0) {
    return nullptr;
  }
  context->pkt_timebase = time_base;
  const SoftwareDecoding& facts = FactsOf(codec.codec_id).software;
  context->thread_count = options.num_threads;
  if (facts.no_spare_threads && options.num_threads > kSpareThreads) {
    context->thread_count -= kSpareThreads;
  }
  if (facts.one_thread) context->thread_count = 1;
  context->thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE;
  if (facts.bitexact_flag) context->flags |= AV_CODEC_FLAG_BITEXACT;
  if (options.reorder_depth >= 0 && facts.takes_reorder_depth) {
    context->has_b_frames = options.reorder_depth;
  }
  if (options.output_unreachable) context->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
  if (options.max_pixels > 0) {
    // FFmpeg also checks the width rounded up to its alignment. That may exceed a limit that the
    // picture itself keeps.
    constexpr int64_t kAlignment = 64;
    context->max_pixels = options.max_pixels + kAlignment * codec.height;
  }
  if (facts.hides_errors) context->err_recognition |= AV_EF_EXPLODE;
  return context;
}

// Returns an open context, in which the decoder has put what the stream's headers say, or null.
AvCodecContextPtr ReadHeaders(const AVCodecParameters& codec) {
  AvLogScope log;
  const AVCodec* const decoder = avcodec_find_decoder(codec.codec_id);
  if (decoder == nullptr) return nullptr;
  AvCodecContextPtr context = NewContext(decoder, codec, AVRational{1, 1}, {});
  if (context != nullptr && avcodec_open2(context.get(), decoder, nullptr) < 0) return nullptr;
  return context;
}

// FFmpeg has no error code for this.
bool IsAboveMaxPixels(const std::string& detail) {
  return absl::StrContains(detail, "max pixel count");
}

absl::Status AboveMaxPixels(const AVCodecContext& context, const std::string& detail) {
  return absl::ResourceExhaustedError(absl::StrCat("pictures are above max_pixels, ",
                                                   context.max_pixels, detail,
                                                   "; raise max_pixels if you trust the file"));
}

// Codecs in which each picture stands for itself. An error in their decoder's log is about the
// picture at hand, and often the only sign that its data ends early. Other decoders also log errors
// about data that no picture needs.
bool IsIntraOnly(AVCodecID codec) {
  const AVCodecDescriptor* const about = avcodec_descriptor_get(codec);
  return about != nullptr && (about->props & AV_CODEC_PROP_INTRA_ONLY) != 0;
}

// In a damaged stream, dav1d 1.0 can give a picture of one plane as 4:4:4.
bool HasItsPlanes(const AVFrame& picture) {
  const AVPixFmtDescriptor* const about =
      av_pix_fmt_desc_get(static_cast<AVPixelFormat>(picture.format));
  return about != nullptr && std::all_of(about->comp, about->comp + about->nb_components,
                                         [&](const AVComponentDescriptor& component) {
                                           return picture.data[component.plane] != nullptr;
                                         });
}

class SoftwareDecoder : public Decoder {
 public:
  using MakeContext = std::function<AvCodecContextPtr()>;

  SoftwareDecoder(AvCodecContextPtr context, MakeContext make_context)
      : leaves_gaps_(FactsOf(context->codec_id).software.leaves_gaps),
        log_tells_(IsIntraOnly(context->codec_id)),
        is_dav1d_(absl::string_view(context->codec->name) == "libdav1d"),
        state_(leaves_gaps_),
        context_(std::move(context)),
        make_context_(std::move(make_context)) {}

  // Closes the context first: its threads may still write to state_.
  ~SoftwareDecoder() override { context_.reset(); }

  int Open() {
    const int opened = OpenContext(context_.get());
    // dav1d's flush forgets everything, also the sequence header. FFmpeg's own decoders keep
    // something: parameter sets, or which encoder's bugs to work around.
    if (opened >= 0 && is_dav1d_) {
      as_opened_.reset(avcodec_parameters_alloc());
      if (as_opened_ != nullptr) {
        avcodec_parameters_from_context(as_opened_.get(), context_.get());
        KeepKnownTags(as_opened_.get());
      }
    }
    return opened;
  }

  const AVCodecContext& context() const { return *context_; }

  bool TakeErrors() override {
    const bool seen = state_.Take();
    had_errors_ |= seen;
    return seen;
  }

  bool TakeConcealment() override { return state_.TakeConcealment(); }

  absl::Status Send(const AVPacket* packet) override {
    is_reset_ = false;
    AvLogScope log;
    NamePacket(packet);
    const int sent = avcodec_send_packet(context_.get(), packet);
    if (sent < 0 && sent != AVERROR_EOF) return Error(sent, log.Detail());
    const std::string logged = log_tells_ && packet != nullptr ? log.Detail() : std::string();
    return logged.empty() ? absl::OkStatus() : Error(AVERROR_INVALIDDATA, logged);
  }

  absl::StatusOr<bool> Receive(AVFrame* frame) override {
    AvLogScope log;
    const int received = avcodec_receive_frame(context_.get(), frame);
    if (received >= 0) {
      if (!HasItsPlanes(*frame)) {
        had_errors_ = true;
        av_frame_unref(frame);
        return absl::DataLossError(
            absl::StrCat(context_->codec->name, ": a picture lacks planes of its format"));
      }
      KeepKnownTags(frame);
      const bool logged = log_tells_ && !log.Detail().empty();
      if (logged || (leaves_gaps_ && PicturePool::HasUnwritten(*frame))) {
        frame->decode_error_flags |= FF_DECODE_ERROR_INVALID_BITSTREAM;
      }
      return true;
    }
    if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) return false;
    return Error(received, log.Detail());
  }

  void Reset() override {
    TakeErrors();
    // After a flush of dav1d 1.0.0 with threads, a packet of a damaged stream may wait for ever.
    const bool may_wedge = is_dav1d_ && context_->thread_count != 1 && !is_reset_;
    if (!may_wedge || !Reopen()) avcodec_flush_buffers(context_.get());
    is_reset_ = true;
  }

  bool CanBeReused() override {
    TakeErrors();
    if (as_opened_ == nullptr || had_errors_ || !is_reset_) return false;
    // A stream may add to the colour properties that the decoder was opened with, or change them. A
    // next stream without its own properties would get these.
    AvCodecParametersPtr now(avcodec_parameters_alloc());
    if (now == nullptr || avcodec_parameters_from_context(now.get(), context_.get()) < 0) {
      return false;
    }
    KeepKnownTags(now.get());
    return SameParameters(*as_opened_, *now);
  }

 private:
  int OpenContext(AVCodecContext* context) {
    context->opaque = state_.opaque();
    KeepPacketPos(context);
    if (kCropsExactly) context->flags |= AV_CODEC_FLAG_UNALIGNED;
    if ((context->codec->capabilities & AV_CODEC_CAP_DR1) != 0) {
      context->get_buffer2 = GetPictureBuffer;
      AllowCallsByFrameThreads(context);
    }
    return avcodec_open2(context, context->codec, nullptr);
  }

  // Puts a newly opened context in the place of this one.
  bool Reopen() {
    AvLogScope log;
    AvCodecContextPtr fresh = make_context_();
    if (fresh == nullptr || OpenContext(fresh.get()) < 0) return false;
    context_ = std::move(fresh);
    state_.Take();
    had_errors_ = false;
    return true;
  }

  absl::Status Error(int averror, const std::string& detail) {
    had_errors_ = true;
    if (IsAboveMaxPixels(detail)) return AboveMaxPixels(*context_, detail);
    return FfmpegError(averror, absl::StrCat(context_->codec->name, detail));
  }

  const bool leaves_gaps_;
  const bool log_tells_;
  const bool is_dav1d_;
  CallbackState state_;
  AvCodecContextPtr context_;
  const MakeContext make_context_;
  AvCodecParametersPtr as_opened_;  // null if flushing does not restore the decoder
  bool is_reset_ = true;
  bool had_errors_ = false;
};

bool SameOptions(const DecoderOptions& a, const DecoderOptions& b) {
  return a.num_threads == b.num_threads && a.reorder_depth == b.reorder_depth &&
         a.max_pixels == b.max_pixels && a.output_unreachable == b.output_unreachable;
}

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
  AvCodecContextPtr context = NewContext(decoder, codec, time_base, options);
  NVC_ASSIGN_OR_RETURN(const std::shared_ptr<AVCodecParameters> kept, CopyOf(codec));
  if (context == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("out of memory opening decoder ", name));
  }
  auto software = std::make_unique<SoftwareDecoder>(
      std::move(context), [=] { return NewContext(decoder, *kept, time_base, options); });
  const int opened = software->Open();
  if (opened < 0) {
    if (IsAboveMaxPixels(log.Detail())) return AboveMaxPixels(software->context(), log.Detail());
    return absl::InvalidArgumentError(absl::StrCat(
        "decoder ", name, " refuses the stream: ", FfmpegErrorText(opened), log.Detail()));
  }
  return software;
}

int DeclaredReorderDepth(const AVCodecParameters& codec) {
  const AvCodecContextPtr context = ReadHeaders(codec);
  return context != nullptr ? context->has_b_frames : 0;
}

AVChromaLocation DeclaredChromaLocation(const AVCodecParameters& codec) {
  const AvCodecContextPtr context = ReadHeaders(codec);
  return context != nullptr ? context->chroma_sample_location : AVCHROMA_LOC_UNSPECIFIED;
}

bool SameParameters(const AVCodecParameters& a, const AVCodecParameters& b) {
  // The bit rate and the aspect ratio are left out, because no picture depends on them.
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

// A decoder that goes back to the cache when its user destroys it.
class DecoderCache::Lent : public Decoder {
 public:
  Lent(OpenDecoders* idle, std::unique_ptr<OpenDecoder> open)
      : idle_(idle), open_(std::move(open)) {}
  ~Lent() override {
    if (!open_->decoder->CanBeReused()) return;
    const size_t bytes = open_->Bytes();
    idle_->Give(std::move(open_), bytes);
  }

  absl::Status Send(const AVPacket* packet) override { return open_->decoder->Send(packet); }
  absl::StatusOr<bool> Receive(AVFrame* frame) override { return open_->decoder->Receive(frame); }
  bool TakeErrors() override { return open_->decoder->TakeErrors(); }
  void Reset() override { open_->decoder->Reset(); }

 private:
  OpenDecoders* const idle_;
  std::unique_ptr<OpenDecoder> open_;
};

// The measured memory of dav1d: about ten pictures, and as much again when threads decode several
// at a time.
size_t DecoderCache::OpenDecoder::Bytes() const {
  const auto format = static_cast<AVPixelFormat>(codec->format);
  const int picture = av_image_get_buffer_size(format, codec->width, codec->height, 64);
  return static_cast<size_t>(std::max(picture, 1 << 16)) * (options.num_threads > 1 ? 20 : 10);
}

DecoderCache& DecoderCache::Shared() {
  static auto* const cache = new DecoderCache(kIdleBytes, kIdleTime);
  static const bool held_in_forks = cache->idle_.HoldInForks(/*leak=*/true);
  static_cast<void>(held_in_forks);
  return *cache;
}

namespace {
// Made as soon as the library is loaded; block_cache.cc says why.
[[maybe_unused]] const DecoderCache& made = DecoderCache::Shared();
}  // namespace

absl::StatusOr<std::unique_ptr<Decoder>> DecoderCache::Open(const AVCodecParameters& codec,
                                                            AVRational time_base,
                                                            const DecoderOptions& options) {
  const auto is_same = [&](const std::unique_ptr<OpenDecoder>& idle) {
    return SameParameters(*idle->codec, codec) && av_cmp_q(idle->time_base, time_base) == 0 &&
           SameOptions(idle->options, options);
  };
  std::unique_ptr<OpenDecoder> open = idle_.Take(is_same).value_or(nullptr);
  if (open == nullptr) {
    auto decoder = OpenSoftwareDecoder(codec, time_base, options);
    if (!decoder.ok() || !(*decoder)->CanBeReused()) return decoder;
    open = std::make_unique<OpenDecoder>();
    open->decoder = std::move(decoder).value();
    NVC_ASSIGN_OR_RETURN(open->codec, CopyOf(codec));
    open->time_base = time_base;
    open->options = options;
  }
  return std::make_unique<Lent>(&idle_, std::move(open));
}

}  // namespace nvc
