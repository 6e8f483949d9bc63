#include "tf_nvcodec/nv/decode/hevc_references.h"

#include <algorithm>
#include <iterator>

namespace nvc {

bool HevcReferences::HasAllOf(const CUVIDHEVCPICPARAMS& picture) const {
  return HasSet(picture, picture.RefPicSetStCurrBefore, picture.NumPocStCurrBefore) &&
         HasSet(picture, picture.RefPicSetStCurrAfter, picture.NumPocStCurrAfter) &&
         HasSet(picture, picture.RefPicSetLtCurr, picture.NumPocLtCurr);
}

bool HevcReferences::HasSet(const CUVIDHEVCPICPARAMS& picture, const unsigned char* set,
                            int size) const {
  constexpr int kMostInASet = 8;
  return std::all_of(set, set + std::clamp(size, 0, kMostInASet), [&](int place) {
    if (place >= static_cast<int>(std::size(picture.RefPicIdx))) return false;
    const auto found = order_counts_.find(picture.RefPicIdx[place]);
    return found != order_counts_.end() && found->second == picture.PicOrderCntVal[place];
  });
}

}  // namespace nvc
