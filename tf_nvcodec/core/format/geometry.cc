#include "tf_nvcodec/core/format/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace nvc {

Crop WholeFrame(const OutputSpec& output, int source_width, int source_height,
                Orientation orientation) {
  const bool turned = output.apply_rotation && orientation.turned;
  return turned ? Crop{0, 0, source_width, source_height} : Crop{0, 0, source_height, source_width};
}

absl::StatusOr<Geometry> MakeGeometry(const OutputSpec& output, int source_width, int source_height,
                                      Orientation orientation) {
  if (!output.apply_rotation) orientation = {};
  const bool turned = orientation.turned;
  Geometry geometry;
  geometry.orientation = orientation;
  const Crop whole = WholeFrame(output, source_width, source_height, orientation);
  const Crop crop = output.crop.value_or(whole);
  if (int64_t{crop.top} + crop.height > whole.height ||
      int64_t{crop.left} + crop.width > whole.width) {
    return absl::InvalidArgumentError(absl::StrCat(
        "crop (top ", crop.top, ", left ", crop.left, ", height ", crop.height, ", width ",
        crop.width, ") reaches outside the frame, which is shown with height ", whole.height,
        " and width ", whole.width));
  }
  geometry.height = output.height != 0 ? output.height : crop.height;
  geometry.width = output.width != 0 ? output.width : crop.width;
  if (output.short_side > 0) {
    const int64_t shorter = std::min(crop.height, crop.width);
    const auto scaled = [&](int64_t side) {
      return static_cast<int>(std::min<int64_t>(side * output.short_side / shorter, kMaxSide));
    };
    geometry.height = scaled(crop.height);
    geometry.width = scaled(crop.width);
  }
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
  const Crop whole = WholeFrame(output, source_width, source_height, orientation);
  const double scale = part * std::min(static_cast<double>(whole.height) / output.height,
                                       static_cast<double>(whole.width) / output.width);
  // Packed formats have half as many chroma samples, so their crops are even.
  const int multiple = Channels(output.pixel_format) == 0 ? 2 : 1;
  const auto cut = [&](int wanted, int all) {
    const int side = static_cast<int>(std::lround(wanted * scale));
    return std::max(multiple, std::min(side, all) / multiple * multiple);
  };
  const auto before = [&](int side, int all) {
    return std::max(0, (all - side) / 2 / multiple * multiple);
  };
  Crop crop;
  crop.height = cut(output.height, whole.height);
  crop.width = cut(output.width, whole.width);
  crop.top = before(crop.height, whole.height);
  crop.left = before(crop.width, whole.width);
  return crop;
}

}  // namespace nvc
