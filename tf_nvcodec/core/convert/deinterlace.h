// Turns interlaced frames into the same number of progressive ones, before any other conversion.
//
// kBob does exactly this. In a frame that is marked as interlaced, the rows of the field shown
// first stay: rows 0, 2, 4, ... of each plane, as stored and displayed, if the top field comes
// first, else rows 1, 3, .... Each other row becomes (above + below + 1) >> 1 of its neighbours,
// sample by sample, in code values. Next to an edge it becomes its only neighbour; the row of a
// plane with one row stays. Frames that are not marked stay as they are.
#ifndef TF_NVCODEC_CORE_CONVERT_DEINTERLACE_H_
#define TF_NVCODEC_CORE_CONVERT_DEINTERLACE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"

extern "C" {
#include <libavutil/frame.h>
}

namespace nvc {

// Returns the first row that stays, 0 or 1; -1 if the frame is not marked as interlaced.
int FirstKeptRow(const AVFrame& frame);

// Returns a converter that deinterlaces frames and then gives them to `converter`. Returns
// Unimplemented for formats whose samples are not whole bytes or words of the machine's byte order.
absl::StatusOr<std::unique_ptr<FrameConverter>> NewBobConverter(
    std::unique_ptr<FrameConverter> converter);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_DEINTERLACE_H_
