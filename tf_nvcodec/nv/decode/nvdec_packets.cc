#include "tf_nvcodec/nv/decode/nvdec_packets.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/obu.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"
#include "tf_nvcodec/core/format/codec_table.h"
#include "tf_nvcodec/nv/decode/nvdec_headers.h"

namespace nvc {
namespace {

enum class Unit { kPictureStart, kSlice, kOther };

Unit UnitAt(const uint8_t* after_start_code, size_t size) {
  const int type = after_start_code[0] & 31;
  if (type != 1 && type != 2 && type != 5) return Unit::kOther;
  // A first_mb_in_slice of 0 is coded as a single 1 bit.
  return size > 1 && (after_start_code[1] & 0x80) != 0 ? Unit::kPictureStart : Unit::kSlice;
}

absl::Span<const uint8_t> BytesOf(const AVPacket& packet) {
  return {packet.data, static_cast<size_t>(std::max(packet.size, 0))};
}

}  // namespace

absl::StatusOr<NvdecPackets> NvdecPackets::Create(const AVCodecParameters& codec,
                                                  AVRational time_base) {
  NvdecPackets packets;
  packets.time_base_ = time_base;
  packets.filtered_.reset(av_packet_alloc());
  if (packets.filtered_ == nullptr) return absl::ResourceExhaustedError("out of memory");
  NVC_ASSIGN_OR_RETURN(AvCodecParametersPtr stream, CopyOf(codec));
  const absl::Status followed = packets.Follow(std::move(stream));
  if (absl::IsDataLoss(followed) || absl::IsInvalidArgument(followed)) {
    // FFmpeg's decoders are content with less.
    return absl::UnimplementedError(
        absl::StrCat("the stream's headers can't be made ready for NVDEC: ", followed.message()));
  }
  NVC_RETURN_IF_ERROR(followed);
  return packets;
}

absl::Status NvdecPackets::Follow(AvCodecParametersPtr stream) {
  const AVCodecParameters& codec = *stream;
  absl::Span<const uint8_t> headers;
  if (codec.extradata != nullptr) {
    headers = {codec.extradata, static_cast<size_t>(codec.extradata_size)};
  }
  const NvdecDecoding& facts = FactsOf(codec.codec_id).nvdec;
  if (const char* name = facts.filter) {
    NVC_ASSIGN_OR_RETURN(filter_, BitstreamFilter::Create(name, codec, time_base_));
    headers = filter_->headers();
  }
  if (codec.codec_id == AV_CODEC_ID_AV1 && !headers.empty() && (headers[0] & 0x80) != 0) {
    headers.remove_prefix(std::min<size_t>(headers.size(), kAv1RecordBytes));
  } else if (!facts.extradata_is_headers) {
    headers = {};
  }
  headers_.assign(headers.begin(), headers.end());
  stream_ = std::move(stream);
  return absl::OkStatus();
}

absl::Status NvdecPackets::Send(const AVPacket& packet, bool may_have_fields) {
  pieces_.clear();
  next_piece_ = 0;
  may_have_fields_ = may_have_fields;
  NVC_ASSIGN_OR_RETURN(AvCodecParametersPtr anew, DescribedAnew(*stream_, packet));
  if (anew != nullptr) {
    NVC_RETURN_IF_ERROR(Follow(std::move(anew)));
    may_have_fields_ = true;  // the new parameter sets are not in the packet, and may allow fields
    if (!headers_.empty()) pieces_.push_back({headers_.data(), headers_.size(), false});
  }
  if (!filter_.has_value()) {
    Split(BytesOf(packet));
    return absl::OkStatus();
  }
  // The filter takes ownership of its packet.
  AvPacketPtr given(av_packet_alloc());
  if (given == nullptr || av_packet_ref(given.get(), &packet) < 0) {
    return absl::ResourceExhaustedError("out of memory for a packet");
  }
  NVC_RETURN_IF_ERROR(filter_->Send(given.get()));
  return Filter();
}

absl::StatusOr<NvdecPackets::Piece> NvdecPackets::Next() {
  if (next_piece_ == pieces_.size() && filter_.has_value()) {
    pieces_.clear();
    next_piece_ = 0;
    NVC_RETURN_IF_ERROR(Filter());
  }
  if (next_piece_ == pieces_.size()) return Piece();
  return pieces_[next_piece_++];
}

absl::Status NvdecPackets::Filter() {
  NVC_ASSIGN_OR_RETURN(const bool received, filter_->Receive(filtered_.get()));
  if (received) Split(BytesOf(*filtered_));
  return absl::OkStatus();
}

void NvdecPackets::Split(absl::Span<const uint8_t> packet) {
  if (packet.empty()) return;
  std::vector<size_t> ends;
  if (stream_->codec_id == AV_CODEC_ID_H264 &&
      (may_have_fields_ || MayTurnToFields(packet.data(), packet.size()))) {
    ends = PictureStarts(packet.data(), packet.size());
  }
  ends.push_back(packet.size());
  const bool whole = FactsOf(stream_->codec_id).nvdec.piece_is_picture;
  size_t begin = 0;
  for (const size_t end : ends) {
    pieces_.push_back({packet.data() + begin, end - begin, whole});
    begin = end;
  }
}

void NvdecPackets::Reset() {
  pieces_.clear();
  next_piece_ = 0;
  if (filter_.has_value()) filter_->Reset();
}

std::vector<size_t> PictureStarts(const uint8_t* data, size_t size) {
  std::vector<size_t> starts;
  bool in_picture = false;
  size_t headers = 0;  // where the headers of the next picture begin, if has_headers
  bool has_headers = false;
  for (size_t i = 0; i + 3 < size;) {
    if (data[i + 2] > 1) {
      i += 3;
    } else if (data[i] != 0 || data[i + 1] != 0 || data[i + 2] != 1) {
      ++i;
    } else {
      switch (UnitAt(data + i + 3, size - i - 3)) {
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
