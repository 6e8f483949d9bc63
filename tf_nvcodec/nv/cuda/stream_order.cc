#include "tf_nvcodec/nv/cuda/stream_order.h"

#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"

namespace nvc {
namespace {

constexpr int64_t kLegacyStream = 1;
constexpr int kCudaNotReady = 600;

struct Release {
  CudaEvent event;
  std::function<void()> call;
};

// Never destroyed, because tensors may be released while the process ends.
struct Releases {
  std::mutex mutex;
  std::vector<Release> waiting;
};

Releases& AllReleases() {
  static auto* const releases = new Releases;
  return *releases;
}

absl::StatusOr<CudaEvent> RecordOn(GpuDevice* device, CUstream stream) {
  NVC_ASSIGN_OR_RETURN(CudaEvent event, CudaEvent::Create(device));
  NVC_RETURN_IF_ERROR(event.Record(stream));
  return event;
}

// Returns true after an error too, so that memory is not kept forever.
bool IsDone(const CudaEvent& event) {
  const ScopedContext current(*event.device());
  if (!current.status().ok()) return true;
  return static_cast<int>(event.device()->cuda().cuEventQuery(event.get())) != kCudaNotReady;
}

}  // namespace

absl::StatusOr<CUstream> StreamOfNumber(int64_t number) {
  if (number < kLegacyStream) {
    return absl::InvalidArgumentError(
        absl::StrCat("stream must be 1 (CUDA's legacy default stream), 2 (its per-thread one) or a "
                     "stream's handle; got ",
                     number));
  }
  return reinterpret_cast<CUstream>(static_cast<uintptr_t>(number));
}

int64_t NumberOfStream(CUstream stream) {
  const auto handle = static_cast<int64_t>(reinterpret_cast<uintptr_t>(stream));
  return handle == 0 ? kLegacyStream : handle;
}

absl::Status OrderStreams(GpuDevice* device, CUstream earlier, CUstream later) {
  if (NumberOfStream(earlier) == NumberOfStream(later)) return absl::OkStatus();
  NVC_ASSIGN_OR_RETURN(const CudaEvent event, RecordOn(device, earlier));
  const ScopedContext current(*device);
  NVC_RETURN_IF_ERROR(current.status());
  // CUDA keeps the event until the wait is over.
  return device->Check(device->cuda().cuStreamWaitEvent(later, event.get(), /*flags=*/0),
                       "cuStreamWaitEvent");
}

void ReleaseAfter(GpuDevice* device, CUstream stream, std::function<void()> release) {
  absl::StatusOr<CudaEvent> event = RecordOn(device, stream);
  if (!event.ok()) {
    release();
  } else {
    Releases& all = AllReleases();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.waiting.push_back({*std::move(event), std::move(release)});
  }
  ReleaseDone();
}

void ReleaseDone() {
  std::vector<Release> due;
  {
    Releases& all = AllReleases();
    std::lock_guard<std::mutex> lock(all.mutex);
    std::vector<Release> waiting;
    for (Release& release : all.waiting) {
      (IsDone(release.event) ? due : waiting).push_back(std::move(release));
    }
    all.waiting.swap(waiting);
  }
  // Calls them without the lock, because they may take other locks, such as Python's.
  for (const Release& release : due) release.call();
}

size_t ReleasesPending() {
  Releases& all = AllReleases();
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.waiting.size();
}

}  // namespace nvc
