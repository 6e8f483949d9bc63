#include "tf_nvcodec/nv/convert/download_lane.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <vector>

#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

constexpr size_t kMostIdle = 32;
constexpr size_t kMostIdleBytes = size_t{256} << 20;
constexpr size_t kGranularity = size_t{1} << 20;

struct Idle {
  std::mutex mutex;
  std::vector<std::unique_ptr<DownloadLane>> lanes;
  size_t bytes = 0;
};

Idle& IdleLanes() {
  static auto* const idle = new Idle;
  return *idle;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DownloadLane>> DownloadLane::Take(GpuDevice* device) {
  {
    Idle& idle = IdleLanes();
    std::lock_guard<std::mutex> lock(idle.mutex);
    const auto found = std::find_if(idle.lanes.rbegin(), idle.lanes.rend(), [&](const auto& lane) {
      return lane->stream_.device() == device;
    });
    if (found != idle.lanes.rend()) {
      std::unique_ptr<DownloadLane> lane = std::move(*found);
      idle.lanes.erase(std::next(found).base());
      idle.bytes -= lane->memory_.bytes();
      return lane;
    }
  }
  NVC_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Create(device));
  return std::unique_ptr<DownloadLane>(new DownloadLane(std::move(stream)));
}

void DownloadLane::GiveBack(std::unique_ptr<DownloadLane> lane) {
  Idle& idle = IdleLanes();
  std::lock_guard<std::mutex> lock(idle.mutex);
  if (idle.lanes.size() >= kMostIdle || idle.bytes + lane->memory_.bytes() > kMostIdleBytes) return;
  idle.bytes += lane->memory_.bytes();
  idle.lanes.push_back(std::move(lane));
}

absl::Status DownloadLane::Reserve(size_t bytes) {
  if (bytes <= memory_.bytes()) return absl::OkStatus();
  const size_t rounded = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  memory_ = DeviceMemory();
  NVC_ASSIGN_OR_RETURN(memory_, DeviceMemory::Allocate(stream_.device(), rounded));
  return absl::OkStatus();
}

}  // namespace nvc
