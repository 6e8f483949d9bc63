#include "tf_nvcodec/core/encode/encoder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/codec_settings.h"
#include "tf_nvcodec/core/encode/svt_av1_guard.h"
#include "tf_nvcodec/core/ffmpeg/av_log.h"

extern "C" {
#include <libavutil/dict.h>
}

namespace nvc {
namespace {

bool IsSvtAv1(const AVCodec* codec) { return std::strcmp(codec->name, "libsvtav1") == 0; }

// Makes a status of an encoder's error. Bad options cause these errors more often than damaged
// data.
absl::Status EncoderError(int averror, const std::string& doing, const AvLogScope& log) {
  const absl::Status status = FfmpegError(averror, doing);
  const std::string message = absl::StrCat(status.message(), log.Detail());
  if (averror == AVERROR(EINVAL) || averror == AVERROR(ERANGE) ||
      averror == AVERROR_OPTION_NOT_FOUND || averror == AVERROR_EXTERNAL ||
      averror == AVERROR_INVALIDDATA) {
    return absl::InvalidArgumentError(message);
  }
  return absl::Status(status.code(), message);
}

// Makes a status of NVENC's error. What the GPU or its driver can't do becomes FailedPrecondition
// or Unimplemented.
absl::Status NvencError(int averror, const std::string& doing, const AvLogScope& log) {
  const absl::Status status = EncoderError(averror, doing, log);
  // EPERM is libavcodec's -1, for a driver that it can't open.
  if (averror == AVERROR_EXTERNAL || averror == AVERROR_UNKNOWN || averror == AVERROR(EPERM)) {
    return absl::FailedPreconditionError(status.message());
  }
  if (averror == AVERROR(ENOSYS) || averror == AVERROR(ENOTSUP)) {
    return absl::UnimplementedError(status.message());
  }
  return status;
}

// Returns the preset that SVT-AV1 will use: libavcodec's "preset", or its default if there is none
// or libavcodec refuses it. A preset among SVT-AV1's own parameters overrides both.
int SvtAv1Preset(const CodecOptions& settings) {
  int preset = kSvtAv1DefaultPreset;
  for (const auto& [name, value] : settings) {
    if (name == "preset" && !absl::SimpleAtoi(value, &preset)) preset = kSvtAv1DefaultPreset;
  }
  for (const auto& [name, value] : settings) {
    if (name != "svtav1-params") continue;
    for (absl::string_view param : absl::StrSplit(value, ':')) {
      int in_params = 0;
      if (absl::ConsumePrefix(&param, "preset=") && absl::SimpleAtoi(param, &in_params)) {
        preset = in_params;
      }
    }
  }
  return preset;
}

// Runs any encoder of libavcodec, also those on NVENC.
class LibavcodecEncoder : public Encoder {
 public:
  LibavcodecEncoder(AvCodecContextPtr context, const EncodeOptions& options, EncoderUse use)
      : context_(std::move(context)),
        packet_(av_packet_alloc()),
        label_(
            absl::StrCat("codec ", TraitsOf(options.codec).name, " (", context_->codec->name, ")")),
        force_key_frames_(ForcesKeyFrames(options)),
        nvenc_(options.engine == EncodeEngine::kNvenc),
        use_(use) {}

  ~LibavcodecEncoder() override {
    // If an encoder got no frame or no end of stream, SVT-AV1 1.4 never returns from closing it.
    if (avcodec_is_open(context_.get()) && IsSvtAv1(context_->codec) && !finished_) DrainUnused();
  }

  absl::Status Open(const CodecOptions& settings, const Cancelled& cancelled) {
    if (packet_ == nullptr) return absl::ResourceExhaustedError("out of memory for a packet");
    if (IsSvtAv1(context_->codec)) {
      NVC_ASSIGN_OR_RETURN(lock_, WaitForSvtAv1Lock(use_, cancelled));
      NVC_RETURN_IF_ERROR(CheckSvtAv1Preset(SvtAv1Preset(settings)));
    }
    AVDictionary* dictionary = nullptr;
    for (const auto& [name, value] : settings) {
      av_dict_set(&dictionary, name.c_str(), value.c_str(), 0);
    }
    AvLogScope log;
    // The wrappers of libx265 and SVT-AV1 only warn of parameters that the library does not accept.
    // This turns their warnings into errors.
    context_->log_level_offset = AV_LOG_ERROR - AV_LOG_WARNING;
    const NoRealTimePriority ordinary;  // keeps SVT-AV1 from raising this thread's
    const int opened = avcodec_open2(context_.get(), context_->codec, &dictionary);
    context_->log_level_offset = 0;
    const AVDictionaryEntry* const unused =
        av_dict_get(dictionary, "", nullptr, AV_DICT_IGNORE_SUFFIX);
    const std::string unknown = unused != nullptr ? unused->key : "";
    av_dict_free(&dictionary);
    if (opened < 0) return Error(opened, absl::StrCat("opening ", label_), log);
    if (IsSvtAv1(context_->codec)) SvtAv1PresetWasOpened(SvtAv1Preset(settings));
    if (!unknown.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(label_, " has no option \"", unknown, "\""));
    }
    const std::string complaint = log.Detail();
    for (const char* const words : {"Unknown option", "Invalid value", "Error parsing option"}) {
      if (!absl::StrContains(complaint, words)) continue;
      return absl::InvalidArgumentError(absl::StrCat("opening ", label_, complaint));
    }
    return absl::OkStatus();
  }

  absl::Status Encode(AvFramePtr frame, const PacketSink& sink) override {
    AvLogScope log;
    frame->quality = context_->global_quality;
    if (force_key_frames_) frame->pict_type = AV_PICTURE_TYPE_I;
    // FFV1 writes the frame's own.
    frame->sample_aspect_ratio = context_->sample_aspect_ratio;
    if (NeedsDecodingTimes()) sent_pts_.push_back(frame->pts);
    const int sent = avcodec_send_frame(context_.get(), frame.get());
    if (sent < 0) return Error(sent, Doing(), log);
    ++frames_;
    return Receive(sink);
  }

  absl::Status Finish(const PacketSink& sink) override {
    AvLogScope log;
    const int sent = avcodec_send_frame(context_.get(), nullptr);
    if (sent < 0) return Error(sent, absl::StrCat("finishing ", label_), log);
    NVC_RETURN_IF_ERROR(Receive(sink));
    finished_ = true;
    return absl::OkStatus();
  }

  absl::Status SetRate(const EncoderRate& rate) override {
    // libavcodec's wrappers of x264 and NVENC check at every frame whether these fields have
    // changed.
    if (!nvenc_ && std::strcmp(context_->codec->name, "libx264") != 0) {
      return absl::UnimplementedError(absl::StrCat(
          label_, " can't change its rate while it runs: end it and create another encoder"));
    }
    if (context_->bit_rate == 0 || rate.bitrate <= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          label_, " keeps constant QP: its rate can change only if it began with a bitrate"));
    }
    return nvenc_ ? SetNvencRate(rate) : SetX264Rate(rate);
  }

  const AVCodecContext& context() const override { return *context_; }

 private:
  absl::Status SetX264Rate(const EncoderRate& rate) {
    // x264 accepts a new bitrate only together with new values for the buffer.
    if (context_->rc_buffer_size == 0 || context_->rc_max_rate == 0 || rate.vbv_size <= 0 ||
        rate.max_bitrate <= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          label_,
          " can change its rate only if it has a VBV buffer from the start and keeps one: "
          "create it with rc cbr or with a maxbitrate"));
    }
    context_->bit_rate = rate.bitrate;
    context_->rc_max_rate = rate.max_bitrate;
    context_->rc_buffer_size = static_cast<int>(rate.vbv_size);
    return absl::OkStatus();
  }

  // NVENC starts a new GOP with the new rate.
  absl::Status SetNvencRate(const EncoderRate& rate) {
    context_->bit_rate = rate.bitrate;
    // Values that the caller does not give stay as they are.
    if (rate.max_bitrate > 0) context_->rc_max_rate = rate.max_bitrate;
    if (rate.vbv_size > 0) context_->rc_buffer_size = static_cast<int>(rate.vbv_size);
    return absl::OkStatus();
  }

  absl::Status Error(int averror, const std::string& doing, const AvLogScope& log) const {
    return nvenc_ ? NvencError(averror, doing, log) : EncoderError(averror, doing, log);
  }

  std::string Doing() const { return absl::StrCat("encoding frame ", frames_, " with ", label_); }

  absl::Status Receive(const PacketSink& sink) {
    AvLogScope log;
    for (;;) {
      const int received = avcodec_receive_packet(context_.get(), packet_.get());
      if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) return absl::OkStatus();
      if (received < 0) return Error(received, Doing(), log);
      if (NeedsDecodingTimes()) packet_->dts = DecodingTime(packets_);
      ++packets_;
      const absl::Status stored = sink(packet_.get());
      av_packet_unref(packet_.get());
      NVC_RETURN_IF_ERROR(stored);
    }
  }

  // x265 leaves the dts undefined in streams shorter than its reordering delay, and libavcodec's
  // NVENC before 6.1 assumes that a frame lasts one tick.
  bool NeedsDecodingTimes() const { return nvenc_ || context_->codec_id == AV_CODEC_ID_HEVC; }

  // Returns the dts of a packet. Packet k is decoded at the time at which frame k - delay is
  // displayed. The packets come in order: earlier times are dropped.
  int64_t DecodingTime(size_t packet) {
    // x265 makes a pyramid of two levels at most. NVENC can make deeper ones.
    const auto b_frames = static_cast<size_t>(context_->max_b_frames);
    const size_t delay = nvenc_ ? b_frames : b_frames == 0 ? 0 : 2;
    if (packet >= delay) {
      for (; dropped_pts_ < packet - delay; ++dropped_pts_) sent_pts_.pop_front();
      return sent_pts_.front();
    }
    const int64_t step = sent_pts_.size() > 1 ? sent_pts_[1] - sent_pts_[0] : 1;
    return sent_pts_[0] - static_cast<int64_t>(delay - packet) * step;
  }

  // Feeds a blank frame, if none came, and the end of the stream to SVT-AV1, so that closing it
  // returns.
  void DrainUnused() {
    AvLogScope log;
    if (frames_ == 0) {
      const AvFramePtr blank(av_frame_alloc());
      if (blank == nullptr) return;
      blank->format = context_->pix_fmt;
      blank->width = context_->width;
      blank->height = context_->height;
      if (av_frame_get_buffer(blank.get(), 0) < 0) return;
      for (AVBufferRef* const buffer : blank->buf) {
        if (buffer != nullptr) std::memset(buffer->data, 0, buffer->size);
      }
      blank->pts = 0;
      avcodec_send_frame(context_.get(), blank.get());
    }
    avcodec_send_frame(context_.get(), nullptr);
    int received = 0;
    while (received >= 0 || received == AVERROR(EAGAIN)) {
      received = avcodec_receive_packet(context_.get(), packet_.get());
      av_packet_unref(packet_.get());
    }
  }

  SvtAv1Lock lock_;  // outlives the context
  AvCodecContextPtr context_;
  AvPacketPtr packet_;
  const std::string label_;
  const bool force_key_frames_;
  const bool nvenc_;
  const EncoderUse use_;
  int64_t frames_ = 0;
  std::deque<int64_t> sent_pts_;  // of the frames from dropped_pts_ on, in display order
  size_t dropped_pts_ = 0;
  size_t packets_ = 0;
  bool finished_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Encoder>> NewLibavcodecEncoder(
    const StreamSpec& stream, const FrameTiming& timing, const EncodeOptions& options,
    bool global_header, const GpuFramePool* gpu_frames, const Cancelled& cancelled) {
  NVC_ASSIGN_OR_RETURN(const CodecOptions settings, MakeCodecSettings(stream, options));
  NVC_ASSIGN_OR_RETURN(AvCodecContextPtr context, NewEncoderContext(stream, global_header));
  ApplyContextSettings(stream, timing, options, context.get());
  if (gpu_frames != nullptr) NVC_RETURN_IF_ERROR(ReadFramesOnGpu(*gpu_frames, context.get()));
  return OpenLibavcodecEncoder(std::move(context), options, settings, EncoderUse::kOneCall,
                               cancelled);
}

absl::StatusOr<AvCodecContextPtr> NewEncoderContext(const StreamSpec& stream, bool global_header) {
  QuietEncoderLibraries();
  AvCodecContextPtr context(avcodec_alloc_context3(stream.encoder));
  if (context == nullptr) return absl::ResourceExhaustedError("out of memory for an encoder");
  context->width = stream.width;
  context->height = stream.height;
  context->pix_fmt = stream.encoder_format;
  context->colorspace = stream.matrix;
  context->color_primaries = stream.primaries;
  context->color_trc = stream.transfer;
  context->color_range = stream.range;
  context->chroma_sample_location = stream.chroma_location;
  // Leaves out version strings and dates, so that equal input gives equal bytes.
  context->flags |= AV_CODEC_FLAG_BITEXACT;
  if (global_header) context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  return context;
}

absl::Status ReadFramesOnGpu(const GpuFramePool& pool, AVCodecContext* context) {
  context->pix_fmt = AV_PIX_FMT_CUDA;
  context->sw_pix_fmt = pool.layout();
  context->hw_frames_ctx = av_buffer_ref(pool.frames());
  if (context->hw_frames_ctx != nullptr) return absl::OkStatus();
  return absl::ResourceExhaustedError("out of memory for an encoder");
}

absl::StatusOr<std::unique_ptr<Encoder>> OpenLibavcodecEncoder(AvCodecContextPtr context,
                                                               const EncodeOptions& options,
                                                               const CodecOptions& settings,
                                                               EncoderUse use,
                                                               const Cancelled& cancelled) {
  if (options.gpu != nullptr) {
    context->hw_device_ctx = av_buffer_ref(options.gpu);
    if (context->hw_device_ctx == nullptr) {
      return absl::ResourceExhaustedError("out of memory for an encoder");
    }
  }
  auto encoder = std::make_unique<LibavcodecEncoder>(std::move(context), options, use);
  NVC_RETURN_IF_ERROR(encoder->Open(settings, cancelled));
  return encoder;
}

void QuietEncoderLibraries() {
  // SVT-AV1 has no other way. Fatal errors still show, and a value that the user has set stays.
  static std::once_flag done;
  std::call_once(done, [] { setenv("SVT_LOG", "0", /*overwrite=*/0); });
}

}  // namespace nvc
