#include "tf_nvcodec/nv/encode/gpu_to_planes.h"

#include "tf_nvcodec/core/base/status.h"

extern "C" {
#include <libavutil/common.h>
}

namespace nvc {
namespace {

constexpr unsigned kBlockWidth = 64, kBlockHeight = 4;

unsigned Blocks(int samples, int shift, unsigned block) {
  return (static_cast<unsigned>(AV_CEIL_RSHIFT(samples, shift)) + block - 1) / block;
}

}  // namespace

absl::Status GpuToPlanes::Launch(const GpuDevice& device, CUfunction kernel, void* params,
                                 const char* doing, const AVFrame& frame, int chroma_shift,
                                 CUstream stream) {
  const ScopedContext context(device);
  NVC_RETURN_IF_ERROR(context.status());
  void* arguments[] = {params};
  return device.Check(
      device.cuda().cuLaunchKernel(kernel, Blocks(frame.width, chroma_shift, kBlockWidth),
                                   Blocks(frame.height, chroma_shift, kBlockHeight), 1, kBlockWidth,
                                   kBlockHeight, 1, 0, stream, arguments, nullptr),
      doing);
}

}  // namespace nvc
