// A stream with memory for one frame on its way to the host, kept for the next call: allocating
// and freeing device memory makes the whole GPU wait.
#ifndef TF_NVCODEC_NV_CONVERT_GPU_TARGETS_H_
#define TF_NVCODEC_NV_CONVERT_GPU_TARGETS_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/decode/frame_collector.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

class DownloadLane {
 public:
  // One that was given back, else a new one. Thread-safe, as GiveBack.
  static absl::StatusOr<std::unique_ptr<DownloadLane>> Take(GpuDevice* device);
  // Keeps it, within limits. Nothing may be queued on its stream any more.
  static void GiveBack(std::unique_ptr<DownloadLane> lane);

  // Makes memory() hold that many bytes. ResourceExhausted when the GPU has not got them.
  absl::Status Reserve(size_t bytes);

  CUstream stream() const { return stream_.get(); }
  CUdeviceptr memory() const { return memory_.get(); }

 private:
  explicit DownloadLane(CudaStream stream) : stream_(std::move(stream)) {}

  CudaStream stream_;
  DeviceMemory memory_;
};

// Memory of `device`. All that is done to it is queued on `stream`, in the order of the calls;
// whoever reads it on that stream, or gives it to others there, need not wait for anything.
// Pictures of the GPU never leave it; those of the host are converted there and copied.
class DeviceTarget : public FrameTarget {
 public:
  DeviceTarget(GpuDevice* device, CUstream stream) : device_(device), stream_(stream) {}

  SourceSpec SourceOf(const AVFrame& picture, int rotation) const override;
  absl::StatusOr<std::unique_ptr<FrameConverter>> NewConverter(const OutputSpec& output,
                                                               const AVFrame& picture,
                                                               int rotation) override;
  absl::Status Copy(void* to, const void* from, size_t bytes) override;

 private:
  GpuDevice* const device_;
  const CUstream stream_;
};

// Memory of the host. Pictures of `device` are converted there and copied; the last one of each
// converter is copied when the next one is queued, so that neither waits for the other.
class DownloadTarget : public FrameTarget {
 public:
  explicit DownloadTarget(GpuDevice* device) : device_(device) {}

  SourceSpec SourceOf(const AVFrame& picture, int rotation) const override;
  absl::StatusOr<std::unique_ptr<FrameConverter>> NewConverter(const OutputSpec& output,
                                                               const AVFrame& picture,
                                                               int rotation) override;
  void SetMemory(void* memory, size_t bytes) override { host_.SetMemory(memory, bytes); }
  // By Finish: what is copied may still be on the GPU.
  absl::Status Copy(void* to, const void* from, size_t bytes) override;
  absl::Status Finish() override;

 private:
  class Converter;
  struct Copying {
    void* to;
    const void* from;
    size_t bytes;
  };

  void Fail(const absl::Status& status);

  GpuDevice* const device_;
  HostTarget host_;
  std::mutex mutex_;
  std::vector<Copying> copies_;
  absl::Status status_;  // the first failure
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CONVERT_GPU_TARGETS_H_
