// Tests devices in CUDA contexts and streams that a caller created and may destroy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

#include "tests/nv/testing/nvdec_fake.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/nv/convert/gpu_surface.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"
#include "tf_nvcodec/nv/decode/nvdec_decoder.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CallerContextTest : public ::testing::Test {
 protected:
  // Returns a handle that, like real ones, is a valid address.
  template <typename Handle>
  static Handle HandleAt(uint64_t* place) {
    return reinterpret_cast<Handle>(place);
  }
  CUcontext Context(uint64_t* place, unsigned long long id) {
    const auto context = HandleAt<CUcontext>(place);
    gpu_.foreign[context] = {id, gpu_.device()->ordinal()};
    return context;
  }
  absl::Status StatusOf(CUcontext context) { return gpu_.device()->InContext(context).status(); }

  std::unique_ptr<Decoder> Open(GpuDevice* device) {
    AvCodecParametersPtr parameters(avcodec_parameters_alloc());
    parameters->codec_type = AVMEDIA_TYPE_VIDEO;
    parameters->codec_id = AV_CODEC_ID_VP8;
    return OpenNvdecDecoder(device, *parameters, {1, 25}, {}).value();
  }
  static absl::Status Send(Decoder* decoder, const std::string& words) {
    AvPacketPtr packet(av_packet_alloc());
    av_new_packet(packet.get(), static_cast<int>(words.size()));
    std::memcpy(packet->data, words.data(), words.size());
    return decoder->Send(packet.get());
  }

  uint64_t places_[4] = {};
  FakeGpu gpu_;
};

TEST(ReadableAddressTest, TellsWhatIsThere) {
  const int value = 0;
  EXPECT_TRUE(IsReadable(&value));
  iovec here = {const_cast<int*>(&value), sizeof(value)}, copy = here;
  int other = 0;
  copy.iov_base = &other;
  if (process_vm_readv(getpid(), &copy, 1, &here, 1, 0) < 0) {
    GTEST_SKIP() << "forbidden here, so nothing can be told";
  }
  EXPECT_FALSE(IsReadable(reinterpret_cast<const void*>(uintptr_t{12345})));
  EXPECT_FALSE(IsReadable(nullptr));
}

TEST_F(CallerContextTest, IsTheSameGpuInAnotherContext) {
  const CUcontext context = Context(&places_[0], 7);
  GpuDevice* const device = gpu_.device()->InContext(context).value();
  EXPECT_NE(device, gpu_.device());
  EXPECT_EQ(device->context(), context);
  EXPECT_TRUE(device->is_of_caller());
  EXPECT_EQ(device->ordinal(), gpu_.device()->ordinal());
  EXPECT_EQ(device->name(), gpu_.device()->name());
  EXPECT_EQ(device->compute_capability(), 90);
  EXPECT_EQ(device->total_memory(), gpu_.device()->total_memory());
  EXPECT_EQ(gpu_.device()->InContext(context).value(), device);

  EXPECT_EQ(gpu_.device()->InContext(gpu_.device()->context()).value(), gpu_.device());
  EXPECT_FALSE(gpu_.device()->is_of_caller());
}

TEST_F(CallerContextTest, WhatIsNoContextIsRefused) {
  for (const auto context :
       {reinterpret_cast<CUcontext>(uintptr_t{12345}), HandleAt<CUcontext>(&places_[3])}) {
    const absl::Status status = StatusOf(context);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("is no CUDA context, or one that was destroyed"));
  }
  const CUcontext elsewhere = Context(&places_[0], 7);
  gpu_.foreign[elsewhere].ordinal += 1;
  const absl::Status status = StatusOf(elsewhere);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("is of another GPU than GPU"));
}

TEST_F(CallerContextTest, AContextAtTheSameAddressIsAnotherOne) {
  const CUcontext context = Context(&places_[0], 7);
  GpuDevice* const device = gpu_.device()->InContext(context).value();
  gpu_.foreign[context].id = 8;
  EXPECT_TRUE(absl::IsFailedPrecondition(ScopedContext(*device).status()));
  EXPECT_NE(gpu_.device()->InContext(context).value(), device);
}

TEST_F(CallerContextTest, WhatWasMadeInItIsLeftAloneOnceItIsDestroyed) {
  const CUcontext context = Context(&places_[0], 7);
  GpuDevice* const device = gpu_.device()->InContext(context).value();
  {
    const DeviceMemory memory = DeviceMemory::Allocate(device, 64).value();
    const CudaStream stream = CudaStream::Create(device).value();
    gpu_.foreign.clear();
    const absl::Status status = stream.Synchronize();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("the CUDA context that was given is destroyed"));
  }
  EXPECT_EQ(gpu_.open["memory"].size(), 1u);  // freed with the context
  EXPECT_EQ(gpu_.open["stream"].size(), 1u);
  gpu_.open.clear();
}

TEST_F(CallerContextTest, DecodesThereAndKeepsNothing) {
  GpuDevice* const device = gpu_.device()->InContext(Context(&places_[0], 7)).value();
  {
    const std::unique_ptr<Decoder> decoder = Open(device);
    gpu_.used.clear();
    ASSERT_TRUE(Send(decoder.get(), "S96x64 I0 D0").ok());
    ASSERT_TRUE(decoder->Send(nullptr).ok());
    AvFramePtr frame(av_frame_alloc());
    ASSERT_TRUE(decoder->Receive(frame.get()).value());
    EXPECT_EQ(GpuPictureOf(*frame)->device, device);
  }
  EXPECT_THAT(gpu_.used, ElementsAre(device->context()));
  EXPECT_EQ(gpu_.Count("DestroyDecoder"), 1);
  EXPECT_EQ(NvdecPool::Of(device).value()->stats().idle, 0);
}

TEST_F(CallerContextTest, DestroyedInTheMiddleOfDecoding) {
  GpuDevice* const device = gpu_.device()->InContext(Context(&places_[0], 7)).value();
  {
    const std::unique_ptr<Decoder> decoder = Open(device);
    ASSERT_TRUE(Send(decoder.get(), "S96x64 I0 D0").ok());
    gpu_.foreign.clear();
    const absl::Status status = Send(decoder.get(), "P1 D1");
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::IsFailedPrecondition(decoder->Send(nullptr)));
  }
  EXPECT_EQ(gpu_.Count("DestroyDecoder"), 0);
  EXPECT_EQ(gpu_.Count("DestroyParser"), 0);
  gpu_.open.clear();
}

TEST_F(CallerContextTest, StreamsAreOfTheContext) {
  const CUcontext context = Context(&places_[0], 7);
  GpuDevice* const device = gpu_.device()->InContext(context).value();
  const auto stream = HandleAt<CUstream>(&places_[1]);
  const auto handle = reinterpret_cast<uint64_t>(stream);
  gpu_.streams[stream] = context;
  EXPECT_TRUE(BorrowedStream::Check(device, handle).ok());
  for (const uint64_t named : {0, 1, 2}) {
    EXPECT_TRUE(BorrowedStream::Check(device, named).ok());
  }
  const absl::Status elsewhere = BorrowedStream::Check(gpu_.device(), handle);
  EXPECT_TRUE(absl::IsInvalidArgument(elsewhere)) << elsewhere;
  EXPECT_THAT(elsewhere.message(), HasSubstr("of another context than the primary one"));
  for (const uint64_t nonsense : {uint64_t{12345}, reinterpret_cast<uint64_t>(&places_[2])}) {
    const absl::Status status = BorrowedStream::Check(device, nonsense);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("is no CUDA stream"));
  }
}

}  // namespace
}  // namespace nvc
