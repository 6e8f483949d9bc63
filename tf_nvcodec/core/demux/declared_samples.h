// Counts the samples that an MP4 or MOV file declares, before FFmpeg sees the header. FFmpeg makes
// a table as long as the header says, and a few bytes can declare billions of samples.
#ifndef TF_NVCODEC_CORE_DEMUX_DECLARED_SAMPLES_H_
#define TF_NVCODEC_CORE_DEMUX_DECLARED_SAMPLES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/demux/mp4_boxes.h"

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
  struct Track;

  absl::Status ReadInside(Mp4Reader* reader, const Mp4Box& box, int depth, Track* track,
                          const Cancelled& cancelled);
  absl::Status ReadTable(Mp4Reader* reader, const Mp4Box& box, Track* track);
  absl::Status CountTrack(const Track& track);
  absl::Status Add(double samples);

  const int64_t max_packets_;
  int64_t file_bytes_ = 0;
  int64_t next_ = 0;        // where the first box begins that was not read
  double declared_ = 0;     // samples, counted again for each edit
  double sound_bytes_ = 0;  // of sound that FFmpeg reads in chunks
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DEMUX_DECLARED_SAMPLES_H_
