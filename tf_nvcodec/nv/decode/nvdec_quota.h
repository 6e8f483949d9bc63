// Shares the NVDEC engines of a GPU among all reads of the process.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_QUOTA_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_QUOTA_H_

#include <condition_variable>
#include <functional>

#include "tf_nvcodec/core/decode/decoder_quota.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

// The quota of one read. All reads together have as many sessions as keep the engines busy, and
// each read has at least one. Early reads take more. Between two segments they give sessions to the
// waiting reads with the fewest. So the engines stay busy until the last of many streams ends.
class NvdecQuota : public DecoderQuota {
 public:
  // `wanted` is the largest number of sessions; 0 means as many as one read can use.
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
  // The caller holds the engines' mutex.
  bool MayTake() const;
  bool AnotherWaitsWithFewerThan(int sessions) const;
  void WakeOneOfEach() const;

  Engines& engines_;
  const int most_;
  const bool gives_;  // whether it gives sessions to waiting reads
  std::condition_variable changed_;
  // Guarded by the engines' mutex.
  int in_use_ = 0;
  int leaving_ = 0;  // sessions in use that are about to be given back
  int waiting_ = 0;  // threads inside Take
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_QUOTA_H_
