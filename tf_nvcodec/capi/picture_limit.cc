#include "tf_nvcodec/capi/picture_limit.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace nvc {
namespace {

constexpr int64_t kLargestBlock = 128;  // AV1's superblock, to which a coded side may be rounded up
constexpr int64_t kMostSide = 65536;

int64_t CodedSide(int most) { return most > 0 ? most + kLargestBlock : kMostSide; }

std::string Side(int most) { return most > 0 ? absl::StrCat(most) : "any"; }

}  // namespace

int64_t PictureLimit::MaxPixels() const {
  if (max_width <= 0 && max_height <= 0) return 0;
  return CodedSide(max_width) * CodedSide(max_height);
}

absl::Status PictureLimit::Check(const AVFrame& frame) const {
  if ((max_width <= 0 || frame.width <= max_width) &&
      (max_height <= 0 || frame.height <= max_height)) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat("frames are ", frame.width, "x", frame.height,
                                                   ", above ", names, " (", Side(max_width), "x",
                                                   Side(max_height), ")"));
}

absl::Status PictureLimit::Named(const absl::Status& status) const {
  if (!absl::IsResourceExhausted(status) || !absl::StrContains(status.message(), "max_pixels")) {
    return status;
  }
  return absl::ResourceExhaustedError(absl::StrCat("coded pictures are above ", names, " (",
                                                   Side(max_width), "x", Side(max_height), ")"));
}

}  // namespace nvc
