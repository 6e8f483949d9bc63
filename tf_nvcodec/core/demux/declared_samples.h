// Counts the samples that an MP4 or MOV file declares, before FFmpeg sees the header. FFmpeg makes
// a table as long as the header says, and a few bytes can declare billions of samples.
#ifndef TF_NVCODEC_CORE_DEMUX_DECLARED_SAMPLES_H_
#define TF_NVCODEC_CORE_DEMUX_DECLARED_SAMPLES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/cancelled.h"

namespace nvc {

class DeclaredSamples {
 public:
  // Allows `max_packets` samples in a track's edits, on average of several tracks. 0 means no
  // limit.
  explicit DeclaredSamples(int64_t max_packets) : max_packets_(max_packets) {}

  // Reads the boxes (ISO/IEC 14496-12, 4.2) that begin before byte `end` and were not read before.
  // Returns ResourceExhausted once there are too many samples. Other formats have no such boxes, so
  // that little of them is read. Call it before FFmpeg gets these bytes.
  absl::Status ReadTo(const ByteSource& source, int64_t end, const Cancelled& cancelled);

 private:
  struct Box;
  struct Track;

  absl::StatusOr<Box> ReadBox(const ByteSource& source, int64_t at, int64_t end);
  absl::Status ReadInside(const ByteSource& source, const Box& box, int depth, Track* track,
                          const Cancelled& cancelled);
  absl::Status ReadTable(const ByteSource& source, const Box& box, Track* track);
  absl::Status CountTrack(const ByteSource& source, const Track& track);
  absl::Status Add(double samples);
  uint64_t Number(const ByteSource& source, int64_t at, int bytes);

  const int64_t max_packets_;
  int64_t next_ = 0;           // where the first box begins that was not read
  double declared_ = 0;        // samples, counted again for each edit
  double sound_bytes_ = 0;     // of sound that FFmpeg reads in chunks
  std::vector<uint8_t> seen_;  // bytes of the source from seen_at_ on
  int64_t seen_at_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DEMUX_DECLARED_SAMPLES_H_
