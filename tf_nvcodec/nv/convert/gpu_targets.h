// Puts converted frames into GPU memory (DeviceTarget) or host memory (DownloadTarget).
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

// A stream, and GPU memory for one frame on its way to the host. Calls share buffers, because
// allocating and freeing GPU memory makes the whole GPU wait.
class DownloadBuffer {
 public:
  // Returns a buffer that was given back, or a new one. Thread-safe, as is GiveBack.
  static absl::StatusOr<std::unique_ptr<DownloadBuffer>> Take(GpuDevice* device);
  // Keeps the buffer for later calls, within limits. All work on its stream must be finished.
  static void GiveBack(std::unique_ptr<DownloadBuffer> buffer);

  // Makes memory() at least `bytes` large. Returns ResourceExhausted if the GPU has not enough
  // memory.
  absl::Status Reserve(size_t bytes);

  CUstream stream() const { return stream_.get(); }
  CUdeviceptr memory() const { return memory_.get(); }

 private:
  explicit DownloadBuffer(CudaStream stream) : stream_(std::move(stream)) {}

  CudaStream stream_;
  DeviceMemory memory_;
};

// Writes frames to memory of `device`. Queues all its work on `stream` in the order of the calls,
// so that work queued there later can read the frames without waiting. Pictures in GPU memory never
// leave the GPU. Pictures in host memory are converted there and copied to the GPU.
class DeviceTarget : public FrameTarget {
 public:
  DeviceTarget(GpuDevice* device, CUstream stream) : device_(device), stream_(stream) {}

  SourceSpec SourceOf(const AVFrame& picture, Orientation orientation) const override;
  absl::StatusOr<std::unique_ptr<FrameConverter>> NewConverter(const OutputSpec& output,
                                                               const AVFrame& picture,
                                                               Orientation orientation) override;
  absl::Status Copy(void* to, const void* from, size_t bytes) override;

 private:
  GpuDevice* const device_;
  const CUstream stream_;
};

// Writes frames to host memory. Pictures of `device` are converted on the GPU and copied to the
// host. A converter copies its last frame only when the next one comes, so that conversion and copy
// need not wait for each other.
class DownloadTarget : public FrameTarget {
 public:
  explicit DownloadTarget(GpuDevice* device) : device_(device) {}

  SourceSpec SourceOf(const AVFrame& picture, Orientation orientation) const override;
  absl::StatusOr<std::unique_ptr<FrameConverter>> NewConverter(const OutputSpec& output,
                                                               const AVFrame& picture,
                                                               Orientation orientation) override;
  void SetMemory(void* memory, size_t bytes) override { host_.SetMemory(memory, bytes); }
  // Stores the copy for Finish, because the source may still be on the GPU.
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
