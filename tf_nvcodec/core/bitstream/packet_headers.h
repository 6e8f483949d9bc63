// Reads only the headers of a packet from the file: the bytes that PacketInspector and FFmpeg's
// parsers look at.
#ifndef TF_NVCODEC_CORE_BITSTREAM_PACKET_HEADERS_H_
#define TF_NVCODEC_CORE_BITSTREAM_PACKET_HEADERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "tf_nvcodec/core/base/byte_source.h"

extern "C" {
#include <libavcodec/codec_par.h>
}

namespace nvc {

// The bytes that have been read of one packet, which has `size` bytes at `offset` in the file.
class PacketParts {
 public:
  struct Part {
    size_t begin = 0, size = 0;  // the place in the packet
    size_t at = 0;               // the place in bytes()
    size_t end() const { return begin + size; }
  };

  void Start(const ByteSource* source, int64_t offset, size_t size);
  int64_t offset() const { return offset_; }
  size_t size() const { return size_; }

  // Returns bytes [begin, begin + count) of the packet, or fewer where the packet ends. It reads
  // them from the file if necessary. Returns null when the packet ends before `begin` and after a
  // failed read, see status(). The pointer is valid until the next call.
  const uint8_t* Need(size_t begin, size_t count);

  // A shorter packet with the same headers, which can replace the whole packet for inspectors and
  // parsers. It is empty for codecs where the parts must stay at their places in the packet.
  const std::vector<uint8_t>& brief() const { return brief_; }
  void AddToBrief(const uint8_t* bytes, size_t count);
  void DropBrief() { brief_.clear(); }

  const absl::Status& status() const { return status_; }
  const std::vector<Part>& parts() const { return parts_; }
  const uint8_t* bytes() const { return bytes_.data(); }

 private:
  void Read(size_t end);  // makes the last part longer

  const ByteSource* source_ = nullptr;
  int64_t offset_ = -1;
  size_t size_ = 0;
  std::vector<Part> parts_;
  std::vector<uint8_t> bytes_;
  std::vector<uint8_t> brief_;
  absl::Status status_;
};

// Reads the headers of a packet, or all of a packet that it does not understand.
using HeaderReader = std::function<void(PacketParts*)>;

// Returns an empty function for streams whose packets must be read as a whole.
HeaderReader HeaderReaderFor(const AVCodecParameters& codec);

// For packets that nobody looks into. It reads nothing and makes a brief packet of one byte,
// because FFmpeg takes an empty packet for the end of the file.
void ReadNoHeaders(PacketParts* packet);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_PACKET_HEADERS_H_
