#include "tf_nvcodec/nv/decode/nvdec_quota.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

namespace nvc {
namespace {

// The largest GPUs have seven or eight engines. Two sessions keep an engine busy while their
// pictures are mapped and read.
constexpr int kSessionsOfARead = 8;
constexpr int kBusySessions = 16;

}  // namespace

// All quotas of one GPU.
struct NvdecQuota::Engines {
  std::mutex mutex;
  int in_use = 0;
  int leaving = 0;
  std::set<NvdecQuota*> quotas;
};

// The entries are never destroyed, like devices.
NvdecQuota::Engines& NvdecQuota::EnginesOf(int ordinal) {
  static auto* const mutex = new std::mutex;
  static auto* const by_ordinal = new std::map<int, Engines>;
  std::lock_guard<std::mutex> lock(*mutex);
  return (*by_ordinal)[ordinal];
}

NvdecQuota::NvdecQuota(const GpuDevice& device, int wanted)
    : engines_(EnginesOf(device.ordinal())),
      most_(wanted > 0 ? std::min(wanted, kSessionsOfARead) : kSessionsOfARead),
      // A pool of a caller's context keeps no idle sessions, so that the other read would have to
      // open a new one.
      gives_(!device.is_of_caller()) {
  std::lock_guard<std::mutex> lock(engines_.mutex);
  engines_.quotas.insert(this);
}

NvdecQuota::~NvdecQuota() {
  std::lock_guard<std::mutex> lock(engines_.mutex);
  engines_.quotas.erase(this);
}

int NvdecQuota::in_use() const {
  std::lock_guard<std::mutex> lock(engines_.mutex);
  return in_use_;
}

bool NvdecQuota::Take(const std::function<bool()>& enough) {
  std::unique_lock<std::mutex> lock(engines_.mutex);
  bool has_enough = false;
  ++waiting_;
  changed_.wait(lock, [&] { return (has_enough = enough()) || MayTake(); });
  --waiting_;
  if (!has_enough) {
    ++in_use_;
    ++engines_.in_use;
  }
  WakeOneOfEach();
  return !has_enough;
}

bool NvdecQuota::MayKeep() {
  std::lock_guard<std::mutex> lock(engines_.mutex);
  const int kept = in_use_ - leaving_;
  const bool one_is_free = engines_.in_use - engines_.leaving < kBusySessions;
  if (!gives_ || one_is_free || kept <= 1 || !AnotherWaitsWithFewerThan(kept - 1)) return true;
  ++leaving_;
  ++engines_.leaving;
  return false;
}

void NvdecQuota::GiveBack() {
  std::lock_guard<std::mutex> lock(engines_.mutex);
  --in_use_;
  --engines_.in_use;
  if (leaving_ > 0) {
    --leaving_;
    --engines_.leaving;
  }
  changed_.notify_all();
  WakeOneOfEach();
}

void NvdecQuota::AskAgain() {
  std::lock_guard<std::mutex> lock(engines_.mutex);
  changed_.notify_all();
}

bool NvdecQuota::MayTake() const {
  if (in_use_ == 0) return true;
  return in_use_ < most_ && engines_.in_use < kBusySessions && !AnotherWaitsWithFewerThan(in_use_);
}

bool NvdecQuota::AnotherWaitsWithFewerThan(int sessions) const {
  return std::any_of(engines_.quotas.begin(), engines_.quotas.end(), [&](const NvdecQuota* other) {
    return other != this && other->waiting_ > 0 && other->in_use_ < sessions;
  });
}

// Wakes one waiting thread of each quota. A thread that takes a session, or needs none, calls this
// again for the next one.
void NvdecQuota::WakeOneOfEach() const {
  if (engines_.in_use >= kBusySessions) return;
  for (NvdecQuota* const quota : engines_.quotas) {
    if (quota->waiting_ > 0) quota->changed_.notify_one();
  }
}

}  // namespace nvc
