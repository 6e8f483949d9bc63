#include "tf_nvcodec/capi/packet_decoder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/capi/gpu_frames.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/base/thread_budget.h"
#include "tf_nvcodec/core/format/codec_table.h"
#include "tf_nvcodec/core/index/frame_index.h"
#include "tf_nvcodec/nv/decode/decode_backend.h"

namespace nvc {
namespace {

// Every further thread delays the output by one more frame.
constexpr int kMaxThreads = 16;

void Note(const absl::Status& status, absl::Status* first) {
  if (first->ok()) *first = status;
}

}  // namespace

absl::Status PacketDecoder::Decode(const AVPacket& packet,
                                   const std::shared_ptr<const PacketStream>& stream) {
  absl::Status first = Follow(stream);
  // An error so far concerns earlier frames. The new packet is decoded unless opening has failed.
  if (decoder_ == nullptr) return first;
  if (std::exchange(finished_, false)) {
    decoder_->Reset();
    at_start_ = true;
    if (times_) times_.emplace(Delay());
  }
  if (parser_ == nullptr) {
    Note(DecodeWhole(&packet), &first);
  } else {
    Note(parser_->Parse(packet, [this](const AVPacket& whole) { return DecodeWhole(&whole); }),
         &first);
  }
  return first;
}

absl::Status PacketDecoder::Finish() {
  absl::Status first;
  if (parser_ != nullptr) {
    first = parser_->Finish([this](const AVPacket& whole) { return DecodeWhole(&whole); });
    absl::StatusOr<std::unique_ptr<PacketParser>> fresh = PacketParser::Create(options_.codec);
    if (fresh.ok()) parser_ = std::move(fresh).value();
  }
  Note(Drain(), &first);
  return first;
}

std::unique_ptr<nvc_frame> PacketDecoder::TakeFrame() {
  if (frames_.empty()) return nullptr;
  std::unique_ptr<nvc_frame> frame = std::move(frames_.front());
  frames_.pop_front();
  return frame;
}

absl::Status PacketDecoder::Follow(const std::shared_ptr<const PacketStream>& stream) {
  if (decoder_ != nullptr && stream == stream_) return absl::OkStatus();
  absl::Status first;
  if (decoder_ != nullptr) {
    first = Finish();
    const bool alike =
        stream != nullptr && stream_ != nullptr && SameParameters(*stream->codec, *stream_->codec);
    if (!alike) decoder_.reset();
  }
  at_start_ = true;
  joining_ = false;
  stream_ = stream;
  if (decoder_ == nullptr) Note(Open(), &first);
  return first;
}

absl::Status PacketDecoder::Open() {
  parser_.reset();
  gpu_refuses_ = false;
  if (stream_ == nullptr) {
    if (options_.codec == AV_CODEC_ID_NONE) {
      return absl::InvalidArgumentError(
          "the codec of the packet is unknown: pass the codec to CreateDecoder, or packets of "
          "CreateDemuxer");
    }
    if (FactsOf(options_.codec).software.needs_extradata) {
      return absl::UnimplementedError(
          absl::StrCat("codec '", avcodec_get_name(options_.codec),
                       "' can't be decoded from its bytes alone, which lack the stream's headers: "
                       "pass packets of CreateDemuxer"));
    }
    NVC_ASSIGN_OR_RETURN(parser_, PacketParser::Create(options_.codec));
  } else if (options_.codec != AV_CODEC_ID_NONE && stream_->codec->codec_id != options_.codec) {
    return absl::InvalidArgumentError(
        absl::StrCat("the packet is of codec '", avcodec_get_name(stream_->codec->codec_id),
                     "', but the decoder was created for '", avcodec_get_name(options_.codec),
                     "': pass codec=demuxer.GetNvCodecId() to CreateDecoder"));
  }
  return OpenDecoder();
}

absl::Status PacketDecoder::OpenDecoder() {
  AvCodecParametersPtr codec(avcodec_parameters_alloc());
  if (codec == nullptr) return absl::ResourceExhaustedError("out of memory opening a decoder");
  if (stream_ != nullptr) {
    NVC_ASSIGN_OR_RETURN(codec, CopyOf(*stream_->codec));
  } else {
    codec->codec_type = AVMEDIA_TYPE_VIDEO;
    codec->codec_id = options_.codec;
  }
  inspector_.reset();
  times_.reset();
  DecoderOptions options;
  options.max_pixels = options_.limit.MaxPixels();
  options.low_latency = options_.low_latency;
  if (!options_.low_latency) {
    options.num_threads = std::min(AvailableCores() + kSpareThreads, kMaxThreads);
  }
  // Without container headers nothing tells the delay of H.264, so this uses the longest one.
  const bool unknown_delay = stream_ == nullptr && !options_.low_latency;
  if (unknown_delay) options.reorder_depth = FrameIndex::kMaxReorderDepth;
  const AVRational time_base = stream_ != nullptr ? stream_->time_base : AVRational{0, 1};
  finished_ = false;
  NVC_ASSIGN_OR_RETURN(maker_, MakeFrames(options_.gpu, options_.color));
  may_be_refused_ = false;
  if (options_.gpu.device != nullptr && !gpu_refuses_) {
    absl::StatusOr<std::unique_ptr<Decoder>> decoder =
        OpenGpuDecoder(options_.gpu, *codec, time_base, options);
    const bool may_be_cpu = !options_.must_be_gpu && absl::IsUnimplemented(decoder.status());
    if (!may_be_cpu) {
      if (options_.must_be_gpu && absl::IsUnimplemented(decoder.status())) {
        return WithNvdecCure(decoder.status());
      }
      NVC_RETURN_IF_ERROR(decoder.status());
      decoder_ = std::move(decoder).value();
      may_be_refused_ = !options_.must_be_gpu;
      if (FactsOf(codec->codec_id).skips_leading) inspector_ = PacketInspector::Create(*codec);
      times_.emplace(Delay());
      return absl::OkStatus();
    }
  }
  absl::StatusOr<std::unique_ptr<Decoder>> software =
      OpenSoftwareDecoder(*codec, time_base, options);
  if (!software.ok()) return options_.limit.Named(software.status());
  decoder_ = std::move(software).value();
  return absl::OkStatus();
}

absl::Status PacketDecoder::DecodeWhole(const AVPacket* packet) {
  if (std::exchange(at_start_, false) && packet != nullptr) {
    joining_ = (packet->flags & AV_PKT_FLAG_KEY) == 0;
    random_access_points_ = 0;
  }
  if (packet != nullptr && IsSkippedLeading(*packet)) return absl::OkStatus();
  absl::Status refused;
  absl::Status first = SendAndReceive(packet, &refused);
  if (!refused.ok()) {
    Note(GoOnWithFfmpeg(packet, refused), &first);
  } else if (absl::IsUnimplemented(first) && options_.must_be_gpu) {
    first = WithNvdecCure(first);
  }
  // The frames before the first one that can be decoded refer to pictures that never came.
  if (joining_ && absl::IsDataLoss(first)) return absl::OkStatus();
  if (first.ok() || packet == nullptr || packet->pts == AV_NOPTS_VALUE) return first;
  return absl::Status(first.code(),
                      absl::StrCat("packet with timestamp ", packet->pts, ": ", first.message()));
}

absl::Status PacketDecoder::GoOnWithFfmpeg(const AVPacket* packet, const absl::Status& refused) {
  gpu_refuses_ = true;
  NVC_RETURN_IF_ERROR(OpenDecoder());
  if (packet == nullptr) {
    finished_ = true;
    return refused;
  }
  const bool can_go_on = (packet->flags & AV_PKT_FLAG_KEY) != 0 || joining_;
  joining_ = joining_ || !can_go_on;
  absl::Status none;  // FFmpeg's decoder refuses no packet
  const absl::Status sent = SendAndReceive(packet, &none);
  if (can_go_on) return sent;
  return absl::Status(refused.code(),
                      absl::StrCat(refused.message(), "; FFmpeg goes on from the next key frame"));
}

absl::Status PacketDecoder::SendAndReceive(const AVPacket* packet, absl::Status* refused) {
  absl::Status first = decoder_->Send(packet);
  const bool is_refused = may_be_refused_ && absl::IsUnimplemented(first);
  if (is_refused) *refused = std::exchange(first, absl::OkStatus());
  if (times_ && packet != nullptr) times_->Sent(*packet);
  AvFramePtr frame(av_frame_alloc());
  if (frame == nullptr) return absl::ResourceExhaustedError("out of memory for a frame");
  constexpr int kMostDamaged = 64;  // no decoder works at more pictures together
  int damaged = 0;
  while (true) {
    const absl::StatusOr<bool> received = decoder_->Receive(frame.get());
    // Reports a refusal once only.
    if (!is_refused || !absl::IsUnimplemented(received.status())) Note(received.status(), &first);
    // While FFmpeg drains, pictures may follow one that is damaged.
    if (packet == nullptr && absl::IsDataLoss(received.status()) && ++damaged < kMostDamaged) {
      continue;
    }
    if (!received.ok() || !*received) break;
    if (times_ && frame->pts == AV_NOPTS_VALUE) frame->best_effort_timestamp = times_->Next();
    const absl::Status kept = Keep(*frame);
    Note(kept, &first);
    if (kept.ok()) joining_ = false;
    av_frame_unref(frame.get());
  }
  if (decoder_->TakeConcealment()) {
    Note(absl::DataLossError("a frame near this packet is damaged; FFmpeg concealed the damage"),
         &first);
  }
  return options_.limit.Named(first);
}

int PacketDecoder::Delay() const {
  return stream_ != nullptr ? std::max(stream_->codec->video_delay, 0) : 0;
}

bool PacketDecoder::IsSkippedLeading(const AVPacket& packet) {
  if (inspector_ == nullptr) return false;
  const PacketInfo info = inspector_->Inspect(packet);
  if (info.random_access) ++random_access_points_;
  return info.skipped_leading && random_access_points_ <= 1;
}

absl::Status PacketDecoder::Drain() {
  if (decoder_ == nullptr || std::exchange(finished_, true)) return absl::OkStatus();
  return DecodeWhole(nullptr);
}

absl::Status PacketDecoder::Keep(const AVFrame& frame) {
  NVC_RETURN_IF_ERROR(options_.limit.Check(frame));
  if (IsDamaged(frame)) {
    return absl::DataLossError(
        absl::StrCat("the frame with timestamp ", TimestampOf(frame), " is damaged"));
  }
  NVC_ASSIGN_OR_RETURN(std::unique_ptr<nvc_frame> made, maker_->Make(frame));
  frames_.push_back(std::move(made));
  return absl::OkStatus();
}

}  // namespace nvc
