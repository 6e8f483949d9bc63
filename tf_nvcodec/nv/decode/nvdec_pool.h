// Keeps idle NVDEC sessions open for the next stream, because opening one takes far longer than
// decoding a clip.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_POOL_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/pool.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/decode/nvdec_session.h"

namespace nvc {

// When it is destroyed, no session may be in use.
class NvdecPool {
 public:
  struct Limits {
    size_t max_idle = 0;        // number of sessions
    size_t max_idle_bytes = 0;  // estimated device memory of all idle sessions
  };
  // Counts since the process began; idle and in_use are the current numbers.
  struct Stats {
    int64_t created = 0;       // newly opened
    int64_t reused = 0;        // taken from the idle ones
    int64_t reconfigured = 0;  // reused for another size
    int64_t destroyed = 0;     // for any reason
    int64_t failed = 0;        // destroyed because of an error
    int64_t idle = 0;
    int64_t in_use = 0;
  };

  // Returns the pool of a device, and creates it on first use. If the device is a caller's CUDA
  // context, the pool keeps no idle sessions. Returns FailedPrecondition if the driver has no
  // NVDEC.
  static absl::StatusOr<NvdecPool*> Of(GpuDevice* device);
  // Returns the sums over all pools made so far. It does not call the driver.
  static Stats TotalStats();

  NvdecPool(GpuDevice* device, const CuvidDriver* cuvid, const Limits& limits)
      : device_(device), cuvid_(cuvid), idle_(limits.max_idle_bytes, limits.max_idle) {}

  // Returns a session for `format`: the idle session of this size that was used last, or else the
  // one used last of those that can be reconfigured to it, or else a new one. Call this in the
  // parser's sequence callback, where the driver allows reconfiguring. When the last pointer is
  // destroyed, the session goes back to the pool, which destroys it if it has failed. Returns
  // ResourceExhausted when the GPU has no memory left even after all idle sessions are destroyed.
  absl::StatusOr<std::shared_ptr<NvdecSession>> Acquire(const NvdecFormat& format,
                                                        int min_surfaces);
  // Destroys all idle sessions.
  void Clear() { idle_.Clear(); }

  Stats stats() const;
  GpuDevice* device() const { return device_; }
  const CuvidDriver& cuvid() const { return *cuvid_; }

 private:
  using Sessions = Pool<std::unique_ptr<NvdecSession>>;

  std::unique_ptr<NvdecSession> TakeIdle(const NvdecFormat& format, int min_surfaces);
  absl::StatusOr<std::unique_ptr<NvdecSession>> Create(const NvdecFormat& format, int min_surfaces);
  std::shared_ptr<NvdecSession> Lend(std::unique_ptr<NvdecSession> session);
  void GiveBack(std::unique_ptr<NvdecSession> session);

  GpuDevice* const device_;
  const CuvidDriver* const cuvid_;
  Sessions idle_;
  mutable std::mutex mutex_;
  Stats counted_;  // without those that stats() computes
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_POOL_H_
