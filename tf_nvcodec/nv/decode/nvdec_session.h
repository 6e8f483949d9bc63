// Opens an NVDEC session, which is one decoder of the driver's, and maps its pictures to surfaces
// in GPU memory that others read.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_SESSION_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_SESSION_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"
#include "tf_nvcodec/nv/decode/nvdec_caps.h"

namespace nvc {

// An output surface with one decoded picture. The session owns it and uses it again.
class NvdecSurface : public GpuPictureOwner {
 public:
  static absl::StatusOr<std::unique_ptr<NvdecSurface>> Create(GpuDevice* device);

  absl::Status UsedOn(CUstream stream) override;

  CUdeviceptr memory() const { return memory_; }  // of the whole coded picture
  size_t pitch() const { return pitch_; }         // in bytes
  // The number of rows from the top of one plane to the top of the next.
  int rows() const { return rows_; }
  // An event that completes when the picture is complete.
  CUevent ready() const { return ready_.get(); }
  // Whether the GPU reports that the picture differs from what was encoded.
  bool is_concealed() const { return concealed_; }
  bool is_broken() const { return broken_; }

 private:
  friend class NvdecSession;

  explicit NvdecSurface(CudaEvent ready) : ready_(std::move(ready)) {}

  bool mapped() const { return memory_ != 0; }
  absl::Status WaitForReaders();

  // The session sets these.
  CUdeviceptr memory_ = 0;
  size_t pitch_ = 0;
  int rows_ = 0;
  bool concealed_ = false, broken_ = false;
  const CudaEvent ready_;
  std::atomic<bool> held_{false};  // by a frame

  std::mutex mutex_;
  std::vector<CudaEvent> readers_;  // kept for the readers of the next picture
  size_t num_readers_ = 0;          // how many are recorded for this picture
};

// One thread at a time may decode and map. Any thread may use and release surfaces.
class NvdecSession {
 public:
  // How many pictures can be mapped at a time, so that decoding and reading overlap.
  static constexpr int kOutputSurfaces = 4;
  // How many pictures may wait to be mapped, in addition to those that the stream refers to. The
  // driver queues as many, so that the engine does not idle while a caller waits for one.
  static constexpr int kSpareSurfaces = 4;

  // `min_surfaces` is the number of decode surfaces that the stream needs by itself. Returns
  // ResourceExhausted when the GPU has not enough memory.
  static absl::StatusOr<std::unique_ptr<NvdecSession>> Create(GpuDevice* device,
                                                              const CuvidDriver* cuvid,
                                                              const NvdecFormat& format,
                                                              int min_surfaces);
  // Waits for the readers of its pictures. No surface may be held.
  ~NvdecSession();
  NvdecSession(const NvdecSession&) = delete;
  NvdecSession& operator=(const NvdecSession&) = delete;

  GpuDevice* device() const { return device_; }
  const NvdecFormat& format() const { return format_; }
  int num_surfaces() const { return num_surfaces_; }
  size_t bytes() const;  // estimated device memory

  // Whether the session can decode streams of that format: IsFor as it is, CanBecome after
  // Reconfigure.
  bool IsFor(const NvdecFormat& format, int min_surfaces) const;
  bool CanBecome(const NvdecFormat& format, int min_surfaces) const;
  // Call this in the parser's sequence callback, while no surface is held.
  absl::Status Reconfigure(const NvdecFormat& format);

  // Starts to decode a picture. Returns DataLoss when the driver rejects the picture itself.
  absl::Status Decode(CUVIDPICPARAMS* picture);
  // Waits until the picture is decoded and maps all of the coded picture. The caller holds the
  // surface until it calls Release. Returns DataLoss when there is no such picture, and
  // ResourceExhausted while all surfaces are held.
  absl::StatusOr<NvdecSurface*> Map(const CUVIDPARSERDISPINFO& info);
  void Release(NvdecSurface* surface) { surface->held_.store(false, std::memory_order_release); }

  // True after an error of the driver. Don't use the session for another stream then.
  bool failed() const { return failed_; }

 private:
  NvdecSession(GpuDevice* device, const CuvidDriver* cuvid, const NvdecFormat& format,
               int num_surfaces);
  absl::Status Initialize();
  absl::StatusOr<NvdecSurface*> FreeSurface();
  absl::Status Unmap(NvdecSurface* surface);
  absl::Status ReadStatus(int picture, NvdecSurface* surface);
  absl::Status Fail(absl::Status status);

  GpuDevice* const device_;
  const CuvidDriver& cuvid_;
  NvdecFormat format_;
  const NvdecFormat created_;
  const int num_surfaces_;
  CUvideodecoder decoder_ = nullptr;
  CudaStream stream_;
  std::atomic<bool> failed_{false};
  std::array<std::unique_ptr<NvdecSurface>, kOutputSurfaces> surfaces_;
  size_t next_surface_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_SESSION_H_
