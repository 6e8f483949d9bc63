#include "tf_nvcodec/nv/convert/gpu_surface.h"

#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace nvc {
namespace {

constexpr auto kOk = static_cast<CUresult>(0);

// A fake driver whose device memory is host memory and whose calls take effect at once.
struct HostGpu {
  static inline std::vector<std::string> calls;
  static inline size_t allocated = 0;
  static inline CUresult next_copy = kOk;

  static const CudaDriver& Tables() {
    static const auto* const tables = [] {
      auto* const cuda = new CudaDriver;
      cuda->cuGetErrorName = [](CUresult, const char** name) {
        *name = "CUDA_ERROR";
        return kOk;
      };
      cuda->cuGetErrorString = [](CUresult, const char** text) {
        *text = "an error";
        return kOk;
      };
      cuda->cuDeviceGet = [](CUdevice* device, int) {
        *device = 0;
        return kOk;
      };
      cuda->cuDeviceGetName = [](char* name, int length, CUdevice) {
        std::strncpy(name, "Host", static_cast<size_t>(length));
        return kOk;
      };
      cuda->cuDeviceGetCount = [](int* count) {
        *count = 1;
        return kOk;
      };
      cuda->cuDeviceGetAttribute = [](int* value, CUdevice_attribute, CUdevice) {
        *value = 9;
        return kOk;
      };
      cuda->cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) {
        *context = reinterpret_cast<CUcontext>(uintptr_t{1});
        return kOk;
      };
      cuda->cuCtxPushCurrent = [](CUcontext) { return kOk; };
      cuda->cuCtxPopCurrent = [](CUcontext*) { return kOk; };
      cuda->cuCtxSynchronize = [] {
        calls.push_back("all done");
        return kOk;
      };
      cuda->cuMemGetInfo = [](size_t* free, size_t* total) {
        *free = *total = size_t{1} << 30;
        return kOk;
      };
      cuda->cuMemAlloc = [](CUdeviceptr* memory, size_t bytes) {
        ++allocated;
        *memory = reinterpret_cast<CUdeviceptr>(new char[bytes]);
        return kOk;
      };
      cuda->cuMemFree = [](CUdeviceptr memory) {
        --allocated;
        delete[] reinterpret_cast<char*>(memory);
        return kOk;
      };
      cuda->cuStreamWaitEvent = [](CUstream, CUevent, unsigned int) {
        calls.push_back("wait");
        return kOk;
      };
      cuda->cuStreamSynchronize = [](CUstream) {
        calls.push_back("synchronize");
        return kOk;
      };
      cuda->cuMemcpy2DAsync = [](const CUDA_MEMCPY2D* copy, CUstream) {
        calls.push_back("copy");
        for (size_t y = 0; y < copy->Height; ++y) {
          std::memcpy(reinterpret_cast<char*>(copy->dstDevice) + y * copy->dstPitch,
                      reinterpret_cast<const char*>(copy->srcDevice) + y * copy->srcPitch,
                      copy->WidthInBytes);
        }
        return std::exchange(next_copy, kOk);
      };
      return cuda;
    }();
    return *tables;
  }

  static GpuDevice* Device() {
    static GpuDevice* const device =
        GpuDevice::Make(&Tables(), absl::FailedPreconditionError("no NVDEC"), 0).value();
    calls.clear();
    return device;
  }
};

struct Reader : GpuPictureOwner {
  absl::Status UsedOn(CUstream stream) override {
    HostGpu::calls.push_back("used");
    return absl::OkStatus();
  }
};

TEST(GpuSurfaceTest, CopiesTheDisplayedAreaWithoutThePitch) {
  GpuDevice* const device = HostGpu::Device();
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
    HostGpu::calls.clear();
    ASSERT_TRUE(
        CopyPicture(picture, layout, reinterpret_cast<CUdeviceptr>(out.data()), nullptr).ok());
    EXPECT_EQ(HostGpu::calls, (std::vector<std::string>{"wait", "copy", "copy", "used"}));
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
  GpuDevice* const device = HostGpu::Device();
  const auto layout = SurfaceLayout::Of(AV_PIX_FMT_NV12, SurfaceColor::kNative, 4, 4).value();
  std::vector<uint8_t> coded(64), out(layout.bytes);
  Reader reader;
  GpuPicture picture;
  picture.device = device;
  picture.pitch = 8;
  picture.owner = &reader;
  picture.planes[0] = picture.planes[1] = reinterpret_cast<CUdeviceptr>(coded.data());
  HostGpu::next_copy = static_cast<CUresult>(kCudaInvalidValue);
  const absl::Status status =
      CopyPicture(picture, layout, reinterpret_cast<CUdeviceptr>(out.data()), nullptr);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("cuMemcpy2DAsync"), std::string::npos);
  EXPECT_EQ(HostGpu::calls, (std::vector<std::string>{"copy", "used"}));
}

TEST(GpuSurfaceTest, MemoryIsReusedAndFreed) {
  GpuDevice* const device = HostGpu::Device();
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
    EXPECT_LT(HostGpu::allocated, 25u);
  }
  EXPECT_EQ(HostGpu::allocated, 0u);
}

TEST(GpuSurfaceTest, MemoryThatOthersSawIsReusedOnceTheContextIsDone) {
  GpuDevice* const device = HostGpu::Device();
  {
    DeviceMemoryPool pool(device);
    std::set<CUdeviceptr> used;
    // The caller frees each frame before the next one comes.
    for (int i = 0; i < 100; ++i) {
      DeviceMemory memory = pool.Take(1000).value();
      if (used.count(memory.get()) == 1) {
        EXPECT_FALSE(HostGpu::calls.empty()) << "nobody waited for the users of frame " << i;
        used.clear();
        HostGpu::calls.clear();
      }
      used.insert(memory.get());
      pool.Give(std::move(memory), /*was_shown=*/true);
    }
    EXPECT_LT(HostGpu::allocated, 25u);
  }
  EXPECT_EQ(HostGpu::allocated, 0u);
}

TEST(GpuSurfaceTest, TheCallersStreamIsTakenAndLeft) {
  GpuDevice* const device = HostGpu::Device();
  {
    const auto stream = BorrowedStream::Create(device, 77);
    ASSERT_TRUE(stream.ok());
    EXPECT_EQ(stream->get(), reinterpret_cast<CUstream>(uintptr_t{77}));
    EXPECT_TRUE(stream->Synchronize().ok());
  }
  EXPECT_EQ(HostGpu::calls, (std::vector<std::string>{"synchronize"}));
}

}  // namespace
}  // namespace nvc
