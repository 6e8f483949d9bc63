#include "tf_nvcodec/core/convert/surface.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

// Returns the value of sample (x, y) of component c. Nearby samples differ at every depth.
int SampleAt(int c, int x, int y, int depth) {
  return (17 * x + 101 * y + 53 * c + 7) & ((1 << depth) - 1);
}

AvFramePtr MakeFrame(AVPixelFormat format, int width, int height) {
  AvFramePtr frame(av_frame_alloc());
  frame->format = format;
  frame->width = width;
  frame->height = height;
  EXPECT_EQ(av_frame_get_buffer(frame.get(), 64), 0);
  const AVPixFmtDescriptor* about = av_pix_fmt_desc_get(format);
  for (int c = 0; c < about->nb_components; ++c) {
    const bool chroma = c == 1 || c == 2;
    const int across = chroma ? AV_CEIL_RSHIFT(width, about->log2_chroma_w) : width;
    const int down = chroma ? AV_CEIL_RSHIFT(height, about->log2_chroma_h) : height;
    const AVComponentDescriptor& comp = about->comp[c];
    for (int y = 0; y < down; ++y) {
      for (int x = 0; x < across; ++x) {
        uint8_t* const to =
            frame->data[comp.plane] + y * frame->linesize[comp.plane] + x * comp.step + comp.offset;
        const int value = SampleAt(c, x, y, comp.depth) << comp.shift;
        *to = static_cast<uint8_t>(value);
        if (comp.depth > 8) to[1] = static_cast<uint8_t>(value >> 8);
      }
    }
  }
  return frame;
}

int Read(const std::vector<uint8_t>& bytes, const SurfaceLayout& layout, int plane, int x, int y,
         int channel) {
  const auto& part = layout.planes[static_cast<size_t>(plane)];
  const size_t at = part.offset + part.stride * static_cast<size_t>(y) +
                    static_cast<size_t>((x * part.channels + channel) * layout.sample_bytes);
  return layout.sample_bytes == 1 ? bytes[at] : bytes[at] | bytes[at + 1] << 8;
}

struct SurfaceCase {
  AVPixelFormat samples;
  SurfaceFormat format;
  int planes;
};

class SurfaceTest : public testing::TestWithParam<SurfaceCase> {};

TEST_P(SurfaceTest, EverySampleIsWhereItBelongs) {
  for (const auto& [width, height] : {std::pair(16, 8), std::pair(7, 5), std::pair(1, 1)}) {
    const AvFramePtr frame = MakeFrame(GetParam().samples, width, height);
    SurfaceWriter writer(SurfaceColor::kNative);
    const auto layout = writer.LayoutOf(*frame);
    ASSERT_TRUE(layout.ok()) << layout.status();
    EXPECT_EQ(layout->format, GetParam().format);
    ASSERT_EQ(layout->num_planes, GetParam().planes);
    std::vector<uint8_t> bytes(layout->bytes + 1, 0xee);
    ASSERT_TRUE(writer.Write(*frame, *layout, bytes.data()).ok());
    EXPECT_EQ(bytes[layout->bytes], 0xee);

    const AVPixFmtDescriptor* about = av_pix_fmt_desc_get(GetParam().samples);
    const bool gray = about->nb_components <= 2;
    const int depth = about->comp[0].depth;
    const int shift = 8 * layout->sample_bytes - depth;
    int plane = 0;
    for (int c = 0; c < 3; ++c) {
      const bool interleaved = c > 0 && layout->num_planes == 2;
      plane = interleaved ? 1 : c;
      const auto& part = layout->planes[static_cast<size_t>(plane)];
      EXPECT_EQ(part.channels, interleaved ? 2 : 1);
      for (int y = 0; y < part.height; ++y) {
        for (int x = 0; x < part.width; ++x) {
          const int wanted = gray && c > 0 ? 1 << (8 * layout->sample_bytes - 1)
                                           : SampleAt(c, x, y, depth) << shift;
          ASSERT_EQ(Read(bytes, *layout, plane, x, y, interleaved ? c - 1 : 0), wanted)
              << about->name << " " << c << " at " << x << ", " << y;
        }
      }
    }
    // As a tensor, the surface is [rows, width] with the rows of all planes.
    EXPECT_EQ(layout->num_dims, 2);
    EXPECT_EQ(layout->shape[1], width);
    EXPECT_EQ(static_cast<size_t>(layout->shape[0] * layout->strides[0] * layout->sample_bytes),
              layout->bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, SurfaceTest,
    testing::Values(SurfaceCase{AV_PIX_FMT_YUV420P, SurfaceFormat::kNv12, 2},
                    SurfaceCase{AV_PIX_FMT_YUVJ420P, SurfaceFormat::kNv12, 2},
                    SurfaceCase{AV_PIX_FMT_YUVA420P, SurfaceFormat::kNv12, 2},
                    SurfaceCase{AV_PIX_FMT_NV12, SurfaceFormat::kNv12, 2},
                    SurfaceCase{AV_PIX_FMT_NV21, SurfaceFormat::kNv12, 2},
                    SurfaceCase{AV_PIX_FMT_GRAY8, SurfaceFormat::kNv12, 2},
                    SurfaceCase{AV_PIX_FMT_YUV420P10LE, SurfaceFormat::kP016, 2},
                    SurfaceCase{AV_PIX_FMT_YUV420P12LE, SurfaceFormat::kP016, 2},
                    SurfaceCase{AV_PIX_FMT_YUV420P16LE, SurfaceFormat::kP016, 2},
                    SurfaceCase{AV_PIX_FMT_P010LE, SurfaceFormat::kP016, 2},
                    SurfaceCase{AV_PIX_FMT_GRAY12LE, SurfaceFormat::kP016, 2},
                    SurfaceCase{AV_PIX_FMT_YUV422P, SurfaceFormat::kNv16, 2},
                    SurfaceCase{AV_PIX_FMT_YUV422P10LE, SurfaceFormat::kP216, 2},
                    SurfaceCase{AV_PIX_FMT_YUV444P, SurfaceFormat::kYuv444, 3},
                    SurfaceCase{AV_PIX_FMT_YUV444P10LE, SurfaceFormat::kYuv444In16, 3},
                    SurfaceCase{AV_PIX_FMT_YUV444P12LE, SurfaceFormat::kYuv444In16, 3}));

TEST(SurfaceLayoutTest, Nv12OfEvenSizeHasNoGaps) {
  const auto layout = SurfaceLayout::Of(AV_PIX_FMT_YUV420P, SurfaceColor::kNative, 1920, 1080);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->bytes, 1920u * 1080 * 3 / 2);
  EXPECT_EQ(layout->shape[0], 1620);
  EXPECT_EQ(layout->planes[1].offset, 1920u * 1080);
  EXPECT_EQ(layout->planes[1].height, 540);
  EXPECT_EQ(layout->planes[1].width, 960);
}

TEST(SurfaceLayoutTest, RgbTakesAnySampleFormat) {
  const auto rows = SurfaceLayout::Of(AV_PIX_FMT_GBRP, SurfaceColor::kRgb, 7, 5);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->shape, (std::array<int64_t, 3>{5, 7, 3}));
  EXPECT_EQ(rows->strides, (std::array<int64_t, 3>{21, 3, 1}));
  const auto planes = SurfaceLayout::Of(AV_PIX_FMT_GBRP, SurfaceColor::kRgbPlanar, 7, 5);
  ASSERT_TRUE(planes.ok());
  EXPECT_EQ(planes->shape, (std::array<int64_t, 3>{3, 5, 7}));
  EXPECT_EQ(planes->bytes, 105u);
}

TEST(SurfaceLayoutTest, RefusesFormatsWithoutASurface) {
  for (const AVPixelFormat samples : {AV_PIX_FMT_GBRP, AV_PIX_FMT_YUV411P, AV_PIX_FMT_YUV440P,
                                      AV_PIX_FMT_PAL8, AV_PIX_FMT_YUYV422, AV_PIX_FMT_YUV420P10BE,
                                      AV_PIX_FMT_GRAYF32LE, AV_PIX_FMT_CUDA, AV_PIX_FMT_NONE}) {
    const auto layout = SurfaceLayout::Of(samples, SurfaceColor::kNative, 16, 16);
    EXPECT_TRUE(absl::IsUnimplemented(layout.status())) << samples;
  }
  EXPECT_FALSE(SurfaceLayout::Of(AV_PIX_FMT_YUV420P, SurfaceColor::kNative, 0, 16).ok());
  EXPECT_FALSE(SurfaceLayout::Of(AV_PIX_FMT_YUV420P, SurfaceColor::kNative, 1 << 20, 16).ok());
}

TEST(SurfaceWriterTest, FramesMayChangeTheirSize) {
  SurfaceWriter writer(SurfaceColor::kRgb);
  for (const auto& [width, height] : {std::pair(8, 4), std::pair(6, 6), std::pair(8, 4)}) {
    const AvFramePtr frame = MakeFrame(AV_PIX_FMT_YUV444P, width, height);
    const auto layout = writer.LayoutOf(*frame);
    ASSERT_TRUE(layout.ok());
    std::vector<uint8_t> bytes(layout->bytes);
    EXPECT_TRUE(writer.Write(*frame, *layout, bytes.data()).ok());
  }
}

}  // namespace
}  // namespace nvc
