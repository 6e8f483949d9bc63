// Work of two streams in order, and memory given back once a stream is done with it; the host waits
// for neither.
#ifndef TF_NVCODEC_NV_CUDA_STREAM_ORDER_H_
#define TF_NVCODEC_NV_CUDA_STREAM_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

// Streams as DLPack and __cuda_array_interface__ number them: 1 is CUDA's legacy default stream, 2
// its per-thread one, others are handles. InvalidArgument for 0, which either may be, and below.
absl::StatusOr<CUstream> StreamOfNumber(int64_t number);
int64_t NumberOfStream(CUstream stream);

// What is queued on `later` from now on starts after what is queued on `earlier`.
absl::Status OrderStreams(GpuDevice* device, CUstream earlier, CUstream later);

// Calls `release` at the first ReleaseDone after what is queued on `stream` is done; now, when the
// driver answers with an error.
void ReleaseAfter(GpuDevice* device, CUstream stream, std::function<void()> release);
// Makes the calls that are due, on this thread. To be called now and then.
void ReleaseDone();
// What waits.
size_t ReleasesPending();

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_STREAM_ORDER_H_
