// A batch of frames for an encoder, in one block of memory that belongs to the caller.
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
  // Marks kYuv444p whose samples are 16-bit words with ten valid upper bits. ChooseStream alone
  // uses this: no loader reads such frames, and frame_bytes is half of their size.
  bool ten_high_bits = false;

  const void* Frame(int64_t index) const {
    return static_cast<const uint8_t*>(data) + static_cast<size_t>(index) * frame_bytes;
  }
  // Returns InvalidArgument if there is no frame, if a side is not positive, or if frame_bytes does
  // not fit size and format.
  absl::Status Validate() const;
};

// Returns the bytes of one frame: height * width * channels samples, or the size of FFmpeg's
// rawvideo for the packed formats, whose chroma planes round odd sides up. Returns InvalidArgument
// for kNative, for packed samples that are not uint8, and for sizes beyond what FFmpeg can address.
absl::StatusOr<size_t> FrameBytes(PixelFormat pixel_format, SampleType sample_type, int height,
                                  int width);

// Returns FFmpeg's format for a packed format, and AV_PIX_FMT_NONE for the others.
AVPixelFormat RawVideoFormat(PixelFormat format);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_FRAME_BATCH_H_
