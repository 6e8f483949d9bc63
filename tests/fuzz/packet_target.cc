// The target for the inspectors of packets.

#include <cstdint>
#include <cstring>
#include <string>

#include "tests/fuzz/targets.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/bitstream/elementary_packets.h"
#include "tf_nvcodec/core/bitstream/nal_units.h"
#include "tf_nvcodec/core/bitstream/packet_headers.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"
#include "tf_nvcodec/core/bitstream/sps.h"

namespace nvc {
namespace fuzz {
namespace {

absl::string_view TakeChunk(absl::string_view* rest) {
  if (rest->size() < 2) return {};
  const auto byte = [&](size_t i) { return static_cast<uint8_t>((*rest)[i]); };
  const size_t size = byte(0) | byte(1) << 8;
  rest->remove_prefix(2);
  const absl::string_view chunk = rest->substr(0, size);
  rest->remove_prefix(chunk.size());
  return chunk;
}

void ReadSps(absl::string_view packet, bool hevc, int length_bytes) {
  NalWalker walker(reinterpret_cast<const uint8_t*>(packet.data()), packet.size(), length_bytes);
  NalUnit nal;
  while (walker.Next(&nal)) {
    if (hevc) {
      ReadHevcSps(nal);
    } else if (nal.size > 0) {
      ReadH264Sps(nal);
    }
  }
}

}  // namespace

void Packets(absl::string_view input) {
  if (input.empty()) return;
  const AVCodecID id = CodecOf(input[0]);
  input.remove_prefix(1);
  AvCodecParametersPtr codec(avcodec_parameters_alloc());
  codec->codec_type = AVMEDIA_TYPE_VIDEO;
  codec->codec_id = id;
  codec->width = codec->height = 64;
  const absl::string_view extradata = TakeChunk(&input);
  ExpectNamed(SetParameterSets(extradata, codec.get()));
  const auto inspector = PacketInspector::Create(*codec);
  const HeaderReader read_headers = HeaderReaderFor(*codec);
  auto elementary = ElementaryPackets::Create(*codec, AVRational{1, 90000});
  const bool hevc = id == AV_CODEC_ID_HEVC;
  const int length_bytes =
      hevc || id == AV_CODEC_ID_H264
          ? NalLengthBytes(codec->extradata, static_cast<size_t>(codec->extradata_size), hevc)
          : 0;
  for (int i = 0; i < kMostPackets && !input.empty(); ++i) {
    const absl::string_view chunk = TakeChunk(&input);
    if (chunk.empty()) continue;  // a demuxer passes on no empty packet
    AvPacketPtr packet(av_packet_alloc());
    if (av_new_packet(packet.get(), static_cast<int>(chunk.size())) < 0) return;
    std::memcpy(packet->data, chunk.data(), chunk.size());
    packet->flags = i % 8 == 0 ? AV_PKT_FLAG_KEY : 0;
    packet->pts = packet->dts = i;
    inspector->Inspect(*packet);
    ParameterSetsIn(*packet, id).status().IgnoreError();
    if (hevc || id == AV_CODEC_ID_H264) ReadSps(chunk, hevc, length_bytes);
    if (read_headers) {
      // The copy ends where the packet does, so that reads beyond it are found.
      const std::string copy(chunk);
      const MemorySource source(copy);
      PacketParts parts;
      parts.Start(&source, 0, copy.size());
      read_headers(&parts);
    }
    if (elementary.ok()) (*elementary)->Convert(packet.get()).IgnoreError();
  }
}

}  // namespace fuzz
}  // namespace nvc
