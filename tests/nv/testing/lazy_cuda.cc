#include "tests/nv/testing/lazy_cuda.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "tests/nv/testing/host_kernel.h"
#include "tf_nvcodec/nv/kernels/frame_kernel_params.h"
#include "tf_nvcodec/nv/kernels/planes_kernel.h"
#include "tf_nvcodec/nv/kernels/rgb_kernel.h"

namespace nvc {
namespace lazy_cuda {
namespace {

struct State {
  std::recursive_mutex mutex;
  std::deque<std::function<void()>> queue;
  size_t ran = 0, queued = 0;  // in total
  std::map<CUevent, size_t> recorded;
  std::vector<std::string> calls;
  std::map<std::string, int> failures;
  int modules = 0, objects = 0;
};

State& Fake() {
  static auto* state = new State;
  return *state;
}

void RunUntil(size_t count) {
  while (Fake().ran < count) {
    Fake().queue.front()();
    Fake().queue.pop_front();
    ++Fake().ran;
  }
}

CUresult Result(const char* function) {
  const auto failure = Fake().failures.find(function);
  if (failure == Fake().failures.end()) return CUDA_SUCCESS;
  const int error = failure->second;
  Fake().failures.erase(failure);
  return static_cast<CUresult>(error);
}

CUresult Queue(const char* name, std::function<void()> work) {
  std::lock_guard<std::recursive_mutex> lock(Fake().mutex);
  Fake().calls.push_back(name);
  const CUresult result = Result(name);
  if (result != CUDA_SUCCESS) return result;
  Fake().queue.push_back(std::move(work));
  ++Fake().queued;
  return CUDA_SUCCESS;
}

CUresult Copy(const char* name, void* to, const void* from, size_t bytes) {
  return Queue(name, [=] { std::memcpy(to, from, bytes); });
}

// Returns the config of a kernel from the options that the fake compiler wrote.
FrameKernelConfig ParseOptions(const char* image) {
  std::map<std::string, int> macros;
  for (const absl::string_view line : absl::StrSplit(image, '\n')) {
    if (line.substr(0, 2) != "-D") continue;
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line.substr(2), absl::MaxSplits('=', 1));
    int value = -1;
    if (absl::SimpleAtoi(parts.second, &value)) macros[parts.first] = value;
  }
  FrameKernelConfig config = {};
  if (macros.count("NVC_RGB") != 0) {
    config.channels = 3;  // without sample_bytes: the RGB kernel
    return config;
  }
  if (macros.count("NVC_PLANES") != 0) {
    config.planar = 1;  // also without sample_bytes: the planes kernel
    return config;
  }
  config.sample_bytes = macros.at("NVC_SAMPLE_BYTES");
  config.luma = macros.at("NVC_LUMA");
  config.chroma = macros.at("NVC_CHROMA");
  config.luma_taps = macros.at("NVC_LUMA_TAPS");
  config.chroma_taps = macros.at("NVC_CHROMA_TAPS");
  config.shift_x = macros.at("NVC_SHIFT_X");
  config.channels = macros.at("NVC_CHANNELS");
  config.planar = macros.at("NVC_PLANAR");
  config.element = macros.at("NVC_ELEMENT");
  config.pixels = macros.at("NVC_PIXELS");
  config.lanes = macros.at("NVC_LANES");
  return config;
}

template <typename Handle>
CUresult NewHandle(const char* function, Handle* handle, size_t bytes) {
  std::lock_guard<std::recursive_mutex> lock(Fake().mutex);
  const CUresult result = Result(function);
  if (result != CUDA_SUCCESS) return result;
  *handle = reinterpret_cast<Handle>(std::malloc(bytes));
  ++Fake().objects;
  return CUDA_SUCCESS;
}

// Frees only after all queued work has run, as the real functions do.
template <typename Handle>
CUresult FreeHandle(Handle handle) {
  RunAll();
  std::lock_guard<std::recursive_mutex> lock(Fake().mutex);
  std::free(reinterpret_cast<void*>(handle));
  --Fake().objects;
  return CUDA_SUCCESS;
}

CudaDriver* MakeTable() {
  auto* cuda = new CudaDriver;
  cuda->cuGetErrorName = [](CUresult, const char** name) {
    *name = "FAKE_ERROR";
    return CUDA_SUCCESS;
  };
  cuda->cuGetErrorString = [](CUresult, const char** words) {
    *words = "asked for";
    return CUDA_SUCCESS;
  };
  cuda->cuDeviceGet = [](CUdevice* device, int ordinal) {
    *device = ordinal;
    return CUDA_SUCCESS;
  };
  cuda->cuDeviceGetName = [](char* name, int bytes, CUdevice) {
    std::strncpy(name, "Fake GPU", static_cast<size_t>(bytes) - 1);
    return CUDA_SUCCESS;
  };
  cuda->cuDeviceGetAttribute = [](int* value, CUdevice_attribute attribute, CUdevice) {
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
    return CUDA_SUCCESS;
  };
  cuda->cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) {
    *context = reinterpret_cast<CUcontext>(uintptr_t{16});
    return CUDA_SUCCESS;
  };
  cuda->cuCtxPushCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  cuda->cuCtxPopCurrent = [](CUcontext*) { return CUDA_SUCCESS; };
  cuda->cuCtxSynchronize = [] {
    RunAll();
    Fake().calls.push_back("all done");
    return CUDA_SUCCESS;
  };
  cuda->cuMemGetInfo = [](size_t* free, size_t* total) {
    *free = *total = size_t{1} << 30;
    return CUDA_SUCCESS;
  };
  cuda->cuMemAlloc = [](CUdeviceptr* memory, size_t bytes) {
    return NewHandle("cuMemAlloc", memory, bytes);
  };
  cuda->cuMemFree = [](CUdeviceptr memory) { return FreeHandle(memory); };
  cuda->cuMemHostAlloc = [](void** memory, size_t bytes, unsigned) {
    return NewHandle("cuMemHostAlloc", memory, bytes);
  };
  cuda->cuMemFreeHost = [](void* memory) { return FreeHandle(memory); };
  cuda->cuEventCreate = [](CUevent* event, unsigned) {
    return NewHandle("cuEventCreate", event, 1);
  };
  cuda->cuEventDestroy = [](CUevent event) {
    std::lock_guard<std::recursive_mutex> lock(Fake().mutex);
    Fake().recorded.erase(event);
    std::free(event);
    --Fake().objects;
    return CUDA_SUCCESS;
  };
  cuda->cuEventRecord = [](CUevent event, CUstream) {
    std::lock_guard<std::recursive_mutex> lock(Fake().mutex);
    const CUresult result = Queue("record", [] {});
    if (result == CUDA_SUCCESS) Fake().recorded[event] = Fake().queued;
    return result;
  };
  cuda->cuEventSynchronize = [](CUevent event) {
    std::lock_guard<std::recursive_mutex> lock(Fake().mutex);
    RunUntil(Fake().recorded[event]);
    return Result("cuEventSynchronize");
  };
  cuda->cuStreamCreate = [](CUstream* stream, unsigned) {
    return NewHandle("cuStreamCreate", stream, 1);
  };
  cuda->cuStreamDestroy = [](CUstream stream) { return FreeHandle(stream); };
  cuda->cuStreamSynchronize = [](CUstream) {
    RunAll();
    return Result("cuStreamSynchronize");
  };
  cuda->cuStreamWaitEvent = [](CUstream, CUevent, unsigned) { return Queue("wait", [] {}); };
  // Reads the source late, as the real function does from page-locked memory. From other memory the
  // real one reads before it returns.
  cuda->cuMemcpyHtoDAsync = [](CUdeviceptr to, const void* from, size_t bytes, CUstream) {
    return Copy("h2d", reinterpret_cast<void*>(to), from, bytes);
  };
  cuda->cuMemcpyDtoHAsync = [](void* to, CUdeviceptr from, size_t bytes, CUstream) {
    return Copy("d2h", to, reinterpret_cast<const void*>(from), bytes);
  };
  cuda->cuMemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
    return Copy("d2d", reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  };
  cuda->cuMemcpy2DAsync = [](const CUDA_MEMCPY2D* copy, CUstream) {
    return Queue("2d", [copy = *copy] {
      for (size_t y = 0; y < copy.Height; ++y) {
        std::memcpy(reinterpret_cast<char*>(copy.dstDevice) + y * copy.dstPitch,
                    reinterpret_cast<const char*>(copy.srcDevice) + y * copy.srcPitch,
                    copy.WidthInBytes);
      }
    });
  };
  cuda->cuModuleLoadData = [](CUmodule* module, const void* image) {
    std::lock_guard<std::recursive_mutex> lock(Fake().mutex);
    const CUresult result = Result("cuModuleLoadData");
    if (result != CUDA_SUCCESS) return result;
    ++Fake().modules;
    *module = reinterpret_cast<CUmodule>(
        new FrameKernelConfig(ParseOptions(static_cast<const char*>(image))));
    return CUDA_SUCCESS;
  };
  cuda->cuModuleGetFunction = [](CUfunction* function, CUmodule module, const char*) {
    *function = reinterpret_cast<CUfunction>(module);
    return CUDA_SUCCESS;
  };
  cuda->cuLaunchKernel = [](CUfunction function, unsigned grid_x, unsigned grid_y, unsigned,
                            unsigned block_x, unsigned block_y, unsigned, unsigned, CUstream,
                            void** arguments, void**) {
    const auto* config = reinterpret_cast<const FrameKernelConfig*>(function);
    if (config->sample_bytes == 0 && config->planar != 0) {
      const auto planes = *static_cast<const PlanesParams*>(arguments[0]);
      return Queue("planes", [=] {
        for (unsigned y = 0; y < grid_y * block_y; ++y) {
          for (unsigned x = 0; x < grid_x * block_x; ++x) {
            planes_kernel::ConvertBlock(planes, static_cast<int>(x), static_cast<int>(y));
          }
        }
      });
    }
    if (config->sample_bytes == 0 && config->channels != 0) {
      const auto rgb = *static_cast<const RgbParams*>(arguments[0]);
      return Queue("rgb", [=] {
        for (unsigned y = 0; y < grid_y * block_y; ++y) {
          for (unsigned x = 0; x < grid_x * block_x; ++x) {
            rgb_kernel::ConvertBlock(rgb, static_cast<int>(x), static_cast<int>(y));
          }
        }
      });
    }
    const auto params = *static_cast<const FrameKernelParams*>(arguments[0]);
    return Queue("launch", [=] {
      RunOnHost(*config, params, static_cast<int>(grid_x * block_x),
                static_cast<int>(grid_y * block_y));
    });
  };
  return cuda;
}

}  // namespace

size_t Pending() {
  std::lock_guard<std::recursive_mutex> lock(Fake().mutex);
  return Fake().queue.size();
}

void RunAll() {
  std::lock_guard<std::recursive_mutex> lock(Fake().mutex);
  RunUntil(Fake().queued);
}

std::vector<std::string> TakeCalls() {
  std::lock_guard<std::recursive_mutex> lock(Fake().mutex);
  return std::exchange(Fake().calls, {});
}

int ModulesLoaded() { return Fake().modules; }
int Objects() { return Fake().objects; }

void FailNext(const std::string& function, int error) { Fake().failures[function] = error; }

GpuDevice* NewDevice() {
  static const CudaDriver* table = MakeTable();
  // Devices are never destroyed. The list keeps them reachable for the leak sanitizer.
  static auto* devices = new std::vector<GpuDevice*>;
  devices->push_back(GpuDevice::Make(table, absl::FailedPreconditionError("no video"), 0).value());
  return devices->back();
}

}  // namespace lazy_cuda
}  // namespace nvc
