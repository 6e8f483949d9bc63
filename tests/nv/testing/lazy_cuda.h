// A fake CUDA driver without a GPU. Device memory is host memory and kernels run on the host.
// Queued work runs only when somebody waits for it, so that code that reads too early sees old
// bytes.
#ifndef TF_NVCODEC_TESTS_NV_TESTING_LAZY_CUDA_H_
#define TF_NVCODEC_TESTS_NV_TESTING_LAZY_CUDA_H_

#include <string>
#include <vector>

#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {
namespace lazy_cuda {

// Returns how many pieces of queued work have not run yet, on all streams of the process.
size_t Pending();
// Runs all queued work.
void RunAll();

// Returns the names of the queuing calls since the last TakeCalls: "launch", "rgb", "planes",
// "wait", "record", "h2d", "d2h", "d2d", "2d", and "all done" where the context was waited for.
std::vector<std::string> TakeCalls();
int ModulesLoaded();
// Returns how many memory blocks, events and streams exist.
int Objects();

// Makes the next call of this function fail.
void FailNext(const std::string& function, int error);

// Returns a new fake device of compute capability 9.0.
GpuDevice* NewDevice();

}  // namespace lazy_cuda
}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_NV_TESTING_LAZY_CUDA_H_
