// The parts of a packet that PacketInspector and FFmpeg's parsers look at: headers, not samples.
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

// What has been read of the `size` bytes of a packet at `offset`.
class PacketParts {
 public:
  struct Part {
    size_t begin = 0, size = 0;  // in the packet
    size_t at = 0;               // in bytes()
    size_t end() const { return begin + size; }
  };

  void Start(const ByteSource* source, int64_t offset, size_t size);
  int64_t offset() const { return offset_; }
  size_t size() const { return size_; }

  // Bytes [begin, begin + count) of the packet, count cut to what it has; null when there are none
  // or after a failed read. Valid until the next call.
  const uint8_t* Need(size_t begin, size_t count);

  // A shorter packet that tells the same, which can stand for the whole one; empty where only the
  // parts in their places can.
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

// Reads those parts of a packet; all of one that it can't make out.
using HeaderReader = std::function<void(PacketParts*)>;

// Empty for streams of which the whole packets are needed.
HeaderReader HeaderReaderFor(const AVCodecParameters& codec);

// Of packets that nobody looks into: a byte, without which FFmpeg would take the file to end.
void ReadNoHeaders(PacketParts* packet);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_PACKET_HEADERS_H_
