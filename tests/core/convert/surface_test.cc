#include "tf_nvcodec/core/convert/surface.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/testing/convert_reference.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

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
  int planes = 2;
};

void ExpectEverySampleWhereItBelongs(const SurfaceCase& expected, int width, int height) {
  const AVPixFmtDescriptor* about = av_pix_fmt_desc_get(expected.samples);
  SCOPED_TRACE(about->name);
  const TestFrame test(expected.samples, width, height, /*seed=*/5, /*padding=*/6);
  const AVFrame& frame = test.frame();
  SurfaceWriter writer(SurfaceColor::kNative);
  const auto layout = writer.LayoutOf(frame);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(layout->format, expected.format);
  ASSERT_EQ(layout->num_planes, expected.planes);
  std::vector<uint8_t> bytes(layout->bytes + 1, 0xee);
  ASSERT_TRUE(writer.Write(frame, *layout, bytes.data()).ok());
  EXPECT_EQ(bytes[layout->bytes], 0xee);

  const int bits = 8 * layout->sample_bytes;
  for (int c = 0; c < 3; ++c) {
    const bool interleaved = c > 0 && layout->num_planes == 2;
    const int plane = interleaved ? 1 : c;
    const auto& part = layout->planes[static_cast<size_t>(plane)];
    EXPECT_EQ(part.channels, interleaved ? 2 : 1);
    // Gray has the middle value for chroma.
    std::vector<uint16_t> row(static_cast<size_t>(part.width),
                              static_cast<uint16_t>(1 << (bits - 1)));
    int shift = 0;
    for (int y = 0; y < part.height; ++y) {
      if (c == 0 || about->nb_components > 2) {
        const uint8_t* planes[4] = {frame.data[0], frame.data[1], frame.data[2], frame.data[3]};
        av_read_image_line2(row.data(), planes, frame.linesize, about, 0, y, c, part.width, 0, 2);
        shift = bits - about->comp[0].depth;
      }
      for (int x = 0; x < part.width; ++x) {
        ASSERT_EQ(Read(bytes, *layout, plane, x, y, interleaved ? c - 1 : 0),
                  row[static_cast<size_t>(x)] << shift)
            << c << " at " << x << ", " << y;
      }
    }
  }
  // As a tensor, the surface is [rows, width] with the rows of all planes.
  EXPECT_EQ(layout->num_dims, 2);
  EXPECT_EQ(layout->shape[1], width);
  EXPECT_EQ(static_cast<size_t>(layout->shape[0] * layout->strides[0] * layout->sample_bytes),
            layout->bytes);
}

TEST(SurfaceTest, EverySampleIsWhereItBelongs) {
  const SurfaceCase cases[] = {{AV_PIX_FMT_YUV420P, SurfaceFormat::kNv12},
                               {AV_PIX_FMT_YUVJ420P, SurfaceFormat::kNv12},
                               {AV_PIX_FMT_YUVA420P, SurfaceFormat::kNv12},
                               {AV_PIX_FMT_NV12, SurfaceFormat::kNv12},
                               {AV_PIX_FMT_NV21, SurfaceFormat::kNv12},
                               {AV_PIX_FMT_GRAY8, SurfaceFormat::kNv12},
                               {AV_PIX_FMT_YUV420P10LE, SurfaceFormat::kP016},
                               {AV_PIX_FMT_YUV420P12LE, SurfaceFormat::kP016},
                               {AV_PIX_FMT_YUV420P16LE, SurfaceFormat::kP016},
                               {AV_PIX_FMT_P010LE, SurfaceFormat::kP016},
                               {AV_PIX_FMT_GRAY12LE, SurfaceFormat::kP016},
                               {AV_PIX_FMT_YUV422P, SurfaceFormat::kNv16},
                               {AV_PIX_FMT_YUV422P10LE, SurfaceFormat::kP216},
                               {AV_PIX_FMT_YUV444P, SurfaceFormat::kYuv444, 3},
                               {AV_PIX_FMT_YUV444P10LE, SurfaceFormat::kYuv444In16, 3},
                               {AV_PIX_FMT_YUV444P12LE, SurfaceFormat::kYuv444In16, 3}};
  for (const SurfaceCase& expected : cases) {
    for (const auto& [width, height] : {std::pair(16, 8), {7, 5}, {1, 1}}) {
      ExpectEverySampleWhereItBelongs(expected, width, height);
    }
  }
}

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
    const TestFrame test(AV_PIX_FMT_YUV444P, width, height, /*seed=*/5);
    const auto layout = writer.LayoutOf(test.frame());
    ASSERT_TRUE(layout.ok());
    std::vector<uint8_t> bytes(layout->bytes);
    EXPECT_TRUE(writer.Write(test.frame(), *layout, bytes.data()).ok());
  }
}

}  // namespace
}  // namespace nvc
