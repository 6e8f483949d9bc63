// Lists where the samples of an MP4 or MOV file lie, from the file's header alone.
#ifndef TF_NVCODEC_CORE_DEMUX_SAMPLE_TABLE_H_
#define TF_NVCODEC_CORE_DEMUX_SAMPLE_TABLE_H_

#include <cstdint>
#include <vector>

#include "tf_nvcodec/core/base/byte_source.h"

extern "C" {
#include <libavformat/avformat.h>
}

namespace nvc {

class SampleTable {
 public:
  struct Sample {
    int64_t offset = 0;
    int size = 0;
    bool wanted = false;  // belongs to the wanted stream
    int64_t end() const { return offset + size; }
  };

  SampleTable() = default;
  // Reads the table of `format`, which has just been opened. `stream` is the wanted stream's index.
  // The table stays empty unless it is certain that no other data shares the bytes of a sample. It
  // is empty for other containers and fragmented files, and when samples overlap or lie outside the
  // media data or the file.
  SampleTable(const AVFormatContext& format, int stream, const ByteSource& source);

  bool empty() const { return samples_.empty(); }
  int64_t MeanSize() const;  // bytes; of the wanted stream's samples; 0 if it has none
  // Of all streams, in file order.
  const std::vector<Sample>& samples() const { return samples_; }
  // Returns the first sample that ends after `offset`.
  std::vector<Sample>::const_iterator After(int64_t offset) const;
  // Returns the wanted stream's sample that begins at `offset`, or null.
  const Sample* Find(int64_t offset) const;

 private:
  bool Collect(const AVFormatContext& format, int stream);
  bool IsInsideMediaData(const ByteSource& source) const;

  std::vector<Sample> samples_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DEMUX_SAMPLE_TABLE_H_
