// Inspects encoded packets without decoding them: how many frames a packet shows, whether decoding
// may start at it, and whether other packets need it.
#ifndef TF_NVCODEC_CORE_BITSTREAM_PACKET_INFO_H_
#define TF_NVCODEC_CORE_BITSTREAM_PACKET_INFO_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

// One picture of a packet, for codecs where the headers tell which pictures each picture refers to.
// An AV1 packet may hold several pictures: the one that it shows and hidden ones for later packets.
struct CodedPicture {
  int begin = 0, end = 0;  // the picture's bytes in the packet: [begin, end)
  bool shown = false;
  // The pictures that decoding this one needs. Pictures are numbered in decoding order through the
  // stream; -1 marks unused elements.
  std::array<int, 8> references{{-1, -1, -1, -1, -1, -1, -1, -1}};
};

struct PacketInfo {
  static constexpr int64_t kUnknownOrder = INT64_MIN;
  // `count` orders the pictures of one sequence; sequences are shown one after the other.
  static constexpr int64_t OrderIn(int64_t sequence, int count) {
    return sequence * (int64_t{1} << 32) + count;
  }

  // Decoding may start here: this frame, and every frame that is displayed after it, comes out
  // exact.
  bool random_access = false;
  // No other packet refers to this one: without it the others decode to the same bits. For HEVC
  // this is only true when `temporal_id` is the highest one of the stream; the index checks that.
  bool droppable = false;
  // How many frames the decoder outputs for it: 0 (hidden), 1, or -1 when only decoding can tell.
  int shown = 1;
  // It is a RASL picture of HEVC. The decoder drops it when decoding starts at the random access
  // point before it.
  bool skipped_leading = false;
  // It is the second field of a frame; the packet before it holds the first one.
  bool second_field = false;
  // A reference picture before it is missing. What a decoder puts in its place may depend on all
  // the pictures that it decoded before, including droppable ones.
  bool lacks_reference = false;
  // None of its bytes can be read. Where a container has a packet for each frame, the packet is a
  // frame that is lost.
  bool unreadable = false;
  int temporal_id = 0;
  // Pictures are shown in ascending order of this number, whatever their times are.
  int64_t order = kUnknownOrder;
  // The pictures of the packet. Empty for codecs whose headers don't tell the references.
  std::vector<CodedPicture> pictures;
};

// Inspects the packets of one stream. The caller passes all of them, in decoding order.
class PacketInspector {
 public:
  virtual ~PacketInspector() = default;
  virtual PacketInfo Inspect(const AVPacket& packet) = 0;

  // False for codecs that no inspector reads: then only decoding the whole stream counts its
  // frames.
  virtual bool understands_codec() const { return true; }

  static std::unique_ptr<PacketInspector> Create(const AVCodecParameters& codec);
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_PACKET_INFO_H_
