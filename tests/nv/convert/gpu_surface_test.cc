#include "tf_nvcodec/nv/convert/gpu_surface.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nv/convert/lazy_frame.h"
#include "tests/nv/testing/lazy_cuda.h"

namespace nvc {
namespace {

using lazy_cuda::Stream;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Reader : GpuPictureOwner {
  absl::Status UsedOn(CUstream stream) override {
    calls = lazy_cuda::TakeCalls();
    return absl::OkStatus();
  }
  std::vector<std::string> calls;  // those before the picture was used
};

TEST(GpuSurfaceTest, CopiesTheDisplayedAreaWithoutThePitch) {
  GpuDevice* const device = lazy_cuda::NewDevice();
  for (const auto& [width, height] : {std::pair(16, 8), std::pair(7, 5)}) {
    const auto layout =
        SurfaceLayout::Of(AV_PIX_FMT_P016LE, SurfaceColor::kNative, width, height).value();
    constexpr size_t kPitch = 64;
    std::vector<uint8_t> coded(kPitch * 32);
    for (size_t i = 0; i < coded.size(); ++i) coded[i] = static_cast<uint8_t>(i * 37 >> 3);
    Reader reader;
    GpuPicture picture;
    picture.device = device;
    picture.pitch = kPitch;
    picture.layout = AV_PIX_FMT_P016LE;
    picture.ready = reinterpret_cast<CUevent>(uintptr_t{5});
    picture.owner = &reader;
    const size_t origins[] = {kPitch * 2 + 4, kPitch * 20 + 4};
    for (int i = 0; i < 2; ++i) {
      picture.planes[i] = reinterpret_cast<CUdeviceptr>(coded.data() + origins[i]);
    }
    std::vector<uint8_t> out(layout.bytes + 1, 0xee);
    lazy_cuda::TakeCalls();
    ASSERT_TRUE(
        CopyPicture(picture, layout, reinterpret_cast<CUdeviceptr>(out.data()), Stream()).ok());
    EXPECT_THAT(reader.calls, ElementsAre("wait", "2d", "2d"));
    lazy_cuda::RunAll();
    EXPECT_EQ(out[layout.bytes], 0xee);
    for (size_t i = 0; i < 2; ++i) {
      const auto& plane = layout.planes[i];
      for (int y = 0; y < plane.height; ++y) {
        for (int x = 0; x < plane.width * plane.channels * 2; ++x) {
          const auto at = static_cast<size_t>(x), row = static_cast<size_t>(y);
          ASSERT_EQ(out[plane.offset + row * plane.stride + at],
                    coded[origins[i] + row * kPitch + at]);
        }
      }
    }
  }
}

TEST(GpuSurfaceTest, AFailedCopyStillTellsThePicturesOwner) {
  GpuDevice* const device = lazy_cuda::NewDevice();
  const auto layout = SurfaceLayout::Of(AV_PIX_FMT_NV12, SurfaceColor::kNative, 4, 4).value();
  std::vector<uint8_t> coded(64), out(layout.bytes);
  Reader reader;
  GpuPicture picture;
  picture.device = device;
  picture.pitch = 8;
  picture.owner = &reader;
  picture.planes[0] = picture.planes[1] = reinterpret_cast<CUdeviceptr>(coded.data());
  lazy_cuda::TakeCalls();
  lazy_cuda::FailNext("2d", kCudaInvalidValue);
  const absl::Status status =
      CopyPicture(picture, layout, reinterpret_cast<CUdeviceptr>(out.data()), Stream());
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("cuMemcpy2DAsync"));
  EXPECT_THAT(reader.calls, ElementsAre("2d"));
}

TEST(GpuSurfaceTest, MemoryIsReusedAndFreed) {
  GpuDevice* const device = lazy_cuda::NewDevice();
  const int objects = lazy_cuda::Objects();
  {
    DeviceMemoryPool pool(device);
    DeviceMemory first = pool.Take(1000).value();
    const CUdeviceptr address = first.get();
    pool.Give(std::move(first), /*was_shown=*/false);
    DeviceMemory larger = pool.Take(1001).value();
    EXPECT_NE(larger.get(), address);
    DeviceMemory much_smaller = pool.Take(400).value();
    EXPECT_NE(much_smaller.get(), address);
    DeviceMemory again = pool.Take(600).value();
    EXPECT_EQ(again.get(), address);
    for (int i = 0; i < 40; ++i) {
      pool.Give(DeviceMemory::Allocate(device, 10).value(), /*was_shown=*/false);
    }
    EXPECT_LT(lazy_cuda::Objects() - objects, 25);
  }
  EXPECT_EQ(lazy_cuda::Objects(), objects);
}

TEST(GpuSurfaceTest, MemoryOfShownFramesIsReusedAfterASynchronize) {
  GpuDevice* const device = lazy_cuda::NewDevice();
  const int objects = lazy_cuda::Objects();
  lazy_cuda::TakeCalls();
  {
    DeviceMemoryPool pool(device);
    std::set<CUdeviceptr> used;
    // The caller frees each frame before the next one comes.
    for (int i = 0; i < 100; ++i) {
      DeviceMemory memory = pool.Take(1000).value();
      if (used.count(memory.get()) == 1) {
        EXPECT_THAT(lazy_cuda::TakeCalls(), ElementsAre("all done")) << "users of frame " << i;
        used.clear();
      }
      used.insert(memory.get());
      pool.Give(std::move(memory), /*was_shown=*/true);
    }
    EXPECT_LT(lazy_cuda::Objects() - objects, 25);
  }
  EXPECT_EQ(lazy_cuda::Objects(), objects);
}

TEST(GpuSurfaceTest, UsesTheCallersStreamAndKeepsIt) {
  GpuDevice* const device = lazy_cuda::NewDevice();
  const int objects = lazy_cuda::Objects();
  {
    const auto stream = BorrowedStream::Create(device, 32);
    ASSERT_TRUE(stream.ok());
    EXPECT_EQ(stream->get(), Stream());
    ASSERT_EQ(device->cuda().cuStreamWaitEvent(Stream(), nullptr, 0), CUDA_SUCCESS);
    EXPECT_TRUE(stream->Synchronize().ok());
    EXPECT_EQ(lazy_cuda::Pending(), 0u);
  }
  EXPECT_EQ(lazy_cuda::Objects(), objects);
}

}  // namespace
}  // namespace nvc
