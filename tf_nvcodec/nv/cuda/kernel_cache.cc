#include "tf_nvcodec/nv/cuda/kernel_cache.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {
namespace {

struct Entry {
  std::mutex mutex;  // held while compiling
  CUfunction function = nullptr;
};

struct Cache {
  std::mutex mutex;
  std::map<std::pair<GpuDevice*, std::string>, std::shared_ptr<Entry>> entries;
};

Cache& SharedCache() {
  static auto* cache = new Cache;
  return *cache;
}

absl::StatusOr<CUfunction> Load(GpuDevice* device, const std::string& image,
                                const std::string& function) {
  const ScopedContext context(*device);
  NVC_RETURN_IF_ERROR(context.status());
  const CudaDriver& cuda = device->cuda();
  CUmodule module = nullptr;
  NVC_RETURN_IF_ERROR(device->Check(cuda.cuModuleLoadData(&module, image.data()),
                                    absl::StrCat("loading the kernel ", function)));
  CUfunction found = nullptr;
  // The module stays loaded as long as the process lives.
  NVC_RETURN_IF_ERROR(device->Check(cuda.cuModuleGetFunction(&found, module, function.c_str()),
                                    absl::StrCat("finding the kernel ", function)));
  return found;
}

}  // namespace

absl::StatusOr<CUfunction> GetKernel(GpuDevice* device, const CudaSource& source,
                                     const std::string& function,
                                     const std::vector<std::string>& macros) {
  std::shared_ptr<Entry> entry;
  {
    const std::string key =
        absl::StrCat(source.name, "\n", function, "\n", absl::StrJoin(macros, "\n"));
    std::lock_guard<std::mutex> lock(SharedCache().mutex);
    std::shared_ptr<Entry>& slot = SharedCache().entries[{device, key}];
    if (slot == nullptr) slot = std::make_shared<Entry>();
    entry = slot;
  }
  std::lock_guard<std::mutex> lock(entry->mutex);
  if (entry->function == nullptr) {
    NVC_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, Nvrtc::Get());
    NVC_ASSIGN_OR_RETURN(const std::string image,
                         nvrtc->Compile(source, device->compute_capability(), macros));
    NVC_ASSIGN_OR_RETURN(entry->function, Load(device, image, function));
  }
  return entry->function;
}

}  // namespace nvc
