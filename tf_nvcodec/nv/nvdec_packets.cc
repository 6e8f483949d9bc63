#include "tf_nvcodec/nv/nvdec_packets.h"

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/av_log.h"
#include "tf_nvcodec/core/status.h"

namespace nvc {
namespace {

const char* FilterFor(AVCodecID codec) {
  switch (codec) {
    case AV_CODEC_ID_H264:
      return "h264_mp4toannexb";
    case AV_CODEC_ID_HEVC:
      return "hevc_mp4toannexb";
    case AV_CODEC_ID_MPEG4:
      return "mpeg4_unpack_bframes";
    case AV_CODEC_ID_VP9:
      return "vp9_superframe_split";
    case AV_CODEC_ID_AV1:
      return "av1_frame_split";
    default:
      return nullptr;
  }
}

// Whether what comes out of the filter is one picture, apart from fields. AV1's parser is not known
// to care.
bool IsOnePicture(AVCodecID codec) { return codec != AV_CODEC_ID_AV1; }

bool MayHoldFields(AVCodecID codec) {
  return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_MPEG1VIDEO ||
         codec == AV_CODEC_ID_MPEG2VIDEO;
}

enum class Unit { kPictureStart, kSlice, kOther };

Unit UnitAt(AVCodecID codec, const uint8_t* after_start_code, size_t size) {
  const int code = after_start_code[0];
  if (codec != AV_CODEC_ID_H264) {
    if (code == 0) return Unit::kPictureStart;
    return code <= 0xaf ? Unit::kSlice : Unit::kOther;
  }
  const int type = code & 31;
  if (type != 1 && type != 2 && type != 5) return Unit::kOther;
  // A first_mb_in_slice of 0 is a single one.
  return size > 1 && (after_start_code[1] & 0x80) != 0 ? Unit::kPictureStart : Unit::kSlice;
}

// An av1C record is the four bytes before the sequence header that the parser wants.
constexpr int kAv1RecordBytes = 4;

}  // namespace

absl::StatusOr<NvdecPackets> NvdecPackets::Create(const AVCodecParameters& codec,
                                                  AVRational time_base) {
  AvLogScope log;
  NvdecPackets packets;
  packets.codec_ = codec.codec_id;
  packets.filtered_.reset(av_packet_alloc());
  if (packets.filtered_ == nullptr) return absl::ResourceExhaustedError("out of memory");
  const uint8_t* headers = codec.extradata;
  int size = headers != nullptr ? codec.extradata_size : 0;
  if (const char* name = FilterFor(codec.codec_id)) {
    const AVBitStreamFilter* filter = av_bsf_get_by_name(name);
    if (filter == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("this FFmpeg has no bitstream filter '", name, "', which NVDEC needs"));
    }
    AVBSFContext* context = nullptr;
    int error = av_bsf_alloc(filter, &context);
    packets.filter_.reset(context);
    if (error >= 0) error = avcodec_parameters_copy(context->par_in, &codec);
    if (error >= 0) {
      context->time_base_in = time_base;
      error = av_bsf_init(context);
    }
    if (error == AVERROR(ENOMEM)) return FfmpegError(error, name);
    if (error < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " refuses the stream: ", FfmpegErrorText(error), log.Detail()));
    }
    headers = context->par_out->extradata;
    size = headers != nullptr ? context->par_out->extradata_size : 0;
  }
  if (codec.codec_id == AV_CODEC_ID_AV1 && size > 0 && (headers[0] & 0x80) != 0) {
    const int skipped = size < kAv1RecordBytes ? size : kAv1RecordBytes;
    headers += skipped;
    size -= skipped;
  } else if (codec.codec_id == AV_CODEC_ID_VP8 || codec.codec_id == AV_CODEC_ID_VP9 ||
             codec.codec_id == AV_CODEC_ID_MJPEG) {
    size = 0;  // what containers keep there is not of the stream
  }
  if (size > 0) packets.headers_.assign(headers, headers + size);
  return packets;
}

absl::Status NvdecPackets::Send(const AVPacket& packet, bool may_have_fields) {
  pieces_.clear();
  next_piece_ = 0;
  may_have_fields_ = may_have_fields;
  if (filter_ == nullptr) {
    Split(packet);
    return absl::OkStatus();
  }
  AvLogScope log;
  // What an error left inside would keep the filter from taking more.
  do {
    av_packet_unref(filtered_.get());
  } while (av_bsf_receive_packet(filter_.get(), filtered_.get()) >= 0);
  // The filter takes what it is given.
  AvPacketPtr given(av_packet_alloc());
  if (given == nullptr) return absl::ResourceExhaustedError("out of memory");
  int error = av_packet_ref(given.get(), &packet);
  if (error >= 0) error = av_bsf_send_packet(filter_.get(), given.get());
  if (error < 0) return FfmpegError(error, absl::StrCat(filter_->filter->name, log.Detail()));
  return Filter();
}

absl::StatusOr<NvdecPackets::Piece> NvdecPackets::Next() {
  if (next_piece_ == pieces_.size() && filter_ != nullptr) NVC_RETURN_IF_ERROR(Filter());
  if (next_piece_ == pieces_.size()) return Piece();
  return pieces_[next_piece_++];
}

absl::Status NvdecPackets::Filter() {
  AvLogScope log;
  pieces_.clear();
  next_piece_ = 0;
  av_packet_unref(filtered_.get());
  const int error = av_bsf_receive_packet(filter_.get(), filtered_.get());
  if (error == AVERROR(EAGAIN)) return absl::OkStatus();
  if (error < 0) return FfmpegError(error, absl::StrCat(filter_->filter->name, log.Detail()));
  Split(*filtered_);
  return absl::OkStatus();
}

void NvdecPackets::Split(const AVPacket& packet) {
  if (packet.size <= 0) return;
  const auto size = static_cast<size_t>(packet.size);
  std::vector<size_t> ends;
  if (may_have_fields_ && MayHoldFields(codec_)) ends = PictureStarts(codec_, packet.data, size);
  ends.push_back(size);
  size_t begin = 0;
  for (const size_t end : ends) {
    pieces_.push_back({packet.data + begin, end - begin, IsOnePicture(codec_)});
    begin = end;
  }
}

void NvdecPackets::Reset() {
  pieces_.clear();
  next_piece_ = 0;
  if (filter_ != nullptr) av_bsf_flush(filter_.get());
}

std::vector<size_t> PictureStarts(AVCodecID codec, const uint8_t* data, size_t size) {
  std::vector<size_t> starts;
  bool in_picture = false;
  size_t headers = 0;  // where those of the next picture begin, if there are any yet
  bool has_headers = false;
  for (size_t i = 0; i + 3 < size;) {
    if (data[i + 2] > 1) {
      i += 3;
    } else if (data[i] != 0 || data[i + 1] != 0 || data[i + 2] != 1) {
      ++i;
    } else {
      switch (UnitAt(codec, data + i + 3, size - i - 3)) {
        case Unit::kPictureStart:
          if (in_picture) starts.push_back(has_headers ? headers : i);
          in_picture = true;
          has_headers = false;
          break;
        case Unit::kSlice:
          has_headers = false;
          break;
        case Unit::kOther:
          if (in_picture && !has_headers) headers = i;
          has_headers = has_headers || in_picture;
          break;
      }
      i += 4;
    }
  }
  return starts;
}

}  // namespace nvc
