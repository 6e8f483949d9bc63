// What an encoded packet says of itself before it is decoded: enough to count frames, to know where
// decoding may start and which packets nothing else needs.
#ifndef TF_NVCODEC_CORE_BITSTREAM_PACKET_INFO_H_
#define TF_NVCODEC_CORE_BITSTREAM_PACKET_INFO_H_

#include <array>
#include <memory>
#include <vector>

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

// One picture of a packet, where the packets tell which pictures each refers to. An AV1 packet may
// hold several, hidden ones for later packets besides the one it shows.
struct CodedPicture {
  int begin = 0, end = 0;  // its bytes in the packet
  bool shown = false;
  // All that decoding it takes, numbered in decoding order through the stream; -1: unused.
  std::array<int, 8> references{{-1, -1, -1, -1, -1, -1, -1, -1}};
};

struct PacketInfo {
  // Decoding may start here: every frame shown after this one comes out exact.
  bool random_access = false;
  // No other packet refers to this one: without it the others decode to the same bits. For HEVC
  // this holds at temporal_id == the highest of the stream, which the index checks.
  bool droppable = false;
  // Frames the decoder will output for it: 0 (hidden), 1, or -1 when only decoding can tell.
  int shown = 1;
  // HEVC: RASL, dropped by the decoder when it starts at the random access point before it.
  bool skipped_leading = false;
  // The other field of the frame that the packet before it begins.
  bool second_field = false;
  // A reference picture before it is missing. What a decoder puts in its place may depend on all
  // that it decoded, droppable or not.
  bool lacks_reference = false;
  int temporal_id = 0;
  // Empty where the references are not known.
  std::vector<CodedPicture> pictures;
};

// Made for one stream; fed its packets in decoding order.
class PacketInspector {
 public:
  virtual ~PacketInspector() = default;
  virtual PacketInfo Inspect(const AVPacket& packet) = 0;

  // False for codecs it does not know: then only a full decode gives the true frames.
  virtual bool understands_codec() const { return true; }

  static std::unique_ptr<PacketInspector> Create(const AVCodecParameters& codec);
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_PACKET_INFO_H_
