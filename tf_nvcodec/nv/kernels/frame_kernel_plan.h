// What the colour kernel has to do for one kind of conversion, worked out once with the core's own
// axes and colour maps. Nothing here touches a GPU.
#ifndef TF_NVCODEC_NV_KERNELS_FRAME_KERNEL_PLAN_H_
#define TF_NVCODEC_NV_KERNELS_FRAME_KERNEL_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/nv/kernels/frame_kernel_params.h"

namespace nvc {

// A picture's planes as GpuPicture has them.
struct PlaneAddresses {
  uint64_t planes[3] = {};
  size_t pitch = 0;
};

// One launch: an image, or one or two planes of a packed format.
struct FrameKernelJob {
  // Tap tables of an axis, as bytes into the plan's tables.
  struct Table {
    size_t start = 0, weights = 0;
  };

  FrameKernelConfig config = {};
  FrameKernelParams params = {};  // but for addresses
  Table x[2], y[2];
  size_t out[3] = {};  // bytes into a frame

  // The grid has a row of threads for each row of the output, this long.
  int ThreadsAcross() const;
  // The parameters with every address filled in.
  FrameKernelParams At(const PlaneAddresses& picture, uint64_t tables, uint64_t frame) const;
};

struct FrameKernelPlan {
  FrameShape shape;
  std::vector<FrameKernelJob> jobs;
  std::vector<uint8_t> tables;  // what each job's kernel reads besides the picture
};

// The layout of GpuPicture that holds pictures of `stream_format`, AV_PIX_FMT_NONE if none does.
// Gray ones have luma alone.
AVPixelFormat GpuLayoutOf(AVPixelFormat stream_format);

// source.format is the stream's. Errors are FrameConverter::Create's; Unimplemented for formats
// without a GPU layout.
absl::StatusOr<FrameKernelPlan> MakeFrameKernelPlan(const OutputSpec& output,
                                                    const SourceSpec& source);

// The config as the kernel text wants it, "NVC_LUMA=1" and so on.
std::vector<std::string> KernelMacros(const FrameKernelConfig& config);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_KERNELS_FRAME_KERNEL_PLAN_H_
