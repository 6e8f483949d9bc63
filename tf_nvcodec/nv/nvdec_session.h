// One open decoder of the driver, with the surfaces it shows its pictures in.
#ifndef TF_NVCODEC_NV_NVDEC_SESSION_H_
#define TF_NVCODEC_NV_NVDEC_SESSION_H_

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda_objects.h"
#include "tf_nvcodec/nv/gpu_device.h"
#include "tf_nvcodec/nv/gpu_picture.h"
#include "tf_nvcodec/nv/nvdec_caps.h"

namespace nvc {

// Decoding and mapping are for one thread at a time; pictures may be used and let go on any.
class NvdecSession {
 public:
  // Pictures that can be mapped at a time: one being decoded into, one being read, and those whose
  // readers have not come to them yet.
  static constexpr int kOutputSurfaces = 4;
  // Pictures that the decoder may hold back before they are mapped, beside those the stream needs.
  static constexpr int kSpareSurfaces = 4;

  // A picture mapped for reading.
  class Surface;

  static absl::StatusOr<std::unique_ptr<NvdecSession>> Create(GpuDevice* device,
                                                              const CuvidDriver* cuvid,
                                                              const NvdecFormat& format,
                                                              int min_surfaces);
  // Waits for the readers of pictures.
  ~NvdecSession();
  NvdecSession(const NvdecSession&) = delete;
  NvdecSession& operator=(const NvdecSession&) = delete;

  const NvdecFormat& format() const { return format_; }
  int num_surfaces() const { return num_surfaces_; }
  size_t bytes() const;  // of device memory, about

  // Whether it decodes streams of that format, as it is or after Reconfigure.
  bool IsFor(const NvdecFormat& format, int min_surfaces) const;
  bool CanBecome(const NvdecFormat& format, int min_surfaces) const;
  absl::Status Reconfigure(const NvdecFormat& format);

  // Starts decoding a picture. DataLoss when the driver finds the picture itself impossible.
  absl::Status Decode(CUVIDPICPARAMS* picture);
  // Waits until the picture is decoded and maps it, whole as coded. ResourceExhausted when the
  // caller holds all surfaces that can be mapped. The surface is to be given to Release.
  absl::StatusOr<Surface*> Map(const CUVIDPARSERDISPINFO& info);
  void Release(Surface* surface);

  // After an error of the driver, or a picture that it could not decode: not to be used for
  // another stream.
  bool failed() const { return failed_; }

 private:
  NvdecSession(GpuDevice* device, const CuvidDriver* cuvid, const NvdecFormat& format,
               int num_surfaces);
  absl::Status Initialize();
  absl::StatusOr<Surface*> FreeSurface();
  absl::Status Unmap(Surface* surface);
  absl::Status Fail(absl::Status status);

  GpuDevice* const device_;
  const CuvidDriver& cuvid_;
  NvdecFormat format_;
  const int max_width_, max_height_;
  const int num_surfaces_;
  CUvideodecoder decoder_ = nullptr;
  CudaStream stream_;
  bool failed_ = false;
  std::mutex mutex_;  // guards which surfaces are free, and their readers
  std::array<std::unique_ptr<Surface>, kOutputSurfaces> surfaces_;
  size_t next_surface_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_NVDEC_SESSION_H_
