// Draws the part of the frames that a clip shows, and whether it is mirrored. All frames of a clip
// are cut alike.
#ifndef TF_NVCODEC_CORE_CLIPS_AUGMENTATION_H_
#define TF_NVCODEC_CORE_CLIPS_AUGMENTATION_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/clips/clip_spec.h"

namespace nvc {

struct Augmentation {
  struct Range {
    double low = 0, high = 0;
  };
  // A crop of a random part of the frame's area and a random width / height, anywhere in the frame
  // (Szegedy et al., "Going deeper with convolutions", 2015). Both are drawn at most kTries times;
  // if no such crop fits, it is the largest one in the middle whose shape is in the range.
  std::optional<Range> area;  // parts above 0, at most 1
  Range ratio = {3.0 / 4, 4.0 / 3};
  // Or a crop of this size anywhere in the frame. 0: none.
  int crop_height = 0, crop_width = 0;
  double flip = 0;  // the probability of a mirrored clip

  static constexpr int kTries = 10;

  bool crops() const { return area.has_value() || crop_height > 0; }
  bool any() const { return crops() || flip > 0; }
  // Returns InvalidArgument that names the argument and its allowed values.
  absl::Status Validate() const;

  // Sets the clip's crop and flip, for frames that are shown with this size. The same `seed` gives
  // the same. Returns InvalidArgument if the frames are smaller than the crop.
  absl::Status Draw(int height, int width, uint64_t seed, Clip* clip) const;

 private:
  Crop DrawPart(int height, int width, uint64_t seed) const;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CLIPS_AUGMENTATION_H_
