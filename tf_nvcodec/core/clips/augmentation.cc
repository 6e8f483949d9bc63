#include "tf_nvcodec/core/clips/augmentation.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/permutation.h"

namespace nvc {
namespace {

// The random numbers of one clip.
class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_(seed) {}

  // In [0, 1).
  double Part() { return std::ldexp(static_cast<double>(Bits() >> 11), -53); }
  double Between(const Augmentation::Range& range) {
    return range.low + Part() * (range.high - range.low);
  }
  // In [0, count).
  int Below(int count) {
    return static_cast<int>(ScaleToBound(Bits(), static_cast<uint64_t>(count)));
  }

 private:
  uint64_t Bits() { return HashMix(seed_, next_++); }

  const uint64_t seed_;
  uint64_t next_ = 0;
};

int Rounded(double side) { return static_cast<int>(std::lround(std::min(side, 1e9))); }

}  // namespace

absl::Status Augmentation::Validate() const {
  if (area.has_value() && !(area->low > 0 && area->low <= area->high && area->high <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "random_resized_crop must be (low, high) with 0 < low <= high <= 1, parts of the frame's "
        "area; got (",
        area->low, ", ", area->high, ")"));
  }
  if (!(ratio.low > 0 && ratio.low <= ratio.high && std::isfinite(ratio.high))) {
    return absl::InvalidArgumentError(
        absl::StrCat("ratio must be (low, high) with 0 < low <= high, width / height; got (",
                     ratio.low, ", ", ratio.high, ")"));
  }
  if (crop_height < 0 || crop_width < 0 || (crop_height > 0) != (crop_width > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("random_crop must be (height, width) of at least 1 each; got (", crop_height,
                     ", ", crop_width, ")"));
  }
  if (area.has_value() && crop_height > 0) {
    return absl::InvalidArgumentError("random_crop and random_resized_crop both cut: pass one");
  }
  if (!(flip >= 0 && flip <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("flip must be a probability, 0 to 1; got ", flip));
  }
  return absl::OkStatus();
}

Crop Augmentation::DrawPart(int height, int width, uint64_t seed) const {
  Draws draws(seed);
  const double pixels = static_cast<double>(height) * width;
  const Range logarithms = {std::log(ratio.low), std::log(ratio.high)};
  for (int i = 0; i < kTries; ++i) {
    const double wanted = pixels * draws.Between(*area);
    const double shape = std::exp(draws.Between(logarithms));
    const int h = Rounded(std::sqrt(wanted / shape)), w = Rounded(std::sqrt(wanted * shape));
    if (h < 1 || w < 1 || h > height || w > width) continue;
    const int top = draws.Below(height - h + 1);
    return {top, draws.Below(width - w + 1), h, w};
  }
  const double own = static_cast<double>(width) / height;
  const double shape = std::min(std::max(own, ratio.low), ratio.high);
  const int h = own < shape ? std::max(1, Rounded(width / shape)) : height;
  const int w = own > shape ? std::max(1, Rounded(height * shape)) : width;
  return {(height - h) / 2, (width - w) / 2, h, w};
}

absl::Status Augmentation::Draw(int height, int width, uint64_t seed, Clip* clip) const {
  clip->flip = Draws(HashMix(seed, 1)).Part() < flip;
  if (area.has_value()) {
    clip->crop = DrawPart(height, width, HashMix(seed, 2));
  } else if (crop_height > 0) {
    if (crop_height > height || crop_width > width) {
      return absl::InvalidArgumentError(absl::StrCat(
          "random_crop has height ", crop_height, " and width ", crop_width,
          ", but the frames have height ", height, " and width ", width, ": take a smaller crop"));
    }
    Draws draws(HashMix(seed, 2));
    const int top = draws.Below(height - crop_height + 1);
    clip->crop = Crop{top, draws.Below(width - crop_width + 1), crop_height, crop_width};
  }
  return absl::OkStatus();
}

}  // namespace nvc
