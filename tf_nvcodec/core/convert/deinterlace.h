// Interlaced frames to progressive ones, of the same number, before anything else is done to them.
//
// kBob, exactly: in a frame that is marked as interlaced, the rows of the field shown first stay
// (0, 2, 4, ... of each plane as stored and displayed where the top field comes first, else 1, 3,
// ...). Each other row becomes (above + below + 1) >> 1 of its neighbours, sample by sample, in
// code values; beside an edge, the one neighbour there is; in a plane of one row, itself. Frames
// that are not marked stay as they are.
#ifndef TF_NVCODEC_CORE_CONVERT_DEINTERLACE_H_
#define TF_NVCODEC_CORE_CONVERT_DEINTERLACE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"

extern "C" {
#include <libavutil/frame.h>
}

namespace nvc {

// The first of the rows that stay: 0 or 1; -1 when all do.
int FirstKeptRow(const AVFrame& frame);

// A converter that does this to frames before `converter` gets them. Unimplemented for formats
// whose samples are not whole bytes or words of the machine's order.
absl::StatusOr<std::unique_ptr<FrameConverter>> NewBobConverter(
    std::unique_ptr<FrameConverter> converter);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_DEINTERLACE_H_
