#include "tf_nvcodec/core/format/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace nvc {

absl::StatusOr<Geometry> MakeGeometry(const OutputSpec& output, int source_width, int source_height,
                                      Orientation orientation) {
  if (!output.apply_rotation) orientation = {};
  const bool turned = orientation.turned;
  Geometry geometry;
  geometry.orientation = orientation;
  const int shown_width = turned ? source_height : source_width;
  const int shown_height = turned ? source_width : source_height;
  const Crop crop = output.crop.value_or(Crop{0, 0, shown_height, shown_width});
  if (int64_t{crop.top} + crop.height > shown_height ||
      int64_t{crop.left} + crop.width > shown_width) {
    return absl::InvalidArgumentError(absl::StrCat(
        "crop (top ", crop.top, ", left ", crop.left, ", height ", crop.height, ", width ",
        crop.width, ") reaches outside the frame, which is shown with height ", shown_height,
        " and width ", shown_width));
  }
  geometry.height = output.height != 0 ? output.height : crop.height;
  geometry.width = output.width != 0 ? output.width : crop.width;
  geometry.resized = geometry.height != crop.height || geometry.width != crop.width;
  geometry.stored_height = turned ? geometry.width : geometry.height;
  geometry.stored_width = turned ? geometry.height : geometry.width;

  Crop& stored = geometry.crop;
  stored = crop;
  if (turned) {
    std::swap(stored.top, stored.left);
    std::swap(stored.height, stored.width);
  }
  if (orientation.flip_x) stored.left = source_width - stored.left - stored.width;
  if (orientation.flip_y) stored.top = source_height - stored.top - stored.height;
  bool& reversed = turned ? geometry.orientation.flip_y : geometry.orientation.flip_x;
  reversed = reversed != output.flip;
  return geometry;
}

Crop CenterCrop(const OutputSpec& output, int source_width, int source_height,
                Orientation orientation, double part) {
  const bool turned = output.apply_rotation && orientation.turned;
  const int width = turned ? source_height : source_width;
  const int height = turned ? source_width : source_height;
  const double scale = part * std::min(static_cast<double>(height) / output.height,
                                       static_cast<double>(width) / output.width);
  // Packed formats have half as many chroma samples, so their crops are even.
  const int multiple = Channels(output.pixel_format) == 0 ? 2 : 1;
  const auto cut = [&](int wanted, int whole) {
    const int side = static_cast<int>(std::lround(wanted * scale));
    return std::max(multiple, std::min(side, whole) / multiple * multiple);
  };
  const auto before = [&](int side, int whole) {
    return std::max(0, (whole - side) / 2 / multiple * multiple);
  };
  Crop crop;
  crop.height = cut(output.height, height);
  crop.width = cut(output.width, width);
  crop.top = before(crop.height, height);
  crop.left = before(crop.width, width);
  return crop;
}

}  // namespace nvc
