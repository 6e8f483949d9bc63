// An MP4 file of which only what tells about its packets is read. Of a sample comes the packet's
// brief, and then nothing, as from a file that ends there; or all of it, with zeros for what was
// not read.
#ifndef TF_NVCODEC_CORE_DEMUX_HEADERS_ONLY_SOURCE_H_
#define TF_NVCODEC_CORE_DEMUX_HEADERS_ONLY_SOURCE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/bitstream/packet_headers.h"
#include "tf_nvcodec/core/demux/sample_table.h"

namespace nvc {

// For one thread that reads about in order.
class SparseSource : public ByteSource {
 public:
  // Both must outlive it.
  SparseSource(const ByteSource& source, const SampleTable& table, OutlineFunction outline)
      : source_(source), table_(table), outline_(outline) {}

  int64_t Size() const override { return source_.Size(); }
  absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override;

 private:
  absl::Status Outline(const SampleTable::Sample& sample) const;
  // Bytes [begin, end) of the file, which lie in the sample outlined last.
  size_t CopyBrief(int64_t begin, int64_t end, uint8_t* out) const;  // how many there are
  void CopyParts(int64_t begin, int64_t end, uint8_t* out) const;

  const ByteSource& source_;
  const SampleTable& table_;
  const OutlineFunction outline_;
  mutable PacketParts parts_;  // of the sample read last: reads may end inside one
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DEMUX_HEADERS_ONLY_SOURCE_H_
