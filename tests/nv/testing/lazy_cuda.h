// A driver without a GPU: device memory is host memory, kernels run on the host, and what is queued
// runs only when somebody waits for it, so that whoever looks too early sees old bytes.
#ifndef TF_NVCODEC_TESTS_NV_TESTING_LAZY_CUDA_H_
#define TF_NVCODEC_TESTS_NV_TESTING_LAZY_CUDA_H_

#include <string>
#include <vector>

#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {
namespace lazy_cuda {

// All that the process has queued, on whatever stream, and not yet run.
size_t Pending();
void RunAll();

// Names of the queuing calls so far: "launch", "rgb", "planes", "wait", "record", "h2d", "d2h",
// "d2d", "2d".
std::vector<std::string> TakeCalls();
int ModulesLoaded();
// Memory and events that exist.
int Objects();

// The next call of this function fails once.
void FailNext(const std::string& function, int error);

// A device of the fake, another one each time; compute capability 9.0.
GpuDevice* NewDevice();

}  // namespace lazy_cuda
}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_NV_TESTING_LAZY_CUDA_H_
