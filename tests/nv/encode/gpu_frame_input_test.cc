#include "tf_nvcodec/nv/encode/gpu_frame_input.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nv/testing/lazy_cuda.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

extern "C" {
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
}

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kWidth = 6, kHeight = 5;

std::vector<uint8_t> Numbered(size_t bytes) {
  std::vector<uint8_t> made(bytes);
  for (size_t i = 0; i < bytes; ++i) made[i] = static_cast<uint8_t>(i * 37 + (i >> 6));
  return made;
}

CUdeviceptr Address(const std::vector<uint8_t>& bytes, size_t offset = 0) {
  return reinterpret_cast<CUdeviceptr>(bytes.data() + offset);
}

// A GPU frame whose pool only tells the layout. Its rows are `pad` bytes longer than necessary.
struct PooledFrame {
  PooledFrame(AVPixelFormat layout, int pad) : frame(av_frame_alloc()) {
    AVBufferRef* const pool = av_buffer_allocz(sizeof(AVHWFramesContext));
    reinterpret_cast<AVHWFramesContext*>(pool->data)->sw_format = layout;
    frame->hw_frames_ctx = pool;
    frame->format = AV_PIX_FMT_CUDA;
    frame->width = kWidth;
    frame->height = kHeight;
    av_image_fill_linesizes(frame->linesize, layout, kWidth);
    for (int i = 0; i < av_pix_fmt_count_planes(layout); ++i) {
      frame->linesize[i] += pad;
      memory.emplace_back(static_cast<size_t>(frame->linesize[i] * kHeight), 0xee);
      frame->data[i] = memory.back().data();
    }
  }

  std::vector<uint8_t> Packed() const {
    const auto layout = reinterpret_cast<AVHWFramesContext*>(frame->hw_frames_ctx->data)->sw_format;
    std::vector<uint8_t> packed(
        static_cast<size_t>(av_image_get_buffer_size(layout, kWidth, kHeight, 1)));
    av_image_copy_to_buffer(packed.data(), static_cast<int>(packed.size()), frame->data,
                            frame->linesize, layout, kWidth, kHeight, 1);
    return packed;
  }

  AvFramePtr frame;
  std::vector<std::vector<uint8_t>> memory;
};

class GpuFrameInputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto input = GpuFrameInput::Create(lazy_cuda::NewDevice());
    ASSERT_TRUE(input.ok()) << input.status();
    input_ = *std::move(input);
    lazy_cuda::TakeCalls();
  }

  std::unique_ptr<GpuFrameInput> input_;
};

TEST_F(GpuFrameInputTest, PackedRowsGoToTheHostInOneCopy) {
  const std::vector<uint8_t> from = Numbered(60);
  std::vector<uint8_t> to(60);
  // The two planes lie one directly after the other.
  const GpuRows rows[] = {{Address(from), 8, 5, 8}, {Address(from, 40), 20, 1, 99}};
  ASSERT_TRUE(input_->CopyTo(to.data(), rows, to.size()).ok());
  EXPECT_EQ(to, from);
  EXPECT_THAT(lazy_cuda::TakeCalls(), ElementsAre("d2h", "record"));
}

TEST_F(GpuFrameInputTest, RowsWithAPitchAndPlanesApartArePackedOnTheGpu) {
  const std::vector<uint8_t> luma = Numbered(32 * 5), chroma = Numbered(16 * 3);
  std::vector<uint8_t> expected;
  for (int y = 0; y < 5; ++y) expected.insert(expected.end(), &luma[32 * y], &luma[32 * y + 6]);
  for (int y = 0; y < 3; ++y) expected.insert(expected.end(), &chroma[16 * y], &chroma[16 * y + 6]);
  const GpuRows rows[] = {{Address(luma), 6, 5, 32}, {Address(chroma), 6, 3, 16}};
  for (int again = 0; again < 2; ++again) {
    std::vector<uint8_t> to(expected.size());
    ASSERT_TRUE(input_->CopyTo(to.data(), rows, to.size()).ok());
    EXPECT_EQ(to, expected);
    EXPECT_THAT(lazy_cuda::TakeCalls(), ElementsAre("2d", "2d", "d2h", "record"));
  }
}

TEST_F(GpuFrameInputTest, ProducersComeFirst) {
  const auto producer = reinterpret_cast<CUstream>(uintptr_t{77});
  ASSERT_TRUE(input_->WaitFor(producer).ok());
  EXPECT_THAT(lazy_cuda::TakeCalls(), ElementsAre("record", "wait"));
}

TEST_F(GpuFrameInputTest, FramesOfEveryLayoutThatEncodersRead) {
  for (const AVPixelFormat layout : {AV_PIX_FMT_NV12, AV_PIX_FMT_P010LE, AV_PIX_FMT_YUV420P,
                                     AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV444P16LE}) {
    for (const size_t pad : {0, 10}) {
      PooledFrame pooled(layout, 64);
      const std::vector<uint8_t> expected = Numbered(pooled.Packed().size());
      // The frame comes as one block, or as rows of any length with a pitch.
      const size_t row = expected.size() % 5 == 0 ? expected.size() / 5 : expected.size();
      std::vector<uint8_t> from(expected.size() + 5 * pad);
      for (size_t i = 0; i < expected.size(); ++i)
        from[i / row * (row + pad) + i % row] = expected[i];
      const GpuRows rows[] = {{Address(from), row, expected.size() / row, row + pad}};
      ASSERT_TRUE(input_->CopyTo(pooled.frame.get(), rows).ok()) << layout;
      // All copies are done, and none goes through the host.
      EXPECT_EQ(lazy_cuda::Pending(), 0u);
      EXPECT_THAT(lazy_cuda::TakeCalls(), ::testing::Each("2d"));
      EXPECT_EQ(pooled.Packed(), expected) << layout;
      for (const std::vector<uint8_t>& plane : pooled.memory) EXPECT_EQ(plane.back(), 0xee);
    }
  }
}

TEST_F(GpuFrameInputTest, AnotherNumberOfBytesIsRefused) {
  const std::vector<uint8_t> from = Numbered(60);
  std::vector<uint8_t> to(61);
  const GpuRows rows[] = {{Address(from), 60, 1, 60}};
  const absl::Status status = input_->CopyTo(to.data(), rows, to.size());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has 61 bytes"));
  EXPECT_EQ(input_->CopyTo(to.data(), {}, 0).code(), absl::StatusCode::kInvalidArgument);
  PooledFrame pooled(AV_PIX_FMT_NV12, 0);
  EXPECT_EQ(input_->CopyTo(pooled.frame.get(), rows).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(lazy_cuda::TakeCalls(), ElementsAre());
}

TEST_F(GpuFrameInputTest, FailuresAreTold) {
  const std::vector<uint8_t> from = Numbered(100);
  std::vector<uint8_t> to(60);
  const GpuRows rows[] = {{Address(from), 10, 6, 16}};
  for (const char* function : {"cuMemAlloc", "2d", "d2h"}) {
    lazy_cuda::FailNext(function, kCudaOutOfMemory);
    EXPECT_EQ(input_->CopyTo(to.data(), rows, to.size()).code(),
              absl::StatusCode::kResourceExhausted)
        << function;
  }
  ASSERT_TRUE(input_->CopyTo(to.data(), rows, to.size()).ok());
  EXPECT_EQ(to[59], from[5 * 16 + 9]);
  PooledFrame pooled(AV_PIX_FMT_NV12, 0);
  const GpuRows frame[] = {{Address(from), 48, 1, 48}};
  lazy_cuda::FailNext("cuStreamSynchronize", kCudaOutOfMemory);
  EXPECT_FALSE(input_->CopyTo(pooled.frame.get(), frame).ok());
}

}  // namespace
}  // namespace nvc
