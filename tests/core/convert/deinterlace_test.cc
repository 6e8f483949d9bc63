#include "tf_nvcodec/core/convert/deinterlace.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/convert_reference.h"
#include "tests/core/testing/orientations.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

using ::testing::HasSubstr;

OutputSpec Native(Deinterlace deinterlace) {
  OutputSpec output;
  output.pixel_format = PixelFormat::kNative;
  output.deinterlace = deinterlace;
  return output;
}

std::vector<uint8_t> Convert(const OutputSpec& output, const AVFrame& frame,
                             Orientation orientation = {}) {
  auto converter = FrameConverter::Create(output, SourceSpec::Of(frame, orientation));
  EXPECT_TRUE(converter.ok()) << converter.status();
  std::vector<uint8_t> out((*converter)->shape().bytes);
  const absl::Status converted = (*converter)->Convert(frame, out.data());
  EXPECT_TRUE(converted.ok()) << converted;
  return out;
}

struct Case {
  AVPixelFormat format;
  int bytes, shift;  // of a sample
};

// Computes the documented rule in float64: each row of the other field becomes the mean of the rows
// above and below it, rounded half up. `woven` is the frame as packed bytes.
std::vector<uint8_t> Reference(std::vector<uint8_t> woven, const AVFrame& frame, const Case& c,
                               bool top_first) {
  std::vector<uint8_t> out = woven;
  uint8_t* from[4];
  int stride[4];
  av_image_fill_arrays(from, stride, woven.data(), c.format, frame.width, frame.height, 1);
  for (int plane = 0; plane < av_pix_fmt_count_planes(c.format); ++plane) {
    const int log2 = plane % 3 == 0 ? 0 : av_pix_fmt_desc_get(c.format)->log2_chroma_h;
    const int rows = -((-frame.height) >> log2);
    const auto code = [&](int y, int x) -> double {
      const uint8_t* const at = from[plane] + y * stride[plane] + x;
      return c.bytes == 1 ? *at : std::floor((at[0] + 256.0 * at[1]) / std::exp2(c.shift));
    };
    for (int y = top_first ? 1 : 0; rows > 1 && y < rows; y += 2) {
      for (int x = 0; x < stride[plane]; x += c.bytes) {
        const int above = y > 0 ? y - 1 : 1, below = y + 1 < rows ? y + 1 : y - 1;
        const double mean = (code(above, x) + code(below, x)) / 2;
        const int value = static_cast<int>(std::floor(mean + 0.5) * std::exp2(c.shift));
        uint8_t* const to = &out[from[plane] + y * stride[plane] + x - woven.data()];
        to[0] = static_cast<uint8_t>(value & 0xff);
        if (c.bytes == 2) to[1] = static_cast<uint8_t>(value >> 8);
      }
    }
  }
  return out;
}

TEST(DeinterlaceTest, BobEqualsTheReferenceInEveryPlane) {
  const Case cases[] = {
      {AV_PIX_FMT_YUV420P, 1, 0},   {AV_PIX_FMT_YUV422P, 1, 0},   {AV_PIX_FMT_YUV444P, 1, 0},
      {AV_PIX_FMT_NV12, 1, 0},      {AV_PIX_FMT_GRAY8, 1, 0},     {AV_PIX_FMT_YUYV422, 1, 0},
      {AV_PIX_FMT_RGB24, 1, 0},     {AV_PIX_FMT_GBRP, 1, 0},      {AV_PIX_FMT_YUVA420P, 1, 0},
      {AV_PIX_FMT_YUV420P10, 2, 0}, {AV_PIX_FMT_YUV422P12, 2, 0}, {AV_PIX_FMT_P010, 2, 6},
  };
  for (const Case& c : cases) {
    for (const int height : {2, 6, 9, 18}) {
      for (const bool top_first : {true, false}) {
        TestFrame test(c.format, 14, height, static_cast<uint32_t>(height), /*padding=*/6);
        AVFrame& frame = test.frame();
        SetFields(true, top_first, &frame);
        const std::vector<uint8_t> woven = Convert(Native(Deinterlace::kNone), frame);
        const std::vector<uint8_t> want = Reference(woven, frame, c, top_first);
        EXPECT_EQ(Convert(Native(Deinterlace::kBob), frame), want)
            << av_get_pix_fmt_name(c.format) << " " << height << " " << top_first;
        EXPECT_NE(woven, want);
      }
    }
  }
}

TEST(DeinterlaceTest, ProgressiveFramesAreUnchanged) {
  TestFrame test(AV_PIX_FMT_YUV420P, 16, 10, 3);
  SetFields(false, true, &test.frame());  // means nothing in a progressive frame
  EXPECT_EQ(FirstKeptRow(test.frame()), -1);
  EXPECT_EQ(Convert(Native(Deinterlace::kBob), test.frame()),
            Convert(Native(Deinterlace::kNone), test.frame()));
}

TEST(DeinterlaceTest, APlaneOfOneRowIsUnchanged) {
  TestFrame test(AV_PIX_FMT_GRAY8, 16, 1, 3);
  SetFields(true, false, &test.frame());
  EXPECT_EQ(Convert(Native(Deinterlace::kBob), test.frame()),
            Convert(Native(Deinterlace::kNone), test.frame()));
}

// Crop, resize, orientation and colour conversion work on the progressive frame.
TEST(DeinterlaceTest, ComesBeforeOtherConversions) {
  TestFrame test(AV_PIX_FMT_YUV420P, 32, 24, 5);
  AVFrame& frame = test.frame();
  SetFields(true, false, &frame);
  std::vector<uint8_t> packed = Convert(Native(Deinterlace::kBob), frame);
  AVFrame progressive = frame;
  SetFields(false, false, &progressive);
  ASSERT_GE(av_image_fill_arrays(progressive.data, progressive.linesize, packed.data(),
                                 AV_PIX_FMT_YUV420P, 32, 24, 1),
            0);
  for (const PixelFormat format : {PixelFormat::kRgb, PixelFormat::kGray, PixelFormat::kNv12}) {
    for (const Orientation& orientation : {Orientation{}, kTurned90}) {
      for (const bool resized : {false, true}) {
        OutputSpec output;
        output.pixel_format = format;
        if (resized) {
          output.crop = Crop{2, 4, 12, 10};
          output.height = 8;
          output.width = 14;
        }
        const std::vector<uint8_t> want = Convert(output, progressive, orientation);
        output.deinterlace = Deinterlace::kBob;
        EXPECT_EQ(Convert(output, frame, orientation), want);
      }
    }
  }
}

TEST(DeinterlaceTest, OneConverterTakesProgressiveAndInterlacedFrames) {
  TestFrame test(AV_PIX_FMT_YUV420P10, 20, 12, 5);
  AVFrame& frame = test.frame();
  auto converter = FrameConverter::Create(Native(Deinterlace::kBob), SourceSpec::Of(frame));
  ASSERT_TRUE(converter.ok()) << converter.status();
  for (const int kind : {0, 1, 2, 0, 2, 1}) {
    SetFields(kind != 0, kind == 2, &frame);
    std::vector<uint8_t> out((*converter)->shape().bytes);
    ASSERT_TRUE((*converter)->Convert(frame, out.data()).ok());
    EXPECT_EQ(out, Convert(Native(Deinterlace::kBob), frame));
  }
}

TEST(DeinterlaceTest, NamesFormatsThatItRefuses) {
  for (const AVPixelFormat format : {AV_PIX_FMT_PAL8, AV_PIX_FMT_RGB565, AV_PIX_FMT_MONOWHITE}) {
    SourceSpec source;
    source.width = source.height = 16;
    source.format = format;
    const auto converter = FrameConverter::Create(Native(Deinterlace::kBob), source);
    EXPECT_EQ(converter.status().code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(converter.status().message()), HasSubstr(av_get_pix_fmt_name(format)));
  }
}

}  // namespace
}  // namespace nvc
