// How large the frames may be that a caller of the C API takes.
#ifndef TF_NVCODEC_CAPI_PICTURE_LIMIT_H_
#define TF_NVCODEC_CAPI_PICTURE_LIMIT_H_

#include <cstdint>

#include "absl/status/status.h"

extern "C" {
#include <libavutil/frame.h>
}

namespace nvc {

struct PictureLimit {
  const char* names = "maxwidth and maxheight";  // as the caller knows them
  int max_width = 0, max_height = 0;             // in pixels; 0: no limit

  // Returns a limit for a decoder, which knows coded pictures alone, so that it takes no memory for
  // much larger ones. 0: no limit.
  int64_t MaxPixels() const;
  // Refuses a larger frame.
  absl::Status Check(const AVFrame& frame) const;
  // Puts the caller's names into a decoder's error about MaxPixels.
  absl::Status Named(const absl::Status& status) const;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CAPI_PICTURE_LIMIT_H_
