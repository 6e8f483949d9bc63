// Where the samples of an MP4 or MOV file lie, which its header tells before any is read.
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
    bool wanted = false;  // of the stream
    int64_t end() const { return offset + size; }
  };

  SampleTable() = default;
  // Empty where it is not certain that the bytes of every sample are its own and nothing else's:
  // other containers, fragmented files, samples that overlap, lie outside the media data or beyond
  // the end of the file. `format` has just been opened; `stream`: the one whose packets are wanted.
  SampleTable(const AVFormatContext& format, int stream, const ByteSource& source);

  bool empty() const { return samples_.empty(); }
  int64_t MeanSize() const;  // of those of the stream; 0 where there are none
  // In the order of the file.
  const std::vector<Sample>& samples() const { return samples_; }
  // The first one that ends after `offset`.
  std::vector<Sample>::const_iterator After(int64_t offset) const;
  // The stream's sample that begins there, or null.
  const Sample* Find(int64_t offset) const;

 private:
  bool Collect(const AVFormatContext& format, int stream);
  bool IsInsideMediaData(const ByteSource& source) const;

  std::vector<Sample> samples_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DEMUX_SAMPLE_TABLE_H_
