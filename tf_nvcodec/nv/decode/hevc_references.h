// Finds HEVC pictures that refer to pictures which NVDEC has not decoded.
#ifndef TF_NVCODEC_NV_DECODE_HEVC_REFERENCES_H_
#define TF_NVCODEC_NV_DECODE_HEVC_REFERENCES_H_

#include <map>

#include "tf_nvcodec/nv/cuda/driver.h"

namespace nvc {

// The pictures in the decode surfaces of a session, by their picture order counts. The driver's
// parser also gives NVDEC a picture whose references are missing, and NVDEC decodes it without an
// error.
class HevcReferences {
 public:
  // Returns whether all pictures that this one refers to are in the surfaces that it names.
  bool HasAllOf(const CUVIDHEVCPICPARAMS& picture) const;
  // Call this when a picture is decoded into a surface.
  void Add(int surface, const CUVIDHEVCPICPARAMS& picture) {
    order_counts_[surface] = picture.CurrPicOrderCntVal;
  }
  void Remove(int surface) { order_counts_.erase(surface); }
  void Clear() { order_counts_.clear(); }

 private:
  bool HasSet(const CUVIDHEVCPICPARAMS& picture, const unsigned char* set, int size) const;

  std::map<int, int> order_counts_;  // by surface
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_HEVC_REFERENCES_H_
