#include "tf_nvcodec/core/encode/encode_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"
#include "tf_nvcodec/core/encode/codec_settings.h"
#include "tf_nvcodec/core/encode/encoder.h"

namespace nvc {
namespace {

constexpr int kMaxRatePart = 1 << 20;
constexpr double kMaxSessionFps = 1000;

absl::Status CheckFrameRate(AVRational rate, const CodecTraits& traits) {
  const bool whole =
      rate.num > 0 && rate.den > 0 && rate.num <= kMaxRatePart && rate.den <= kMaxRatePart;
  const double fps = whole ? av_q2d(rate) : 0;
  const double least = traits.min_fps > 0 ? traits.min_fps : 1e-3;
  const double most = traits.max_fps < kMaxSessionFps ? traits.max_fps : kMaxSessionFps;
  if (whole && fps >= least && fps <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("codec ", traits.name, " takes ", least, " to ", most,
                   " frames a second, as a fraction of whole numbers up to ", kMaxRatePart,
                   "; got ", rate.num, "/", rate.den));
}

void DropTags(StreamSpec* stream) {
  stream->matrix = AVCOL_SPC_UNSPECIFIED;
  stream->primaries = AVCOL_PRI_UNSPECIFIED;
  stream->transfer = AVCOL_TRC_UNSPECIFIED;
  if (stream->color_range != ColorRange::kFull) stream->range = AVCOL_RANGE_UNSPECIFIED;
}

EncodeOptions CoreOptions(const SessionSpec& spec) {
  EncodeOptions options;
  options.codec = spec.codec;
  options.container = EncodeContainer::kRaw;
  options.color_space = spec.color_space;
  if (spec.full_range) options.color_range = ColorRange::kFull;
  options.pixel_format = StreamFormatName(spec.format);
  options.gop = spec.gop;
  options.engine = spec.engine;
  options.gpu = spec.gpu;
  return options;
}

AVPictureType TypeOf(const AVPacket& packet) {
  size_t size = 0;
  const uint8_t* const stats = av_packet_get_side_data(&packet, AV_PKT_DATA_QUALITY_STATS, &size);
  // The side data holds a quality in 32 bits, then the type.
  constexpr size_t kTypeAt = 4;
  if (stats == nullptr || size <= kTypeAt) return AV_PICTURE_TYPE_NONE;
  return static_cast<AVPictureType>(stats[kTypeAt]);
}

}  // namespace

absl::StatusOr<std::unique_ptr<EncodeSession>> EncodeSession::Create(const SessionSpec& spec) {
  NVC_RETURN_IF_ERROR(CheckFrameRate(spec.frame_rate, TraitsOf(spec.codec)));
  const EncodeOptions options = CoreOptions(spec);
  NVC_RETURN_IF_ERROR(options.Validate());
  NVC_ASSIGN_OR_RETURN(const FrameBatch shape, DescribeInput(spec.format, spec.width, spec.height));
  NVC_ASSIGN_OR_RETURN(StreamSpec stream, ChooseStream(shape, options));
  if (!spec.color_space.has_value() && !IsRgb(spec.format)) DropTags(&stream);

  auto session = std::unique_ptr<EncodeSession>(new EncodeSession(spec, shape, stream));
  // The session keeps the parameter sets apart and puts them before key frames itself, because
  // encoders differ in when they repeat them.
  const bool nvenc = spec.engine == EncodeEngine::kNvenc;
  // If parameter sets were apart, NVENC's AV1 would leave the sequence header out of the stream.
  // Otherwise each key frame has it.
  const bool apart = !nvenc || spec.codec != EncodeCodec::kAv1;
  NVC_ASSIGN_OR_RETURN(AvCodecContextPtr context, NewEncoderContext(stream, apart));
  context->framerate = spec.frame_rate;
  context->time_base = av_inv_q(spec.frame_rate);
  if (options.gop > 0) context->gop_size = GopSize(options, options.gop);
  CodecOptions settings = spec.options;
  if (!nvenc) {
    const CodecOptions params = LibraryParams(stream, options, spec.params);
    settings.insert(settings.end(), params.begin(), params.end());
  }
  if (nvenc && spec.frames_on_gpu) {
    NVC_ASSIGN_OR_RETURN(session->gpu_frames_, GpuFramePool::Create(spec.gpu, stream.encoder_format,
                                                                    stream.width, stream.height));
    NVC_RETURN_IF_ERROR(ReadFramesOnGpu(*session->gpu_frames_, context.get()));
  }
  NVC_ASSIGN_OR_RETURN(session->encoder_,
                       OpenLibavcodecEncoder(std::move(context), options, settings,
                                             EncoderUse::kSession, /*cancelled=*/{}));
  NVC_RETURN_IF_ERROR(session->MakeFilter());
  return session;
}

absl::Status EncodeSession::MakeFilter() {
  const bool h264 = spec_.codec == EncodeCodec::kH264;
  AVRational tick = {spec_.frame_rate.den, spec_.frame_rate.num * (h264 ? 2 : 1)};
  if (spec_.tick.has_value()) tick = *spec_.tick;
  CodecOptions options = {{"tick_rate", absl::StrCat(tick.den, "/", tick.num)}};
  const char* name = h264 ? "h264_metadata" : "hevc_metadata";
  if (spec_.codec == EncodeCodec::kAv1) {
    name = "av1_metadata";
    options.emplace_back("td", "insert");
  }
  const AVCodecContext& encoder = encoder_->context();
  const AvCodecParametersPtr stream(avcodec_parameters_alloc());
  if (stream == nullptr || avcodec_parameters_from_context(stream.get(), &encoder) < 0) {
    return absl::ResourceExhaustedError("out of memory for a filter");
  }
  NVC_ASSIGN_OR_RETURN(filter_, BitstreamFilter::Create(name, *stream, encoder.time_base, options));
  parameter_sets_.assign(filter_->headers().begin(), filter_->headers().end());
  return absl::OkStatus();
}

absl::Status EncodeSession::CheckOpen(bool force_key) const {
  if (finished_) {
    return absl::FailedPreconditionError(
        "the encoder has ended: create another one for more frames");
  }
  NVC_RETURN_IF_ERROR(failed_);
  if (force_key && spec_.codec == EncodeCodec::kAv1 && spec_.engine == EncodeEngine::kCpu) {
    return absl::UnimplementedError("SVT-AV1 can't be told to make a frame a key frame: use gop");
  }
  return absl::OkStatus();
}

absl::Status EncodeSession::Encode(const void* data, size_t size, int64_t timestamp,
                                   bool force_key) {
  NVC_RETURN_IF_ERROR(CheckOpen(force_key));
  NVC_ASSIGN_OR_RETURN(AvFramePtr frame, input_.Load(data, size));
  if (gpu_frames_ != nullptr) {
    NVC_ASSIGN_OR_RETURN(frame, gpu_frames_->Upload(*frame));
  }
  return Send(std::move(frame), timestamp, force_key);
}

absl::Status EncodeSession::EncodeGpuFrame(AvFramePtr frame, int64_t timestamp, bool force_key) {
  NVC_RETURN_IF_ERROR(CheckOpen(force_key));
  return Send(std::move(frame), timestamp, force_key);
}

absl::Status EncodeSession::Send(AvFramePtr frame, int64_t timestamp, bool force_key) {
  frame->pts = next_pts_;
  if (force_key) frame->pict_type = AV_PICTURE_TYPE_I;
  timestamps_[next_pts_] = timestamp;
  ++next_pts_;
  failed_ = encoder_->Encode(std::move(frame), [this](AVPacket* packet) { return Store(packet); });
  return failed_;
}

absl::Status EncodeSession::Finish() {
  NVC_RETURN_IF_ERROR(failed_);
  if (finished_) return absl::OkStatus();
  finished_ = true;
  // Without frames there is nothing to drain, and SVT-AV1 would never return.
  if (next_pts_ > 0) {
    failed_ = encoder_->Finish([this](AVPacket* packet) { return Store(packet); });
  }
  return failed_;
}

absl::Status EncodeSession::Store(AVPacket* packet) {
  SessionPacket stored;
  stored.type = TypeOf(*packet);
  stored.key = (packet->flags & AV_PKT_FLAG_KEY) != 0;
  NVC_RETURN_IF_ERROR(filter_->Filter(packet));
  const bool av1 = spec_.codec == EncodeCodec::kAv1;
  if (!av1 && stored.key && (spec_.repeat_headers || stored_ == 0)) stored.data = parameter_sets_;
  // SVT-AV1's sequence header from before the first frame lacks tools that the stream uses, and
  // NVENC has none at that time. The first packet has the right one.
  if (av1 && stored_ == 0) {
    NVC_ASSIGN_OR_RETURN(std::string header, ParameterSetsIn(*packet, AV_CODEC_ID_AV1));
    if (!header.empty()) parameter_sets_ = std::move(header);
  }
  stored.data.append(reinterpret_cast<const char*>(packet->data), packet->size);
  stored.pts = packet->pts;
  stored.dts = packet->dts;
  const auto timestamp = timestamps_.find(packet->pts);
  if (timestamp == timestamps_.end()) {
    return absl::InternalError(
        absl::StrCat("packet ", stored_, " belongs to no frame (pts ", packet->pts, ")"));
  }
  stored.timestamp = timestamp->second;
  timestamps_.erase(timestamp);
  ++stored_;
  packets_.push_back(std::move(stored));
  return absl::OkStatus();
}

bool EncodeSession::Next(SessionPacket* packet) {
  if (packets_.empty()) return false;
  *packet = std::move(packets_.front());
  packets_.pop_front();
  return true;
}

absl::Status EncodeSession::SetRate(const EncoderRate& rate, AVRational frame_rate) {
  if (finished_) return absl::FailedPreconditionError("the encoder has ended");
  NVC_RETURN_IF_ERROR(CheckFrameRate(frame_rate, TraitsOf(spec_.codec)));
  // The encoder still counts at its first frame rate. Scaling the bit rates gives each frame its
  // share at the new frame rate.
  const AVRational slower = av_div_q(spec_.frame_rate, frame_rate);
  const auto scaled = [&](int64_t bits) { return av_rescale(bits, slower.num, slower.den); };
  return encoder_->SetRate({scaled(rate.bitrate), scaled(rate.max_bitrate), rate.vbv_size});
}

}  // namespace nvc
