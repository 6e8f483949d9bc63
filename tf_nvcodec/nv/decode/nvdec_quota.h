// Shares a GPU's NVDEC engines among all reads of the process.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_QUOTA_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_QUOTA_H_

#include <condition_variable>
#include <functional>

#include "tf_nvcodec/core/decode/decoder_quota.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

// Together the reads have as many sessions as keep the engines busy, each at least one. Those that
// came first have more; between segments they give them to those that wait and have fewest. So the
// engines stay busy until the last of many streams ends.
class NvdecQuota : public DecoderQuota {
 public:
  // `wanted`: sessions at the most; 0: as many as one read can use.
  NvdecQuota(const GpuDevice& device, int wanted);
  ~NvdecQuota() override;
  NvdecQuota(const NvdecQuota&) = delete;
  NvdecQuota& operator=(const NvdecQuota&) = delete;

  int most() const { return most_; }
  int in_use() const;

  bool Take(const std::function<bool()>& enough) override;
  bool MayKeep() override;
  void GiveBack() override;
  void AskAgain() override;

 private:
  struct Engines;
  static Engines& EnginesOf(int ordinal);
  // With the engines' mutex.
  bool MayTake() const;
  bool AnotherWaitsWithFewerThan(int sessions) const;
  void WakeOneOfEach() const;

  Engines& engines_;
  const int most_;
  const bool gives_;
  std::condition_variable changed_;
  // Of the engines' mutex.
  int in_use_ = 0;
  int leaving_ = 0;  // of those in use: about to be given back
  int waiting_ = 0;  // threads
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_QUOTA_H_
