// A frame as a GPU's decoder returns it, on the fake driver of lazy_cuda.h, and the tests' stream.
#ifndef TF_NVCODEC_TESTS_NV_CONVERT_LAZY_FRAME_H_
#define TF_NVCODEC_TESTS_NV_CONVERT_LAZY_FRAME_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/nv/testing/host_kernel.h"
#include "tests/nv/testing/lazy_cuda.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"
#include "tf_nvcodec/nv/cuda/nvrtc.h"

namespace nvc {
namespace lazy_cuda {

inline CUstream Stream() { return reinterpret_cast<CUstream>(uintptr_t{32}); }

// The build puts the fake compiler here.
inline const bool kNvrtcFolderSet = (SetNvrtcFolders({"tests/nv/testing"}), true);

// Has a copy of a software frame's samples.
class DecodedFrame : public GpuPictureOwner {
 public:
  DecodedFrame(GpuDevice* device, const AVFrame& software)
      : host_(software, /*padding=*/12), frame_(software) {
    for (int i = 0; i < 3; ++i) {
      picture_.planes[i] = reinterpret_cast<CUdeviceptr>(host_.planes[i].data());
    }
    picture_.device = device;
    picture_.pitch = host_.pitch;
    picture_.layout = host_.layout;
    picture_.stream_format = static_cast<AVPixelFormat>(software.format);
    picture_.ready = reinterpret_cast<CUevent>(uintptr_t{64});
    picture_.owner = this;
    frame_.format = AV_PIX_FMT_CUDA;
    frame_.opaque = &picture_;
  }

  absl::Status UsedOn(CUstream stream) override {
    EXPECT_EQ(stream, Stream());
    calls_when_used_ = TakeCalls();
    ++used_;
    return absl::OkStatus();
  }

  AVFrame& frame() { return frame_; }
  GpuPicture& picture() { return picture_; }
  int used() const { return used_; }
  // The calls that were queued, and not yet taken, when UsedOn was called.
  const std::vector<std::string>& calls_when_used() const { return calls_when_used_; }

 private:
  HostPicture host_;
  AVFrame frame_;
  GpuPicture picture_;
  int used_ = 0;
  std::vector<std::string> calls_when_used_;
};

}  // namespace lazy_cuda
}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_NV_CONVERT_LAZY_FRAME_H_
