// Shares a GPU's NVDEC engines among all reads of the process.
#ifndef TF_NVCODEC_NV_NVDEC_SHARE_H_
#define TF_NVCODEC_NV_NVDEC_SHARE_H_

#include <functional>

#include "tf_nvcodec/core/decoder_share.h"
#include "tf_nvcodec/nv/gpu_device.h"

namespace nvc {

// Together the reads have as many sessions as keep the engines busy, each at least one; what one
// read has no use for any more goes to the one that has fewest. So the engines stay busy until the
// last of many streams ends.
class NvdecShare : public DecoderShare {
 public:
  // `wanted`: sessions at the most; 0: as many as one read can use.
  NvdecShare(const GpuDevice& device, int wanted);
  ~NvdecShare() override;
  NvdecShare(const NvdecShare&) = delete;
  NvdecShare& operator=(const NvdecShare&) = delete;

  int most() const { return most_; }
  int in_use() const;

  bool Take(const std::function<bool()>& enough) override;
  bool MayKeep() override;
  void GiveBack() override;
  void AskAgain() override;

 private:
  struct Engines;
  static Engines& EnginesOf(int ordinal);
  bool MayTake() const;
  // Whether another read that waits has fewer than so many.
  bool AnotherHasFewerThan(int sessions) const;

  Engines& engines_;
  const int most_;
  // Of the engines' mutex.
  int in_use_ = 0;
  int waiting_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_NVDEC_SHARE_H_
