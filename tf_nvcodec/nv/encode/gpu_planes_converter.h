// Samples that are no 8-bit RGB, in device memory, to the planes that an encoder reads there.
#ifndef TF_NVCODEC_NV_ENCODE_GPU_PLANES_CONVERTER_H_
#define TF_NVCODEC_NV_ENCODE_GPU_PLANES_CONVERTER_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/encode/frame_batch.h"
#include "tf_nvcodec/core/encode/stream_spec.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/encode/gpu_to_planes.h"
#include "tf_nvcodec/nv/kernels/planes_kernel.h"

namespace nvc {

// RGB and gray of any sample type but 8-bit RGB, and packed Y'CbCr of another depth or chroma size
// than the stream's.
class GpuPlanesConverter : public GpuToPlanes {
 public:
  // Unimplemented for streams that are not of 8-bit 4:2:0 or 4:4:4 planes; FailedPrecondition
  // without NVRTC. The data of `frames` is not read.
  static absl::StatusOr<std::unique_ptr<GpuPlanesConverter>> Create(GpuDevice* device,
                                                                    const FrameBatch& frames,
                                                                    const StreamSpec& stream);

  size_t frame_bytes() const override { return frame_bytes_; }
  absl::Status Convert(CUstream stream, CUdeviceptr samples, AVFrame* frame) const override;
  bool found_out_of_range() const override;

 private:
  GpuPlanesConverter(GpuDevice* device, CUfunction kernel, PinnedMemory flag, size_t frame_bytes,
                     const PlanesParams& params)
      : device_(device),
        kernel_(kernel),
        flag_(std::move(flag)),
        frame_bytes_(frame_bytes),
        params_(params) {}

  GpuDevice* const device_;
  const CUfunction kernel_;
  const PinnedMemory flag_;  // the GPU writes it where it is
  const size_t frame_bytes_;
  const PlanesParams params_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_ENCODE_GPU_PLANES_CONVERTER_H_
