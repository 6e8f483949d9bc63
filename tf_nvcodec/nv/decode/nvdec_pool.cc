#include "tf_nvcodec/nv/decode/nvdec_pool.h"

#include <map>
#include <utility>

#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

// So many sessions decode side by side on the largest GPUs when tf.data keeps all engines busy.
constexpr size_t kMaxIdle = 32;
// Idle sessions get at most this fraction of the GPU's memory. TensorFlow takes nearly all memory
// for itself and leaves little more than that.
constexpr size_t kIdlePartOfMemory = 32;

// Pools are never destroyed, like devices.
struct Pools {
  std::mutex mutex;
  std::map<GpuDevice*, NvdecPool*> by_device;
};

Pools& AllPools() {
  static auto* const pools = new Pools;
  return *pools;
}

}  // namespace

absl::StatusOr<NvdecPool*> NvdecPool::Of(GpuDevice* device) {
  NVC_ASSIGN_OR_RETURN(const CuvidDriver* cuvid, device->cuvid());
  Pools& pools = AllPools();
  std::lock_guard<std::mutex> lock(pools.mutex);
  NvdecPool*& pool = pools.by_device[device];
  if (pool == nullptr) {
    Limits limits;
    if (!device->is_of_caller()) {
      limits.max_idle = kMaxIdle;
      limits.max_idle_bytes = device->total_memory() / kIdlePartOfMemory;
    }
    pool = new NvdecPool(device, cuvid, limits);
  }
  return pool;
}

NvdecPool::Stats NvdecPool::TotalStats() {
  Stats total;
  Pools& pools = AllPools();
  std::lock_guard<std::mutex> lock(pools.mutex);
  for (const auto& [device, pool] : pools.by_device) {
    const Stats stats = pool->stats();
    total.created += stats.created;
    total.reused += stats.reused;
    total.reconfigured += stats.reconfigured;
    total.destroyed += stats.destroyed;
    total.failed += stats.failed;
    total.idle += stats.idle;
    total.in_use += stats.in_use;
  }
  return total;
}

NvdecPool::Stats NvdecPool::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  Stats stats = counted_;
  stats.idle = static_cast<int64_t>(idle_.size());
  stats.destroyed = stats.created - stats.in_use - stats.idle;
  return stats;
}

absl::StatusOr<std::shared_ptr<NvdecSession>> NvdecPool::Acquire(const NvdecFormat& format,
                                                                 int min_surfaces) {
  std::unique_ptr<NvdecSession> session = TakeIdle(format, min_surfaces);
  const bool reused = session != nullptr;
  bool reconfigured = false;
  if (reused && !session->IsFor(format, min_surfaces)) {
    const absl::Status status = session->Reconfigure(format);
    reconfigured = status.ok();
    if (!status.ok()) {
      // A new session may work. If the CUDA context is lost, opening one fails with the same error.
      GiveBack(std::move(session));
    }
  }
  if (session == nullptr) {
    NVC_ASSIGN_OR_RETURN(session, Create(format, min_surfaces));
  } else {
    std::lock_guard<std::mutex> lock(mutex_);
    ++counted_.reused;
    counted_.reconfigured += reconfigured;
  }
  return Lend(std::move(session));
}

std::unique_ptr<NvdecSession> NvdecPool::TakeIdle(const NvdecFormat& format, int min_surfaces) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found =
      idle_.Take([&](const auto& session) { return session->IsFor(format, min_surfaces); });
  if (!found.has_value()) {
    found =
        idle_.Take([&](const auto& session) { return session->CanBecome(format, min_surfaces); });
  }
  if (!found.has_value()) return nullptr;
  ++counted_.in_use;
  return *std::move(found);
}

absl::StatusOr<std::unique_ptr<NvdecSession>> NvdecPool::Create(const NvdecFormat& format,
                                                                int min_surfaces) {
  auto session = NvdecSession::Create(device_, cuvid_, format, min_surfaces);
  if (absl::IsResourceExhausted(session.status())) {
    Clear();
    session = NvdecSession::Create(device_, cuvid_, format, min_surfaces);
  }
  if (!session.ok()) return session.status();
  std::lock_guard<std::mutex> lock(mutex_);
  ++counted_.created;
  ++counted_.in_use;
  return session;
}

std::shared_ptr<NvdecSession> NvdecPool::Lend(std::unique_ptr<NvdecSession> session) {
  return std::shared_ptr<NvdecSession>(session.release(), [this](NvdecSession* given) {
    GiveBack(std::unique_ptr<NvdecSession>(given));
  });
}

void NvdecPool::GiveBack(std::unique_ptr<NvdecSession> session) {
  Sessions::Entries left;  // destroyed after the lock is released, as is a session that failed
  std::lock_guard<std::mutex> lock(mutex_);
  --counted_.in_use;
  if (session->failed()) {
    ++counted_.failed;
    return;
  }
  const size_t bytes = session->bytes();
  left = idle_.Give(std::move(session), bytes);
}

}  // namespace nvc
