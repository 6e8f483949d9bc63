#include "tf_nvcodec/nv/convert/gpu_conversion.h"

#include <cstdint>
#include <cstring>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/kernel_cache.h"
#include "tf_nvcodec/nv/kernels/kernel_sources.h"

namespace nvc {
namespace {

// Tables of some 10 KB each.
constexpr size_t kKept = 256;

using Conversion = std::shared_ptr<const GpuConversion>;

template <typename Enum>
int Number(Enum value) {
  return static_cast<int>(value);
}

uint32_t Bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// Every field that a plan may depend on.
std::string KeyOf(GpuDevice* device, const OutputSpec& o, const SourceSpec& s) {
  std::string key = absl::StrCat(reinterpret_cast<uintptr_t>(device), ";", Number(o.pixel_format),
                                 ",", Number(o.sample_type), ",", Number(o.layout), ",", o.height,
                                 ",", o.width, ",", Number(o.resize_method), ",",
                                 Number(o.chroma_upsampling), ",", Number(o.apply_rotation));
  if (o.crop.has_value()) {
    absl::StrAppend(&key, ";crop", o.crop->top, ",", o.crop->left, ",", o.crop->height, ",",
                    o.crop->width);
  }
  if (o.color_space.has_value()) absl::StrAppend(&key, ";space", Number(*o.color_space));
  if (o.color_range.has_value()) absl::StrAppend(&key, ";range", Number(*o.color_range));
  for (int c = 0; c < 3; ++c) {
    absl::StrAppend(&key, ";", absl::Hex(Bits(o.mean[c])), ",", absl::Hex(Bits(o.std_dev[c])));
  }
  absl::StrAppend(&key, ";", s.width, "x", s.height, ",", Number(s.format), ",",
                  Number(s.color_space), ",", Number(s.color_range), ",", Number(s.chroma_location),
                  ",", s.rotation);
  return key;
}

// The last ones used.
class Cache {
 public:
  Conversion Find(const std::string& key) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->second;
  }

  void Add(const std::string& key, const Conversion& conversion) {
    Conversion dropped;  // outside of the lock: freeing device memory waits for the GPU
    std::lock_guard<std::mutex> lock(mutex_);
    if (places_.count(key) != 0) return;
    order_.emplace_front(key, conversion);
    places_[key] = order_.begin();
    if (order_.size() <= kKept) return;
    dropped = std::move(order_.back().second);
    places_.erase(order_.back().first);
    order_.pop_back();
  }

 private:
  using Order = std::list<std::pair<std::string, Conversion>>;
  std::mutex mutex_;
  Order order_;
  std::unordered_map<std::string, Order::iterator> places_;
};

Cache& SharedCache() {
  static auto* cache = new Cache;
  return *cache;
}

absl::StatusOr<Conversion> Make(GpuDevice* device, CUstream stream, const OutputSpec& output,
                                const SourceSpec& source) {
  auto made = std::make_shared<GpuConversion>();
  NVC_ASSIGN_OR_RETURN(made->plan, MakeFrameKernelPlan(output, source));
  for (const FrameKernelJob& job : made->plan.jobs) {
    NVC_ASSIGN_OR_RETURN(CUfunction kernel, GetKernel(device, FrameKernelSource(), kFrameKernel,
                                                      KernelMacros(job.config)));
    made->kernels.push_back(kernel);
  }
  const std::vector<uint8_t>& tables = made->plan.tables;
  if (tables.empty()) return made;
  NVC_ASSIGN_OR_RETURN(made->tables, DeviceMemory::Allocate(device, tables.size()));
  NVC_ASSIGN_OR_RETURN(made->uploaded, CudaEvent::Create(device));
  // From pageable memory: the driver has taken the bytes when this returns.
  NVC_RETURN_IF_ERROR(device->Check(
      device->cuda().cuMemcpyHtoDAsync(made->tables.get(), tables.data(), tables.size(), stream),
      "copying the colour kernel's tables to the GPU"));
  NVC_RETURN_IF_ERROR(made->uploaded.Record(stream));
  return made;
}

}  // namespace

absl::StatusOr<Conversion> GetGpuConversion(GpuDevice* device, CUstream stream,
                                            const OutputSpec& output, const SourceSpec& source) {
  const ScopedContext context(*device);
  NVC_RETURN_IF_ERROR(context.status());
  const std::string key = KeyOf(device, output, source);
  if (Conversion known = SharedCache().Find(key); known != nullptr) {
    if (known->uploaded.get() != nullptr) {
      NVC_RETURN_IF_ERROR(
          device->Check(device->cuda().cuStreamWaitEvent(stream, known->uploaded.get(), 0),
                        "waiting for the colour kernel's tables"));
    }
    return known;
  }
  NVC_ASSIGN_OR_RETURN(Conversion made, Make(device, stream, output, source));
  SharedCache().Add(key, made);
  return made;
}

}  // namespace nvc
