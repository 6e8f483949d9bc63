// Plans the colour kernel's work for one kind of conversion, once, with the core's own axes and
// colour maps. Nothing here touches a GPU.
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

// The addresses of a picture's planes, as in GpuPicture.
struct PlaneAddresses {
  uint64_t planes[3] = {};
  size_t pitch = 0;
};

// One kernel launch. It makes an image, or one or two planes of a packed format.
struct FrameKernelJob {
  // The tables of an axis, as byte offsets in the plan's tables.
  struct Table {
    size_t start = 0, weights = 0;
  };

  FrameKernelConfig config = {};
  FrameKernelParams params = {};  // without addresses
  Table x[2], y[2];
  size_t out[3] = {};  // byte offsets in a frame

  // Returns the number of threads in a row of the grid. The grid has one row for each row of the
  // output.
  int ThreadsAcross() const;
  // Returns the parameters with all addresses filled in.
  FrameKernelParams At(const PlaneAddresses& picture, uint64_t tables, uint64_t frame) const;
};

// Everything that a conversion needs but the compiled kernels.
struct FrameKernelPlan {
  FrameShape shape;
  std::vector<FrameKernelJob> jobs;
  std::vector<uint8_t> tables;  // the jobs' tables
};

// Returns the layout that a GpuPicture has for pictures of `stream_format`, or AV_PIX_FMT_NONE if
// there is none. Gray pictures have valid luma only.
AVPixelFormat GpuLayoutOf(AVPixelFormat stream_format);

// Plans the conversion. `source.format` is the stream's format. Errors are those of
// FrameConverter::Create, and Unimplemented for a format without a GPU layout.
absl::StatusOr<FrameKernelPlan> MakeFrameKernelPlan(const OutputSpec& output,
                                                    const SourceSpec& source);

// Returns the macros that compile `config` into the kernel, such as "NVC_LUMA=1".
std::vector<std::string> KernelMacros(const FrameKernelConfig& config);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_KERNELS_FRAME_KERNEL_PLAN_H_
