#include "tf_nvcodec/core/encode/frame_loader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tf_nvcodec/core/format/color.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

struct Size {
  int width, height;
};

int Sample(const AVFrame& frame, int component, int x, int y) {
  const AVComponentDescriptor& c =
      av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format))->comp[component];
  const uint8_t* const at =
      frame.data[c.plane] + y * frame.linesize[c.plane] + x * c.step + c.offset;
  if (c.depth <= 8) return *at;
  uint16_t value;
  std::memcpy(&value, at, sizeof(value));
  return value >> c.shift;
}

// Makes two random frames of any format and knows the value of each sample.
class Frames {
 public:
  Frames(PixelFormat format, SampleType type, Size size) {
    batch.pixel_format = format;
    batch.sample_type = type;
    batch.width = size.width;
    batch.height = size.height;
    batch.count = 2;
    batch.frame_bytes = *FrameBytes(format, type, size.height, size.width);
    memory_.resize(batch.frame_bytes * batch.count);
    std::mt19937 generator(3);
    if (type == SampleType::kFloat32) {
      std::uniform_real_distribution<float> any(-0.1f, 1.1f);
      auto* const floats = reinterpret_cast<float*>(memory_.data());
      std::generate_n(floats, memory_.size() / 4, [&] { return any(generator); });
    } else if (type == SampleType::kFloat16) {
      std::uniform_int_distribution<int> any(0, 0x3c00);  // halfs from 0 to 1
      auto* const halves = reinterpret_cast<uint16_t*>(memory_.data());
      std::generate_n(halves, memory_.size() / 2, [&] { return any(generator); });
    } else {
      for (uint8_t& byte : memory_) byte = static_cast<uint8_t>(generator());
    }
    if (type == SampleType::kUint8 && Channels(format) == 3) AddExtremes();
    if (format == PixelFormat::kP010) {
      for (size_t i = 0; i < memory_.size(); i += 2) memory_[i] &= 0xc0;
    }
    batch.data = memory_.data();
    packed_.format = RawVideoFormat(format);
    if (packed_.format == AV_PIX_FMT_NONE) return;
    av_image_fill_arrays(packed_.data, packed_.linesize, &memory_[batch.frame_bytes],
                         RawVideoFormat(format), size.width, size.height, 1);
  }

  // Returns what pixel (x, y) of frame 1 gives to a component of the stream, not rounded.
  double Exact(const StreamSpec& spec, int component, int x, int y) const {
    const AVPixFmtDescriptor& to = *av_pix_fmt_desc_get(spec.format);
    const double levels = 1 << to.comp[0].depth;
    if (Channels(batch.pixel_format) == 0) {
      const AVPixFmtDescriptor& from = *av_pix_fmt_desc_get(RawVideoFormat(batch.pixel_format));
      const double code = Sample(packed_, component, x >> (component > 0 ? from.log2_chroma_w : 0),
                                 y >> (component > 0 ? from.log2_chroma_h : 0));
      const double from_levels = 1 << from.comp[0].depth;
      if (spec.color_range == ColorRange::kLimited) return code * levels / from_levels;
      const double middle = component == 0 ? 0 : 0.5;
      return (code - middle * from_levels) * (levels - 1) / (from_levels - 1) + middle * levels;
    }
    if ((to.flags & AV_PIX_FMT_FLAG_RGB) != 0) return Channel(x, y, component) * (levels - 1);
    const RgbToYuv matrix = MakeRgbToYuv(spec.color_space, spec.color_range, to.comp[0].depth);
    double code = matrix.offset[component];
    for (int c = 0; c < 3; ++c) code += matrix.matrix[component][c] * Channel(x, y, c);
    return code;
  }

  FrameBatch batch;

 private:
  // Makes one pixel in four gray, and one black, white or a pure colour.
  void AddExtremes() {
    for (size_t i = 0; i + 12 <= memory_.size(); i += 12) {
      memory_[i + 1] = memory_[i + 2] = memory_[i];
      for (size_t k = 3; k < 6; ++k) memory_[i + k] = memory_[i + k] > 127 ? 255 : 0;
    }
  }

  // Returns channel c (in R, G, B order) of a pixel of frame 1. White is 1.
  double Channel(int x, int y, int c) const {
    const int channels = Channels(batch.pixel_format);
    if (channels == 1) c = 0;
    if (batch.pixel_format == PixelFormat::kBgr) c = 2 - c;
    const size_t sample = (static_cast<size_t>(y) * batch.width + x) * channels + c;
    const void* const frame = batch.Frame(1);
    switch (batch.sample_type) {
      case SampleType::kUint8:
        return static_cast<const uint8_t*>(frame)[sample] / 255.0;
      case SampleType::kUint16:
        return static_cast<const uint16_t*>(frame)[sample] / 65535.0;
      case SampleType::kFloat16: {
        const int bits = static_cast<const uint16_t*>(frame)[sample];
        const int exponent = bits >> 10, mantissa = bits & 0x3ff;
        return exponent == 0 ? std::ldexp(mantissa, -24)
                             : std::ldexp(1024 + mantissa, exponent - 25);
      }
      default:
        return static_cast<const float*>(frame)[sample];
    }
  }

  std::vector<uint8_t> memory_;
  AVFrame packed_ = {};  // frame 1, if it is YUV
};

StreamSpec Spec(AVPixelFormat format, Size size, ColorSpace space = ColorSpace::kBt709,
                ColorRange range = ColorRange::kLimited) {
  StreamSpec spec;
  spec.format = spec.encoder_format = format;
  spec.width = size.width;
  spec.height = size.height;
  spec.color_space = space;
  spec.color_range = range;
  return spec;
}

// Loads frame 1 and compares each sample with the mean of what the pixels that it covers give to
// it. Rounding adds half a code value, and arithmetic in fixed point a little more.
void ExpectReference(PixelFormat input, SampleType type, const StreamSpec& spec,
                     double tolerance = 0.54) {
  const Frames frames(input, type, {spec.width, spec.height});
  const auto loader = FrameLoader::Create(frames.batch, spec);
  ASSERT_TRUE(loader.ok()) << loader.status();
  const auto frame = (*loader)->Load(1);
  ASSERT_TRUE(frame.ok()) << frame.status();
  const AVPixFmtDescriptor& format = *av_pix_fmt_desc_get(spec.format);
  const double highest = (1 << format.comp[0].depth) - 1;
  double worst = 0;
  for (int c = 0; c < format.nb_components; ++c) {
    const bool chroma = c > 0 && (format.flags & AV_PIX_FMT_FLAG_RGB) == 0;
    const int log2_w = chroma ? format.log2_chroma_w : 0;
    const int log2_h = chroma ? format.log2_chroma_h : 0;
    for (int y = 0; y < AV_CEIL_RSHIFT(spec.height, log2_h); ++y) {
      for (int x = 0; x < AV_CEIL_RSHIFT(spec.width, log2_w); ++x) {
        double sum = 0;
        int pixels = 0;
        for (int v = y << log2_h; v < std::min((y + 1) << log2_h, spec.height); ++v) {
          for (int u = x << log2_w; u < std::min((x + 1) << log2_w, spec.width); ++u, ++pixels) {
            sum += frames.Exact(spec, c, u, v);
          }
        }
        const double want = std::clamp(sum / pixels, 0.0, highest);
        worst = std::max(worst, std::abs(Sample(**frame, c, x, y) - want));
      }
    }
  }
  EXPECT_LE(worst, tolerance) << Name(input) << " " << Name(type) << " to " << format.name << " "
                              << spec.width << "x" << spec.height << " " << Name(spec.color_space)
                              << " " << Name(spec.color_range);
}

constexpr AVPixelFormat kYuvFormats[] = {
    AV_PIX_FMT_YUV420P,   AV_PIX_FMT_YUV422P,   AV_PIX_FMT_YUV444P,   AV_PIX_FMT_YUV420P10,
    AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P10, AV_PIX_FMT_YUV420P12, AV_PIX_FMT_YUV422P12,
    AV_PIX_FMT_YUV444P12, AV_PIX_FMT_GRAY8,     AV_PIX_FMT_GRAY10,    AV_PIX_FMT_GRAY16,
};
constexpr SampleType kTypes[] = {SampleType::kUint8, SampleType::kUint16, SampleType::kFloat16,
                                 SampleType::kFloat32};

TEST(FrameLoaderTest, RgbToEveryYuvFormat) {
  for (const AVPixelFormat format : kYuvFormats) {
    for (const SampleType type : kTypes) {
      for (const PixelFormat input : {PixelFormat::kRgb, PixelFormat::kBgr, PixelFormat::kGray}) {
        ExpectReference(input, type, Spec(format, {34, 18}));
      }
    }
  }
}

TEST(FrameLoaderTest, EveryMatrixAndRange) {
  for (const ColorSpace space : {ColorSpace::kBt601, ColorSpace::kBt709, ColorSpace::kBt2020}) {
    for (const ColorRange range : {ColorRange::kLimited, ColorRange::kFull}) {
      for (const SampleType type : {SampleType::kUint8, SampleType::kFloat32}) {
        for (const AVPixelFormat format :
             {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV444P12}) {
          ExpectReference(PixelFormat::kRgb, type, Spec(format, {300, 30}, space, range));
        }
      }
    }
  }
}

TEST(FrameLoaderTest, OddSizes) {
  for (const Size size : {Size{1, 1}, {1, 5}, {5, 1}, {33, 17}, {17, 34}, {16, 3}, {255, 3}}) {
    for (const AVPixelFormat format :
         {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV420P10}) {
      ExpectReference(PixelFormat::kRgb, SampleType::kUint8, Spec(format, size));
      ExpectReference(PixelFormat::kBgr, SampleType::kFloat16, Spec(format, size));
      ExpectReference(PixelFormat::kGray, SampleType::kUint8, Spec(format, size));
    }
  }
}

TEST(FrameLoaderTest, RgbStreams) {
  for (const AVPixelFormat format : {AV_PIX_FMT_GBRP, AV_PIX_FMT_GBRP10, AV_PIX_FMT_GBRP12,
                                     AV_PIX_FMT_GBRP16, AV_PIX_FMT_BGR0, AV_PIX_FMT_RGB24}) {
    const StreamSpec spec = Spec(format, {19, 7}, ColorSpace::kBt601, ColorRange::kFull);
    for (const SampleType type : kTypes) {
      ExpectReference(PixelFormat::kBgr, type, spec);
      ExpectReference(PixelFormat::kGray, type, spec);
    }
  }
}

TEST(FrameLoaderTest, SameDepthIsExact) {
  for (const auto& [type, format] : {std::pair{SampleType::kUint8, AV_PIX_FMT_BGR0},
                                     {SampleType::kUint8, AV_PIX_FMT_GBRP},
                                     {SampleType::kUint16, AV_PIX_FMT_GBRP16}}) {
    ExpectReference(PixelFormat::kRgb, type, Spec(format, {37, 11}), /*tolerance=*/1e-6);
  }
}

TEST(FrameLoaderTest, FramesOfTheRightLayoutAreNotCopied) {
  struct Case {
    PixelFormat input;
    AVPixelFormat format;
    ColorRange range = ColorRange::kLimited;
    bool copied = false;
  };
  const Case cases[] = {{PixelFormat::kYuv420p, AV_PIX_FMT_YUV420P},
                        {PixelFormat::kYuv444p, AV_PIX_FMT_YUV444P},
                        {PixelFormat::kNv12, AV_PIX_FMT_NV12},
                        {PixelFormat::kRgb, AV_PIX_FMT_RGB24},
                        {PixelFormat::kBgr, AV_PIX_FMT_BGR24},
                        {PixelFormat::kNv12, AV_PIX_FMT_GRAY8},
                        {PixelFormat::kGray, AV_PIX_FMT_GRAY8, ColorRange::kFull},
                        {PixelFormat::kGray, AV_PIX_FMT_GRAY8, ColorRange::kLimited, true}};
  for (const Case& c : cases) {
    const Frames frames(c.input, SampleType::kUint8, {31, 13});
    const auto loader =
        FrameLoader::Create(frames.batch, Spec(c.format, {31, 13}, ColorSpace::kBt601, c.range));
    ASSERT_TRUE(loader.ok());
    const auto frame = (*loader)->Load(1);
    ASSERT_TRUE(frame.ok());
    EXPECT_EQ((*frame)->data[0] != frames.batch.Frame(1), c.copied) << Name(c.input);
    if (c.copied) continue;
    std::vector<uint8_t> packed(frames.batch.frame_bytes);
    const int bytes =
        av_image_copy_to_buffer(packed.data(), static_cast<int>(packed.size()), (*frame)->data,
                                (*frame)->linesize, c.format, 31, 13, 1);
    EXPECT_EQ(std::memcmp(packed.data(), frames.batch.Frame(1), bytes), 0) << Name(c.input);
  }
}

TEST(FrameLoaderTest, PackedYuvIsResampledAndRescaled) {
  for (const PixelFormat input :
       {PixelFormat::kNv12, PixelFormat::kYuv420p, PixelFormat::kYuv444p, PixelFormat::kP010}) {
    for (const AVPixelFormat format : kYuvFormats) {
      for (const ColorRange range : {ColorRange::kLimited, ColorRange::kFull}) {
        for (const Size size : {Size{18, 10}, {17, 11}, {1, 1}}) {
          ExpectReference(input, SampleType::kUint8, Spec(format, size, ColorSpace::kBt709, range),
                          /*tolerance=*/0.51);
        }
      }
    }
  }
}

TEST(FrameLoaderTest, FloatsFarOutsideNameTheirFrame) {
  Frames frames(PixelFormat::kRgb, SampleType::kFloat32, {8, 4});
  const_cast<float*>(static_cast<const float*>(frames.batch.Frame(1)))[95] = 255;
  const auto loader = FrameLoader::Create(frames.batch, Spec(AV_PIX_FMT_YUV420P, {8, 4}));
  ASSERT_TRUE(loader.ok());
  EXPECT_TRUE((*loader)->Load(0).ok());
  const absl::Status status = (*loader)->Load(1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("frame 1"));
}

TEST(FrameLoaderTest, RefusesInconsistentBatches) {
  Frames frames(PixelFormat::kRgb, SampleType::kUint8, {8, 4});
  frames.batch.frame_bytes += 1;
  EXPECT_EQ(FrameLoader::Create(frames.batch, Spec(AV_PIX_FMT_YUV420P, {8, 4})).status().code(),
            absl::StatusCode::kInvalidArgument);
  frames.batch.count = 0;
  EXPECT_THAT(std::string(frames.batch.Validate().message()),
              ::testing::HasSubstr("at least one frame"));
}

TEST(FrameBytesTest, RefusesSizesThatOverflow) {
  for (const Size size : {Size{0, 4}, {4, -1}, {65501, 1}, {65500, 65500}, {1 << 30, 1 << 30}}) {
    EXPECT_EQ(FrameBytes(PixelFormat::kRgb, SampleType::kFloat32, size.height, size.width)
                  .status()
                  .code(),
              absl::StatusCode::kInvalidArgument)
        << size.width << "x" << size.height;
  }
  EXPECT_EQ(*FrameBytes(PixelFormat::kNv12, SampleType::kUint8, 3, 5), 15 + 2 * 6);
  EXPECT_FALSE(FrameBytes(PixelFormat::kNv12, SampleType::kUint16, 4, 4).ok());
  EXPECT_FALSE(FrameBytes(PixelFormat::kNative, SampleType::kUint8, 4, 4).ok());
}

}  // namespace
}  // namespace nvc
