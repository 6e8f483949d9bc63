// An MP4 file of which only the headers of pictures are read, so that indexing a long video over a
// network is quick. Where a short packet with the same headers can stand for a whole sample, a read
// gives that packet and then ends, as if the file ended there. Otherwise the sample has its full
// size, with zeros in place of the bytes that were not read.
#ifndef TF_NVCODEC_CORE_DEMUX_HEADERS_ONLY_SOURCE_H_
#define TF_NVCODEC_CORE_DEMUX_HEADERS_ONLY_SOURCE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/bitstream/packet_headers.h"
#include "tf_nvcodec/core/demux/sample_table.h"

namespace nvc {

// A HeadersOnlySource is for one thread, which reads roughly in file order.
class HeadersOnlySource : public ByteSource {
 public:
  // `source` and `table` must outlive this object.
  HeadersOnlySource(const ByteSource& source, const SampleTable& table, HeaderReader read_headers)
      : source_(source), table_(table), read_headers_(read_headers) {}

  int64_t Size() const override { return source_.Size(); }
  absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override;

 private:
  absl::Status ReadHeaders(const SampleTable::Sample& sample) const;
  // Both copy the bytes [begin, end) of the file, which lie in the sample whose headers were read
  // last.
  size_t CopyBrief(int64_t begin, int64_t end, uint8_t* out) const;  // returns the number copied
  void CopyParts(int64_t begin, int64_t end, uint8_t* out) const;

  const ByteSource& source_;
  const SampleTable& table_;
  const HeaderReader read_headers_;
  mutable PacketParts parts_;  // of the sample read last, since reads may end inside a sample
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DEMUX_HEADERS_ONLY_SOURCE_H_
