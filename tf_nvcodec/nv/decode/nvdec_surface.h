// One of the surfaces that a session shows its pictures in, and who still reads it.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_SURFACE_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_SURFACE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"

namespace nvc {

class NvdecSurface : public GpuPictureOwner {
 public:
  static absl::StatusOr<std::unique_ptr<NvdecSurface>> Create(GpuDevice* device);

  absl::Status UsedOn(CUstream stream) override;

  CUdeviceptr memory() const { return memory_; }  // of the whole coded picture
  size_t pitch() const { return pitch_; }
  // Rows from the top of one plane to the top of the next, before chroma subsampling.
  int rows() const { return rows_; }
  // Recorded once the picture is complete.
  CUevent ready() const { return ready_.get(); }
  // The GPU says that the picture is not what was encoded.
  bool is_concealed() const { return concealed_; }
  bool is_broken() const { return broken_; }

 private:
  friend class NvdecSession;

  explicit NvdecSurface(CudaEvent ready) : ready_(std::move(ready)) {}

  bool mapped() const { return memory_ != 0; }
  absl::Status WaitForReaders();

  // The session's.
  CUdeviceptr memory_ = 0;
  size_t pitch_ = 0;
  int rows_ = 0;
  bool concealed_ = false, broken_ = false;
  const CudaEvent ready_;
  std::atomic<bool> held_{false};  // by a frame

  std::mutex mutex_;
  std::vector<CudaEvent> readers_;  // kept for the next picture's
  size_t num_readers_ = 0;          // recorded for this picture
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_SURFACE_H_
