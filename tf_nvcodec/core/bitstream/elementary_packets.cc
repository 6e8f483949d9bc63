#include "tf_nvcodec/core/bitstream/elementary_packets.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/obu.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"
#include "tf_nvcodec/core/format/codec_table.h"

namespace nvc {
namespace {

// The headers that a decoder must see before the first picture, from the container's extradata.
// Empty for codecs whose packets have them already.
std::vector<uint8_t> HeadersOf(const AVCodecParameters& codec) {
  const uint8_t* begin = codec.extradata;
  const uint8_t* const end = begin + (begin != nullptr ? codec.extradata_size : 0);
  switch (codec.codec_id) {
    case AV_CODEC_ID_MPEG4:
      break;
    case AV_CODEC_ID_AV1:
      if (end - begin < kAv1RecordBytes || (begin[0] & 0x80) == 0) return {};
      begin += kAv1RecordBytes;
      break;
    default:
      return {};
  }
  return std::vector<uint8_t>(begin, end);
}

// Whether a sequence header comes before the first frame of the packet.
bool HasAv1Sequence(const AVPacket& packet) {
  const uint8_t* at = packet.data;
  const uint8_t* const end = at + packet.size;
  for (Obu obu; ReadObu(at, static_cast<size_t>(end - at), &obu); at += obu.size) {
    if (obu.type == kObuSequenceHeader) return true;
    const bool passed =
        obu.type == kObuTemporalDelimiter || obu.type == kObuPadding || obu.type == kObuMetadata;
    if (!passed) return false;
  }
  return false;
}

// Whether the packet starts with a picture or a group of pictures, without the headers of the
// visual object sequence and the video object layer.
bool LacksMpeg4Headers(const AVPacket& packet) {
  constexpr uint8_t kGroup = 0xb3, kPicture = 0xb6;
  return packet.size >= 4 && std::memcmp(packet.data, "\0\0\1", 3) == 0 &&
         (packet.data[3] == kGroup || packet.data[3] == kPicture);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ElementaryPackets>> ElementaryPackets::Create(
    const AVCodecParameters& codec, AVRational time_base) {
  auto packets = std::make_unique<ElementaryPackets>();
  packets->time_base_ = time_base;
  NVC_ASSIGN_OR_RETURN(AvCodecParametersPtr stream, CopyOf(codec));
  packets->descriptions_.push_back({INT64_MIN, std::move(stream)});
  NVC_RETURN_IF_ERROR(packets->Use(0));
  packets->is_new_ = false;
  const AVCodecParameters& converted =
      packets->filter_.has_value() ? packets->filter_->codec() : codec;
  NVC_ASSIGN_OR_RETURN(packets->codec_, CopyOf(converted));
  return packets;
}

absl::Status ElementaryPackets::Use(size_t description) {
  const AVCodecParameters& stream = *descriptions_[description].stream;
  std::optional<BitstreamFilter> filter;
  if (const char* name = FactsOf(stream.codec_id).elementary_filter) {
    NVC_ASSIGN_OR_RETURN(filter, BitstreamFilter::Create(name, stream, time_base_));
  }
  filter_ = std::move(filter);
  headers_ = HeadersOf(filter_.has_value() ? filter_->codec() : stream);
  current_ = description;
  is_new_ = true;
  return absl::OkStatus();
}

absl::Status ElementaryPackets::Follow(const AVPacket& packet) {
  const auto begins = [&] {
    return std::upper_bound(descriptions_.begin() + 1, descriptions_.end(), packet.pos,
                            [](int64_t pos, const Description& one) { return pos < one.pos; });
  };
  if (std::exchange(is_lost_, false)) {
    const auto held = static_cast<size_t>(begins() - descriptions_.begin()) - 1;
    if (held != current_) NVC_RETURN_IF_ERROR(Use(held));
  }
  NVC_ASSIGN_OR_RETURN(AvCodecParametersPtr anew,
                       DescribedAnew(*descriptions_[current_].stream, packet));
  if (anew == nullptr) return absl::OkStatus();
  auto place = begins();
  const bool is_known = std::prev(place)->pos == packet.pos;  // from before a seek
  place = is_known ? std::prev(place) : descriptions_.insert(place, {packet.pos, nullptr});
  std::swap(place->stream, anew);
  const absl::Status used = Use(static_cast<size_t>(place - descriptions_.begin()));
  if (used.ok()) return used;
  std::swap(place->stream, anew);
  if (!is_known) descriptions_.erase(place);
  return absl::DataLossError(used.message());
}

absl::Status ElementaryPackets::Convert(AVPacket* packet) {
  NVC_RETURN_IF_ERROR(Follow(*packet));
  if (filter_.has_value()) {
    NVC_RETURN_IF_ERROR(filter_->Filter(packet));
    DropSideData(AV_PKT_DATA_NEW_EXTRADATA, packet);
  }
  if (std::exchange(is_new_, false) && filter_.has_value() && descriptions_.size() > 1) {
    NVC_ASSIGN_OR_RETURN(const std::string sets, ParameterSetsIn(*packet, codec_->codec_id));
    if (sets.empty()) NVC_RETURN_IF_ERROR(PutBefore(filter_->headers(), packet));
  }
  return LacksHeaders(*packet) ? PutBefore(headers_, packet) : absl::OkStatus();
}

bool ElementaryPackets::LacksHeaders(const AVPacket& packet) const {
  if (headers_.empty() || (packet.flags & AV_PKT_FLAG_KEY) == 0) return false;
  return codec_->codec_id == AV_CODEC_ID_AV1 ? !HasAv1Sequence(packet) : LacksMpeg4Headers(packet);
}

absl::Status ElementaryPackets::PutBefore(absl::Span<const uint8_t> headers, AVPacket* packet) {
  AvPacketPtr joined(av_packet_alloc());
  const int size = static_cast<int>(headers.size());
  if (joined == nullptr || av_new_packet(joined.get(), size + packet->size) < 0 ||
      av_packet_copy_props(joined.get(), packet) < 0) {
    return absl::ResourceExhaustedError("out of memory converting a packet");
  }
  if (size > 0) std::memcpy(joined->data, headers.data(), headers.size());
  std::memcpy(joined->data + size, packet->data, static_cast<size_t>(packet->size));
  av_packet_unref(packet);
  av_packet_move_ref(packet, joined.get());
  return absl::OkStatus();
}

void ElementaryPackets::Reset(bool container_tells) {
  if (filter_.has_value()) filter_->Reset();
  is_lost_ = !container_tells;
  is_new_ = true;  // a decoder that starts here has not seen the parameter sets
}

}  // namespace nvc
