#include "tf_nvcodec/nv/decode/hevc_references.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {

absl::Status HevcReferences::Check(const CUVIDHEVCPICPARAMS& picture) const {
  NVC_RETURN_IF_ERROR(CheckSet(picture, picture.RefPicSetStCurrBefore, picture.NumPocStCurrBefore));
  NVC_RETURN_IF_ERROR(CheckSet(picture, picture.RefPicSetStCurrAfter, picture.NumPocStCurrAfter));
  return CheckSet(picture, picture.RefPicSetLtCurr, picture.NumPocLtCurr);
}

absl::Status HevcReferences::CheckSet(const CUVIDHEVCPICPARAMS& picture, const unsigned char* set,
                                      int size) const {
  constexpr int kMostInASet = 8;
  for (int i = 0; i < std::min(size, kMostInASet); ++i) {
    // A set has the places of its pictures in RefPicIdx.
    if (set[i] >= std::size(picture.RefPicIdx)) {
      return absl::DataLossError("it refers to a picture that was not decoded");
    }
    const auto found = order_counts_.find(picture.RefPicIdx[set[i]]);
    if (found == order_counts_.end() || found->second != picture.PicOrderCntVal[set[i]]) {
      return absl::DataLossError(absl::StrCat("it refers to the picture of order count ",
                                              picture.PicOrderCntVal[set[i]],
                                              ", which was not decoded"));
    }
  }
  return absl::OkStatus();
}

}  // namespace nvc
