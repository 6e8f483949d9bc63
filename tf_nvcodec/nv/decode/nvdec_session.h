// An NVDEC session (a decoder of the driver's), and the surfaces in which it shows its pictures.
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

// Decoding and mapping are for one thread at a time; surfaces may be used and released on any.
class NvdecSession {
 public:
  // Pictures mapped at a time: the engine and the readers then overlap.
  static constexpr int kOutputSurfaces = 4;
  // Pictures that may wait to be mapped, beside those that the stream refers to: as many as the
  // driver queues, so that the engine does not idle while one is waited for.
  static constexpr int kSpareSurfaces = 4;

  static absl::StatusOr<std::unique_ptr<NvdecSession>> Create(GpuDevice* device,
                                                              const CuvidDriver* cuvid,
                                                              const NvdecFormat& format,
                                                              int min_surfaces);
  // Waits for the readers of its pictures; no surface may be held any more.
  ~NvdecSession();
  NvdecSession(const NvdecSession&) = delete;
  NvdecSession& operator=(const NvdecSession&) = delete;

  GpuDevice* device() const { return device_; }
  const NvdecFormat& format() const { return format_; }
  int num_surfaces() const { return num_surfaces_; }
  size_t bytes() const;  // of device memory, about

  // Whether it decodes streams of that format, as it is or after Reconfigure.
  bool IsFor(const NvdecFormat& format, int min_surfaces) const;
  bool CanBecome(const NvdecFormat& format, int min_surfaces) const;
  // From the parser's sequence callback, while no surface is held.
  absl::Status Reconfigure(const NvdecFormat& format);

  // Starts decoding a picture. DataLoss when the driver finds the picture itself impossible.
  absl::Status Decode(CUVIDPICPARAMS* picture);
  // Waits until the picture is decoded and maps it, whole as coded, for whoever Releases it.
  // DataLoss when there is no such picture. ResourceExhausted while all surfaces are held.
  absl::StatusOr<NvdecSurface*> Map(const CUVIDPARSERDISPINFO& info);
  void Release(NvdecSurface* surface) { surface->held_.store(false, std::memory_order_release); }

  // After an error of the driver: not to be used for another stream.
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
