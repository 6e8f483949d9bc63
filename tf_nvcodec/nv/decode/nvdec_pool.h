// NVDEC sessions kept open for the next stream: opening one takes far longer than decoding a clip.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_POOL_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_POOL_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/decode/nvdec_session.h"

namespace nvc {

class NvdecPool {
 public:
  struct Limits {
    size_t max_idle = 0;        // sessions
    size_t max_idle_bytes = 0;  // of device memory, as estimated
  };
  // Since the process began; idle and in_use as of now.
  struct Stats {
    int64_t created = 0;       // opened anew
    int64_t reused = 0;        // taken from the idle ones, reconfigured or not
    int64_t reconfigured = 0;  // of the reused: for another size
    int64_t destroyed = 0;     // for whatever reason
    int64_t failed = 0;        // of the destroyed: never to be used again
    int64_t idle = 0;
    int64_t in_use = 0;
  };

  // The pool of a device, made on first use. In a context of a caller's it keeps no idle sessions.
  // FailedPrecondition where the driver has no NVDEC.
  static absl::StatusOr<NvdecPool*> Of(GpuDevice* device);
  // Sum over the pools made so far; touches no driver.
  static Stats TotalStats();

  NvdecPool(GpuDevice* device, const CuvidDriver* cuvid, const Limits& limits)
      : device_(device), cuvid_(cuvid), limits_(limits) {}
  // No session may be in use any more.
  ~NvdecPool();
  NvdecPool(const NvdecPool&) = delete;
  NvdecPool& operator=(const NvdecPool&) = delete;

  // To be called from the parser's sequence callback, where a session may be reconfigured. Takes
  // the idle session that was used last among those of this very size, else of those that can be
  // reconfigured to it, else opens one. With the last pointer it comes back, to be kept or, after
  // a failure, destroyed. ResourceExhausted when the GPU has no memory left, also after all idle
  // sessions were given up.
  absl::StatusOr<std::shared_ptr<NvdecSession>> Acquire(const NvdecFormat& format,
                                                        int min_surfaces);
  // Destroys all idle sessions.
  void Clear();

  Stats stats() const;
  GpuDevice* device() const { return device_; }
  const CuvidDriver& cuvid() const { return *cuvid_; }

 private:
  using Sessions = std::list<std::unique_ptr<NvdecSession>>;

  std::unique_ptr<NvdecSession> TakeIdle(const NvdecFormat& format, int min_surfaces);
  absl::StatusOr<std::unique_ptr<NvdecSession>> Create(const NvdecFormat& format, int min_surfaces);
  std::shared_ptr<NvdecSession> Lend(std::unique_ptr<NvdecSession> session);
  void GiveBack(std::unique_ptr<NvdecSession> session);

  GpuDevice* const device_;
  const CuvidDriver* const cuvid_;
  const Limits limits_;
  mutable std::mutex mutex_;
  Sessions idle_;  // the one used last at the end
  size_t idle_bytes_ = 0;
  Stats stats_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_POOL_H_
