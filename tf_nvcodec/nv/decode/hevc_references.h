// Finds HEVC pictures that refer to pictures which NVDEC has not decoded.
#ifndef TF_NVCODEC_NV_DECODE_HEVC_REFERENCES_H_
#define TF_NVCODEC_NV_DECODE_HEVC_REFERENCES_H_

#include <map>

#include "absl/status/status.h"
#include "tf_nvcodec/nv/cuda/driver.h"

namespace nvc {

// The pictures in the decode surfaces of a session. If a reference is missing, the driver's parser
// names another picture in its place, and NVDEC decodes that without an error. But the parser also
// tells the picture order count that it means, which the picture in the surface does not have.
class HevcReferences {
 public:
  // Returns DataLoss if a picture refers to one that is in no surface.
  absl::Status Check(const CUVIDHEVCPICPARAMS& picture) const;
  // Call this when a picture is decoded into a surface.
  void Add(int surface, const CUVIDHEVCPICPARAMS& picture) {
    order_counts_[surface] = picture.CurrPicOrderCntVal;
  }
  void Remove(int surface) { order_counts_.erase(surface); }
  void Clear() { order_counts_.clear(); }

 private:
  absl::Status CheckSet(const CUVIDHEVCPICPARAMS& picture, const unsigned char* set,
                        int size) const;

  std::map<int, int> order_counts_;  // by surface
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_HEVC_REFERENCES_H_
