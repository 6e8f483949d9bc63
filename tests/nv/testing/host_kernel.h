// Runs the colour kernel on the host, one thread after the other, over pictures laid out as a GPU's
// decoder leaves them.
#ifndef TF_NVCODEC_TESTS_NV_TESTING_HOST_KERNEL_H_
#define TF_NVCODEC_TESTS_NV_TESTING_HOST_KERNEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/nv/kernels/frame_kernel_plan.h"

namespace nvc {

// A copy of a software frame in the layout of a GpuPicture. A plane's memory ends with its last
// sample, and unused bits of samples are set.
struct HostPicture {
  // At least `padding` bytes, a multiple of 4, lie between rows.
  HostPicture(const AVFrame& frame, int padding);

  AVPixelFormat layout;
  std::vector<uint8_t> planes[3];
  size_t pitch;
};

// Does the work of a grid of threads.
void RunOnHost(const FrameKernelConfig& config, const FrameKernelParams& params, int threads_x,
               int threads_y);

// Returns a converter for software frames, which it first copies to a HostPicture.
absl::StatusOr<std::unique_ptr<FrameConverter>> NewHostKernelConverter(const OutputSpec& output,
                                                                       const SourceSpec& source,
                                                                       int padding = 4);

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_NV_TESTING_HOST_KERNEL_H_
