// The frames that an encoder is given: one block of memory that somebody else owns.
#ifndef TF_NVCODEC_CORE_ENCODE_FRAME_BATCH_H_
#define TF_NVCODEC_CORE_ENCODE_FRAME_BATCH_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/format/frame_format.h"

extern "C" {
#include <libavutil/pixfmt.h>
}

namespace nvc {

struct FrameBatch {
  const void* data = nullptr;
  int64_t count = 0;
  size_t frame_bytes = 0;
  int height = 0, width = 0;
  PixelFormat pixel_format = PixelFormat::kRgb;
  SampleType sample_type = SampleType::kUint8;
  // kYuv444p whose samples are words of which the upper ten bits count: for choosing a stream only,
  // no loader reads it, and frame_bytes is half of it.
  bool ten_high_bits = false;

  const void* Frame(int64_t index) const {
    return static_cast<const uint8_t*>(data) + static_cast<size_t>(index) * frame_bytes;
  }
  // InvalidArgument when there is no frame, when a side is not positive, or when frame_bytes is not
  // what the size and the format make.
  absl::Status Validate() const;
};

// Bytes of one frame: height * width * channels samples, or FFmpeg's rawvideo for the packed
// formats, whose chroma planes round odd sides up. InvalidArgument for native, for packed samples
// that are not uint8, and for sizes beyond what FFmpeg can address.
absl::StatusOr<size_t> FrameBytes(PixelFormat pixel_format, SampleType sample_type, int height,
                                  int width);

// FFmpeg's name of a packed format; none for the others.
AVPixelFormat RawVideoFormat(PixelFormat format);

// FFmpeg's rawvideo layout of a packed format. Samples of more than 8 bits are the upper ones of
// words.
struct PackedLayout {
  int depth;
  int log2_chroma;   // of both sides
  bool interleaved;  // chroma samples alternate in one plane
};
PackedLayout LayoutOf(PixelFormat format);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_FRAME_BATCH_H_
