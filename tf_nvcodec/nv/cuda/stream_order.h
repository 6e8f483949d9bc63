// Orders the work of two CUDA streams, and releases memory when a stream has finished with it. The
// host waits for neither.
#ifndef TF_NVCODEC_NV_CUDA_STREAM_ORDER_H_
#define TF_NVCODEC_NV_CUDA_STREAM_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

// Converts between streams and their numbers in DLPack and __cuda_array_interface__: 1 is CUDA's
// legacy default stream, 2 the per-thread default stream, and any other number a handle. Returns
// InvalidArgument for a negative number and for 0, which could mean either default stream.
absl::StatusOr<CUstream> StreamOfNumber(int64_t number);
int64_t NumberOfStream(CUstream stream);

// Makes all later work on `later` wait for the work now queued on `earlier`.
absl::Status OrderStreams(GpuDevice* device, CUstream earlier, CUstream later);

// Lets the first ReleaseDone after the work now queued on `stream` is done call `release`. If the
// driver returns an error, calls `release` at once.
void ReleaseAfter(GpuDevice* device, CUstream stream, std::function<void()> release);
// Calls, on this thread, all releases that are due. The ops call it now and then.
void ReleaseDone();
// Returns the number of releases that still wait.
size_t ReleasesPending();

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_STREAM_ORDER_H_
