#include "tf_nvcodec/core/convert/deinterlace.h"

#include <cmath>
#include <cstring>
#include <memory>
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

// Where a plane lies in a packed frame.
struct Place {
  size_t plane;  // the first byte
  size_t row_bytes;
  int rows;
};

std::vector<Place> Planes(const AVFrame& frame) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  const AVPixFmtDescriptor* const described = av_pix_fmt_desc_get(format);
  std::vector<Place> planes;
  size_t at = 0;
  for (int i = 0; i < av_pix_fmt_count_planes(format); ++i) {
    const int log2 = i == 1 || i == 2 ? described->log2_chroma_h : 0;
    const auto bytes = static_cast<size_t>(av_image_get_linesize(format, frame.width, i));
    const int rows = -((-frame.height) >> log2);
    planes.push_back({at, bytes, rows});
    at += bytes * static_cast<size_t>(rows);
  }
  return planes;
}

// Computes the documented rule in float64: each row of the other field becomes the mean of the rows
// above and below it, rounded half up.
std::vector<uint8_t> Reference(std::vector<uint8_t> frame, const std::vector<Place>& planes,
                               bool top_first, int bytes, int shift) {
  const std::vector<uint8_t> woven = frame;
  const auto code = [&](const Place& plane, int y, size_t x) -> double {
    const uint8_t* const at =
        woven.data() + plane.plane + static_cast<size_t>(y) * plane.row_bytes + x * bytes;
    return bytes == 1 ? *at : std::floor((at[0] + 256.0 * at[1]) / std::exp2(shift));
  };
  for (const Place& plane : planes) {
    if (plane.rows == 1) continue;
    for (int y = top_first ? 1 : 0; y < plane.rows; y += 2) {
      for (size_t x = 0; x < plane.row_bytes / static_cast<size_t>(bytes); ++x) {
        double sum = 0, count = 0;
        for (const int neighbour : {y - 1, y + 1}) {
          if (neighbour < 0 || neighbour >= plane.rows) continue;
          sum += code(plane, neighbour, x);
          ++count;
        }
        const auto value = static_cast<int>(std::floor(sum / count + 0.5) * std::exp2(shift));
        uint8_t* const out =
            frame.data() + plane.plane + static_cast<size_t>(y) * plane.row_bytes + x * bytes;
        out[0] = static_cast<uint8_t>(value & 0xff);
        if (bytes == 2) out[1] = static_cast<uint8_t>(value >> 8);
      }
    }
  }
  return frame;
}

struct Case {
  AVPixelFormat format;
  int bytes, shift;
};

TEST(DeinterlaceTest, BobEqualsTheReferenceInEveryPlane) {
  const Case cases[] = {
      {AV_PIX_FMT_YUV420P, 1, 0},   {AV_PIX_FMT_YUV422P, 1, 0},   {AV_PIX_FMT_YUV444P, 1, 0},
      {AV_PIX_FMT_NV12, 1, 0},      {AV_PIX_FMT_GRAY8, 1, 0},     {AV_PIX_FMT_YUYV422, 1, 0},
      {AV_PIX_FMT_RGB24, 1, 0},     {AV_PIX_FMT_GBRP, 1, 0},      {AV_PIX_FMT_YUVA420P, 1, 0},
      {AV_PIX_FMT_YUV420P10, 2, 0}, {AV_PIX_FMT_YUV422P12, 2, 0}, {AV_PIX_FMT_P010, 2, 6},
  };
  for (const auto& [format, bytes, shift] : cases) {
    for (const int height : {2, 6, 9, 18}) {
      for (const bool top_first : {true, false}) {
        TestFrame test(format, 14, height, static_cast<uint32_t>(height), /*padding=*/6);
        AVFrame& frame = test.frame();
        SetFields(true, top_first, &frame);
        const std::vector<uint8_t> woven = Convert(Native(Deinterlace::kNone), frame);
        const std::vector<uint8_t> want = Reference(woven, Planes(frame), top_first, bytes, shift);
        EXPECT_EQ(Convert(Native(Deinterlace::kBob), frame), want)
            << av_get_pix_fmt_name(format) << " " << height << " " << top_first;
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

// Broadcasts attach side data, such as captions and time codes, to every frame. The converter must
// not pile it up from frame to frame.
TEST(DeinterlaceTest, KeepsTheSideDataOfOneFrameOnly) {
  struct Counter : FrameConverter {
    Counter(const SourceSpec& source, std::vector<int>* counts)
        : FrameConverter(source, FrameShape()), counts(counts) {}
    absl::Status Convert(const AVFrame& frame, void*) override {
      counts->push_back(frame.nb_side_data);
      counts->push_back(av_dict_count(frame.metadata));
      return absl::OkStatus();
    }
    std::vector<int>* const counts;
  };
  TestFrame test(AV_PIX_FMT_YUV420P, 16, 8, 5);
  AVFrame& frame = test.frame();
  SetFields(true, false, &frame);
  std::vector<int> counts;
  auto bob = NewBobConverter(std::make_unique<Counter>(SourceSpec::Of(frame), &counts));
  ASSERT_TRUE(bob.ok()) << bob.status();
  for (const char* const key : {"a", "b"}) {
    ASSERT_NE(av_frame_new_side_data(&frame, AV_FRAME_DATA_A53_CC, 6), nullptr);
    ASSERT_GE(av_dict_set(&frame.metadata, key, "1", 0), 0);
    EXPECT_TRUE((*bob)->Convert(frame, nullptr).ok());
    EXPECT_TRUE((*bob)->Convert(frame, nullptr).ok());
    av_frame_remove_side_data(&frame, AV_FRAME_DATA_A53_CC);
    av_dict_free(&frame.metadata);
  }
  EXPECT_EQ(counts, (std::vector<int>{1, 1, 1, 1, 1, 1, 1, 1}));
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

TEST(DeinterlaceTest, ParsesNames) {
  EXPECT_EQ(*ParseDeinterlace("none"), Deinterlace::kNone);
  EXPECT_EQ(*ParseDeinterlace("bob"), Deinterlace::kBob);
  EXPECT_THAT(std::string(ParseDeinterlace("weave").status().message()), HasSubstr("none, bob"));
}

}  // namespace
}  // namespace nvc
