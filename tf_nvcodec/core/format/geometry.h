// Finds where the pixels of a converted frame come from: orientation, crop and size, all in
// coordinates of the stored frame.
#ifndef TF_NVCODEC_CORE_FORMAT_GEOMETRY_H_
#define TF_NVCODEC_CORE_FORMAT_GEOMETRY_H_

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/format/frame_format.h"
#include "tf_nvcodec/core/format/orientation.h"

namespace nvc {

struct Geometry {
  Orientation orientation;                  // from stored to shown
  Crop crop;                                // in stored pixels
  int height = 0, width = 0;                // of the output, as shown
  int stored_height = 0, stored_width = 0;  // of the output, as stored
  bool resized = false;                     // the output has another size than the crop
};

// Returns the whole frame as it is shown.
Crop WholeFrame(const OutputSpec& output, int source_width, int source_height,
                Orientation orientation);

// Returns InvalidArgument when the crop leaves the frame as shown.
absl::StatusOr<Geometry> MakeGeometry(const OutputSpec& output, int source_width, int source_height,
                                      Orientation orientation);

// Returns the rectangle in the middle of the frame as shown that has the shape of the output's
// size: `part` (above 0, at most 1) of the largest one. The output has a size.
Crop CenterCrop(const OutputSpec& output, int source_width, int source_height,
                Orientation orientation, double part);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FORMAT_GEOMETRY_H_
