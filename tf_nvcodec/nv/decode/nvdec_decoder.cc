#include "tf_nvcodec/nv/decode/nvdec_decoder.h"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/core/format/codec_table.h"
#include "tf_nvcodec/nv/cuda/nvdec_codecs.h"
#include "tf_nvcodec/nv/decode/hevc_references.h"
#include "tf_nvcodec/nv/decode/nvdec_headers.h"
#include "tf_nvcodec/nv/decode/nvdec_packets.h"
#include "tf_nvcodec/nv/decode/nvdec_parser.h"
#include "tf_nvcodec/nv/decode/nvdec_stream.h"

namespace nvc {
namespace {

// Whether decoding may go on after this error.
bool IsAboutThePacket(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsResourceExhausted(status);
}

class NvdecDecoder : public Decoder, private NvdecParserEvents {
 public:
  NvdecDecoder(NvdecPool* pool, cudaVideoCodec kind, AvCodecParametersPtr codec,
               NvdecPackets packets, const DecoderOptions& options)
      : pool_(pool),
        kind_(kind),
        facts_(FactsOfNvdec(kind).nvdec),
        codec_(std::move(codec)),
        packets_(std::move(packets)),
        max_pixels_(options.max_pixels),
        low_latency_(options.low_latency) {}

  ~NvdecDecoder() override { Forget(); }

  absl::Status Send(const AVPacket* packet) override {
    if (!lost_.ok()) return lost_;
    error_ = absl::OkStatus();
    absl::Status status = packet == nullptr ? Finish() : Parse(*packet);
    // An error of a callback is the cause of the parser's error.
    status = Note(error_.ok() ? status : error_);
    // The pictures before the error can still be output.
    if (absl::IsUnimplemented(status)) Finish().IgnoreError();
    return status;
  }

  absl::StatusOr<bool> Receive(AVFrame* frame) override {
    if (!lost_.ok() && !absl::IsUnimplemented(lost_)) return lost_;
    while (IsDue()) {
      Pending next = std::move(pending_.front());
      pending_.pop_front();
      const absl::StatusOr<bool> shows = Map(&next);
      if (!shows.ok()) return Note(shows.status());
      if (!*shows) continue;
      Picture& picture = next.picture;
      NVC_RETURN_IF_ERROR(
          MakeFrame(*picture.stream, std::move(picture.session), next.surface, frame));
      if (picture.lacks_reference) frame->decode_error_flags |= FF_DECODE_ERROR_MISSING_REFERENCE;
      frame->pts = picture.sent.pts;
      SetPacketPos(picture.sent.pos, frame);
      SetFields(facts_.has_fields && (picture.interlaced || !next.info.progressive_frame),
                picture.first_field < 0 ? next.info.top_field_first : picture.first_field == 0,
                frame);
      return true;
    }
    if (!lost_.ok()) return lost_;
    return false;
  }

  bool TakeErrors() override { return std::exchange(had_errors_, false); }

  void Reset() override {
    Forget();
    packets_.Reset();
  }

 private:
  // What a frame inherits from its packet.
  struct Sent {
    int64_t pos = -1;
    int64_t pts = AV_NOPTS_VALUE;
    bool discard = false;
  };

  // A picture in a decode surface of the session.
  struct Picture {
    std::shared_ptr<NvdecSession> session;
    std::shared_ptr<const NvdecStream> stream;
    Sent sent;
    bool interlaced = false;  // coded as interlaced, see IsCodedInterlaced
    int first_field = -1;     // see FirstField
    bool lacks_reference = false;
    bool shown = false;
  };

  // A picture that the parser has put out for display. It is mapped as late as possible, because
  // mapping waits for the engine.
  struct Pending {
    Picture picture;
    CUVIDPARSERDISPINFO info;
    NvdecSurface* surface = nullptr;  // null: not mapped yet
  };

  // Remembers an error for TakeErrors, and returns it. An error that is not about the packet ends
  // decoding.
  absl::Status Note(const absl::Status& status) {
    had_errors_ |= !status.ok();
    if (!status.ok() && !IsAboutThePacket(status)) lost_ = status;
    return status;
  }

  // Creates a new parser for each run of packets, so that nothing is left of the run before.
  absl::Status Start() {
    NVC_ASSIGN_OR_RETURN(parser_,
                         NvdecParser::Create(pool_->device(), &pool_->cuvid(), kind_, this));
    const auto& headers = packets_.headers();
    if (headers.empty()) return absl::OkStatus();
    return parser_->Parse(headers.data(), headers.size(), /*whole=*/false);
  }

  absl::Status Parse(const AVPacket& packet) {
    if (parser_ == nullptr) NVC_RETURN_IF_ERROR(Start());
    current_.pos = packet.pos;
    current_.pts = packet.pts;
    current_.discard = (packet.flags & AV_PKT_FLAG_DISCARD) != 0;
    NVC_RETURN_IF_ERROR(packets_.Send(packet, /*may_have_fields=*/!frames_only_));
    while (true) {
      NVC_ASSIGN_OR_RETURN(const NvdecPackets::Piece piece, packets_.Next());
      if (piece.data == nullptr) return absl::OkStatus();
      if (kind_ == cudaVideoCodec_VP9) {
        NVC_RETURN_IF_ERROR(CheckVp9Profile(piece.data, piece.size));
      } else if (kind_ == cudaVideoCodec_MPEG4) {
        NVC_RETURN_IF_ERROR(CheckMpeg4Object(piece.data, piece.size));
      }
      has_decoded_ = false;
      parsed_ = piece;
      const absl::Status parsed = parser_->Parse(piece.data, piece.size, piece.whole);
      parsed_ = {};
      NVC_RETURN_IF_ERROR(parsed);
      if (!error_.ok()) return error_;
    }
  }

  absl::Status Finish() {
    finished_ = true;
    return parser_ != nullptr ? parser_->Finish() : absl::OkStatus();
  }

  int OnSequence(const CUVIDEOFORMAT& format) override {
    absl::StatusOr<NvdecStream> stream = NvdecStream::Of(format, *codec_, Window(format));
    absl::Status status = stream.status();
    if (status.ok()) status = CheckPixels(format);
    if (status.ok()) status = CheckNvdecTakes(pool_->device(), stream->coded);
    if (status.ok()) status = UseSessionFor(*stream);
    if (!status.ok()) {
      Blame(status);
      session_.reset();  // it can't decode the pictures that follow
      if (facts_.may_show_again) pictures_.clear();
      return 0;
    }
    stream_ = std::make_shared<const NvdecStream>(*std::move(stream));
    return session_->num_surfaces();
  }

  // Finds the displayed part in the headers of the packet, or else in those of the container.
  std::optional<PictureWindow> Window(const CUVIDEOFORMAT& format) const {
    const auto find = [&](const uint8_t* data, size_t size) {
      return FindWindow(codec_->codec_id, data, size, static_cast<int>(format.coded_width),
                        static_cast<int>(format.coded_height));
    };
    const auto& headers = packets_.headers();
    auto window = find(parsed_.data, parsed_.size);
    if (!window) window = find(headers.data(), headers.size());
    return window;
  }

  // Checks max_pixels with the same allowance as the software decoder, whose FFmpeg code rounds the
  // width up.
  absl::Status CheckPixels(const CUVIDEOFORMAT& format) const {
    constexpr int64_t kAlignment = 64;
    const int64_t width = format.coded_width, height = format.coded_height;
    if (max_pixels_ <= 0 || width * height <= max_pixels_ + kAlignment * height) {
      return absl::OkStatus();
    }
    return absl::ResourceExhaustedError(absl::StrCat("pictures of ", width, "x", height,
                                                     " are above max_pixels, ", max_pixels_,
                                                     "; raise max_pixels if you trust the file"));
  }

  absl::Status UseSessionFor(const NvdecStream& stream) {
    if (session_ != nullptr && session_->IsFor(stream.coded, stream.min_surfaces)) {
      return absl::OkStatus();
    }
    // Pictures of the old size keep the old session alive until they are output.
    needs_key_ = facts_.may_show_again && !pictures_.empty();
    if (facts_.may_show_again) pictures_.clear();  // the new session can't show them again
    session_.reset();
    references_.Clear();
    NVC_ASSIGN_OR_RETURN(session_, pool_->Acquire(stream.coded, stream.min_surfaces));
    return absl::OkStatus();
  }

  bool OnPicture(CUVIDPICPARAMS* picture) override {
    if (session_ == nullptr) {
      Blame(absl::DataLossError("a picture before any sequence header"));
      return true;
    }
    if (std::exchange(needs_key_, false) && !StartsAfresh(kind_, *picture)) {
      // The references of this picture are in the old session.
      Blame(absl::UnimplementedError("NVDEC can't change the size between key frames"));
      return false;
    }
    const absl::Status taken = CheckPicture(kind_, *picture);
    if (!taken.ok()) {
      Blame(taken);
      return false;
    }
    if (facts_.drops_partial_macroblocks) {
      CountMacroblocks(stream_->coded.width, stream_->coded.height, picture);
    }
    if (kind_ == cudaVideoCodec_H264) {
      frames_only_ = picture->CodecSpecific.h264.frame_mbs_only_flag != 0;
    }
    has_decoded_ = true;
    const bool lacks_reference =
        kind_ == cudaVideoCodec_HEVC && !references_.HasAllOf(picture->CodecSpecific.hevc);
    had_errors_ |= lacks_reference;  // the picture may never be shown
    const std::set<int> written = {picture->CurrPicIdx, ReferenceIndex(kind_, *picture)};
    if (!picture->second_field) {
      for (const int index : written) {
        const absl::Status kept = KeepPicturesOf(index);
        if (!kept.ok()) {
          Blame(kept);
          return false;
        }
        pictures_[index] = {session_,
                            stream_,
                            current_,
                            IsCodedInterlaced(kind_, *picture),
                            FirstField(kind_, *picture),
                            lacks_reference,
                            /*shown=*/false};
      }
    }
    const absl::Status status = session_->Decode(picture);
    if (status.ok()) {
      if (kind_ == cudaVideoCodec_HEVC && !picture->second_field) {
        references_.Add(picture->CurrPicIdx, picture->CodecSpecific.hevc);
      }
      return true;
    }
    for (const int index : written) {
      pictures_.erase(index);
      references_.Remove(index);
    }
    Blame(status);
    return IsAboutThePacket(status);
  }

  // Maps the pictures that wait in decode surface `index`, before the next picture overwrites it.
  absl::Status KeepPicturesOf(int index) {
    for (auto pending = pending_.begin(); pending != pending_.end();) {
      const bool overwritten = pending->surface == nullptr &&
                               pending->picture.session == session_ &&
                               pending->info.picture_index == index;
      bool stays = true;
      if (overwritten) {
        NVC_ASSIGN_OR_RETURN(stays, Map(&*pending));
      }
      pending = stays ? std::next(pending) : pending_.erase(pending);
    }
    return absl::OkStatus();
  }

  void OnDisplay(const CUVIDPARSERDISPINFO& info) override {
    const auto picture = pictures_.find(info.picture_index);
    if (picture == pictures_.end()) return;  // the parser made it up, or it failed to decode
    // A packet that shows an old picture again has no picture of its own.
    const bool again = facts_.may_show_again && !has_decoded_ && !finished_;
    if (picture->second.shown && !again) return;
    Pending pending{picture->second, info};
    if (again) pending.picture.sent = current_;
    pending_.push_back(std::move(pending));
    picture->second.shown = true;
    if (!facts_.may_show_again) pictures_.erase(picture);
  }

  // Whether the next frame should come out now.
  bool IsDue() const {
    if (pending_.empty()) return false;
    return finished_ || pending_.front().surface != nullptr ||
           pending_.size() >= (low_latency_ ? 1 : size_t{NvdecSession::kSpareSurfaces});
  }

  // Maps a picture, which is ready to be shown then. Returns false if it is not shown: it is lost
  // or discarded.
  absl::StatusOr<bool> Map(Pending* pending) {
    if (pending->surface != nullptr) return true;
    const auto mapped = pending->picture.session->Map(pending->info);
    if (absl::IsDataLoss(mapped.status())) {
      // This error does not belong to the packet that was sent last, so that no call returns it.
      // The caller sees that the picture is missing.
      had_errors_ = true;
      return false;
    }
    NVC_RETURN_IF_ERROR(mapped.status());
    NvdecSurface* const surface = *mapped;
    if (pending->picture.sent.discard) {
      // It was mapped for its status alone: frames that are shown may refer to it.
      had_errors_ |= surface->is_broken() || surface->is_concealed();
      pending->picture.session->Release(surface);
      return false;
    }
    pending->surface = surface;
    return true;
  }

  // Keeps the first error of the callbacks for Send.
  void Blame(const absl::Status& status) {
    if (error_.ok()) error_ = status;
  }

  // Drops the parser and all pictures. The session stays.
  void Forget() {
    parser_.reset();
    for (const Pending& pending : pending_) {
      if (pending.surface != nullptr) pending.picture.session->Release(pending.surface);
    }
    pending_.clear();
    pictures_.clear();
    references_.Clear();
    finished_ = needs_key_ = frames_only_ = false;
  }

  NvdecPool* const pool_;
  const cudaVideoCodec kind_;
  const NvdecDecoding& facts_;
  const AvCodecParametersPtr codec_;
  NvdecPackets packets_;
  const int64_t max_pixels_;
  const bool low_latency_;

  HevcReferences references_;
  std::shared_ptr<NvdecSession> session_;      // kept from run to run
  std::shared_ptr<const NvdecStream> stream_;  // what the current sequence header says
  std::unique_ptr<NvdecParser> parser_;        // null before the first packet of a run
  Sent current_;                               // the packet being parsed
  NvdecPackets::Piece parsed_;                 // the part of it being parsed
  std::map<int, Picture> pictures_;            // by decode surface; may still be shown
  std::deque<Pending> pending_;                // in display order
  bool finished_ = false;
  bool has_decoded_ = false;  // the piece being parsed had a picture
  bool frames_only_ = false;  // the last picture's sequence allows no fields
  bool needs_key_ = false;    // references of the next picture would be in the old session
  absl::Status error_;        // the first error of a callback during Send
  absl::Status lost_;         // after this error nothing more is decoded
  bool had_errors_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Decoder>> OpenNvdecDecoder(GpuDevice* device,
                                                          const AVCodecParameters& codec,
                                                          AVRational time_base,
                                                          const DecoderOptions& options) {
  NVC_ASSIGN_OR_RETURN(NvdecPool* const pool, NvdecPool::Of(device));
  return OpenNvdecDecoder(pool, codec, time_base, options);
}

absl::StatusOr<std::unique_ptr<Decoder>> OpenNvdecDecoder(NvdecPool* pool,
                                                          const AVCodecParameters& codec,
                                                          AVRational time_base,
                                                          const DecoderOptions& options) {
  NVC_RETURN_IF_ERROR(CheckNvdecTakes(pool->device(), codec));
  NVC_ASSIGN_OR_RETURN(const cudaVideoCodec kind, NvdecCodec(codec.codec_id));
  NVC_ASSIGN_OR_RETURN(AvCodecParametersPtr parameters, CopyOf(codec));
  NVC_ASSIGN_OR_RETURN(NvdecPackets packets, NvdecPackets::Create(codec, time_base));
  return std::make_unique<NvdecDecoder>(pool, kind, std::move(parameters), std::move(packets),
                                        options);
}

}  // namespace nvc
