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

// Makes random frames of any format and knows the value of each sample.
class Frames {
 public:
  Frames(PixelFormat format, SampleType type, Size size, int count = 2) : size_(size) {
    batch.pixel_format = format;
    batch.sample_type = type;
    batch.width = size.width;
    batch.height = size.height;
    batch.count = count;
    batch.frame_bytes = *FrameBytes(format, type, size.height, size.width);
    memory_.resize(batch.frame_bytes * count);
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
      std::uniform_int_distribution<int> any(0, 255);
      std::generate(memory_.begin(), memory_.end(), [&] { return any(generator); });
    }
    if (format == PixelFormat::kP010) {
      for (size_t i = 0; i < memory_.size(); i += 2) memory_[i] &= 0xc0;
    }
    batch.data = memory_.data();
  }

  // Returns channel c (in R, G, B order) of a pixel. White is 1.
  double At(int index, int x, int y, int c) const {
    const int channels = Channels(batch.pixel_format);
    if (channels == 1) c = 0;
    if (batch.pixel_format == PixelFormat::kBgr) c = 2 - c;
    const size_t sample = (static_cast<size_t>(y) * size_.width + x) * channels + c;
    const void* const frame = batch.Frame(index);
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

  FrameBatch batch;

 private:
  Size size_;
  std::vector<uint8_t> memory_;
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

// Computes the rule in float64: converts the mean of the covered pixels by RgbToYuv and clips it,
// but does not round it.
double Reference(const Frames& frames, const StreamSpec& spec, int index, int component, int x,
                 int y) {
  const AVPixFmtDescriptor* const format = av_pix_fmt_desc_get(spec.format);
  const int depth = format->comp[0].depth;
  const double max = (1 << depth) - 1;
  if ((format->flags & AV_PIX_FMT_FLAG_RGB) != 0) {
    return std::clamp(frames.At(index, x, y, component) * max, 0.0, max);
  }
  const RgbToYuv matrix = MakeRgbToYuv(spec.color_space, spec.color_range, depth);
  const int log2_w = component == 0 ? 0 : format->log2_chroma_w;
  const int log2_h = component == 0 ? 0 : format->log2_chroma_h;
  const int right = std::min((x + 1) << log2_w, spec.width);
  const int bottom = std::min((y + 1) << log2_h, spec.height);
  double sum = 0;
  int pixels = 0;
  for (int v = y << log2_h; v < bottom; ++v) {
    for (int u = x << log2_w; u < right; ++u, ++pixels) {
      for (int c = 0; c < 3; ++c) sum += matrix.matrix[component][c] * frames.At(index, u, v, c);
    }
  }
  return std::clamp(sum / pixels + matrix.offset[component], 0.0, max);
}

void ExpectReference(PixelFormat input, SampleType type, const StreamSpec& spec) {
  const Frames frames(input, type, {spec.width, spec.height});
  const auto loader = FrameLoader::Create(frames.batch, spec);
  ASSERT_TRUE(loader.ok()) << loader.status();
  const auto frame = (*loader)->Load(1);
  ASSERT_TRUE(frame.ok()) << frame.status();
  const AVPixFmtDescriptor* const format = av_pix_fmt_desc_get(spec.format);
  double worst = 0;
  for (int c = 0; c < format->nb_components; ++c) {
    const bool chroma = c > 0 && (format->flags & AV_PIX_FMT_FLAG_RGB) == 0;
    const int width = AV_CEIL_RSHIFT(spec.width, chroma ? format->log2_chroma_w : 0);
    const int height = AV_CEIL_RSHIFT(spec.height, chroma ? format->log2_chroma_h : 0);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const double exact = Reference(frames, spec, 1, c, x, y);
        worst = std::max(worst, std::abs(Sample(**frame, c, x, y) - exact));
      }
    }
  }
  // Rounding may add half a code value, the loader's arithmetic the rest.
  EXPECT_LE(worst, 0.54) << Name(input) << " " << Name(type) << " to " << format->name << " "
                         << spec.width << "x" << spec.height << " " << Name(spec.color_space) << " "
                         << Name(spec.color_range);
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
        ExpectReference(PixelFormat::kRgb, type, Spec(AV_PIX_FMT_YUV420P, {64, 10}, space, range));
        ExpectReference(PixelFormat::kRgb, type,
                        Spec(AV_PIX_FMT_YUV444P12, {64, 10}, space, range));
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
    const Size size = {37, 11};
    const Frames frames(PixelFormat::kRgb, type, size);
    const auto loader = FrameLoader::Create(
        frames.batch, Spec(format, size, ColorSpace::kBt601, ColorRange::kFull));
    ASSERT_TRUE(loader.ok());
    const auto frame = (*loader)->Load(0);
    ASSERT_TRUE(frame.ok());
    const double max = type == SampleType::kUint8 ? 255 : 65535;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        for (int c = 0; c < 3; ++c) {
          ASSERT_EQ(Sample(**frame, c, x, y), std::lround(frames.At(0, x, y, c) * max));
        }
      }
    }
  }
}

TEST(FrameLoaderTest, FramesOfTheRightLayoutAreNotCopied) {
  const std::pair<PixelFormat, AVPixelFormat> same[] = {
      {PixelFormat::kYuv420p, AV_PIX_FMT_YUV420P}, {PixelFormat::kYuv444p, AV_PIX_FMT_YUV444P},
      {PixelFormat::kNv12, AV_PIX_FMT_NV12},       {PixelFormat::kRgb, AV_PIX_FMT_RGB24},
      {PixelFormat::kBgr, AV_PIX_FMT_BGR24},       {PixelFormat::kNv12, AV_PIX_FMT_GRAY8}};
  for (const auto& [input, format] : same) {
    const Frames frames(input, SampleType::kUint8, {31, 13});
    const auto loader = FrameLoader::Create(frames.batch, Spec(format, {31, 13}));
    ASSERT_TRUE(loader.ok());
    EXPECT_TRUE((*loader)->wraps()) << Name(input);
    const auto frame = (*loader)->Load(1);
    ASSERT_TRUE(frame.ok());
    EXPECT_EQ((*frame)->data[0], frames.batch.Frame(1));
    std::vector<uint8_t> packed(frames.batch.frame_bytes);
    const int bytes =
        av_image_copy_to_buffer(packed.data(), static_cast<int>(packed.size()), (*frame)->data,
                                (*frame)->linesize, format, 31, 13, 1);
    EXPECT_EQ(std::memcmp(packed.data(), frames.batch.Frame(1), bytes), 0) << Name(input);
  }
}

TEST(FrameLoaderTest, GrayIsCopiedOnlyToChangeItsRange) {
  const Frames frames(PixelFormat::kGray, SampleType::kUint8, {8, 8});
  for (const ColorRange range : {ColorRange::kFull, ColorRange::kLimited}) {
    const auto loader = FrameLoader::Create(
        frames.batch, Spec(AV_PIX_FMT_GRAY8, {8, 8}, ColorSpace::kBt601, range));
    ASSERT_TRUE(loader.ok());
    EXPECT_EQ((*loader)->wraps(), range == ColorRange::kFull);
  }
}

// Returns a code value of a packed frame, at the bit depth of its format.
int PackedSample(const Frames& frames, AVPixelFormat format, int index, int component, int x,
                 int y) {
  AVFrame view = {};
  view.format = format;
  av_image_fill_arrays(view.data, view.linesize,
                       static_cast<const uint8_t*>(frames.batch.Frame(index)), format,
                       frames.batch.width, frames.batch.height, 1);
  return Sample(view, component, x, y);
}

struct Repacking {
  PixelFormat input;
  AVPixelFormat input_format, stream_format;
};

TEST(FrameLoaderTest, PackedYuvIsResampledAndRescaled) {
  std::vector<Repacking> all;
  const std::pair<PixelFormat, AVPixelFormat> inputs[] = {
      {PixelFormat::kNv12, AV_PIX_FMT_NV12},
      {PixelFormat::kYuv420p, AV_PIX_FMT_YUV420P},
      {PixelFormat::kYuv444p, AV_PIX_FMT_YUV444P},
      {PixelFormat::kP010, AV_PIX_FMT_P010}};
  for (const auto& [input, input_format] : inputs) {
    for (const AVPixelFormat format : kYuvFormats) all.push_back({input, input_format, format});
  }
  for (const Repacking& test : all) {
    for (const ColorRange range : {ColorRange::kLimited, ColorRange::kFull}) {
      for (const Size size : {Size{18, 10}, {17, 11}, {1, 1}}) {
        const Frames frames(test.input, SampleType::kUint8, size);
        const StreamSpec spec = Spec(test.stream_format, size, ColorSpace::kBt709, range);
        const auto loader = FrameLoader::Create(frames.batch, spec);
        ASSERT_TRUE(loader.ok()) << loader.status();
        const auto frame = (*loader)->Load(1);
        ASSERT_TRUE(frame.ok()) << frame.status();
        const AVPixFmtDescriptor* const from = av_pix_fmt_desc_get(test.input_format);
        const AVPixFmtDescriptor* const to = av_pix_fmt_desc_get(test.stream_format);
        const double from_max = (1 << from->comp[0].depth) - 1,
                     to_max = (1 << to->comp[0].depth) - 1;
        for (int c = 0; c < to->nb_components; ++c) {
          const int to_w = c > 0 ? to->log2_chroma_w : 0, to_h = c > 0 ? to->log2_chroma_h : 0;
          const int from_w = c > 0 ? from->log2_chroma_w : 0;
          const int from_h = c > 0 ? from->log2_chroma_h : 0;
          for (int y = 0; y < AV_CEIL_RSHIFT(size.height, to_h); ++y) {
            for (int x = 0; x < AV_CEIL_RSHIFT(size.width, to_w); ++x) {
              // The mean over luma positions gives the box mean where chroma shrinks, and the
              // nearest sample where it grows.
              double sum = 0;
              int pixels = 0;
              for (int v = y << to_h; v < std::min((y + 1) << to_h, size.height); ++v) {
                for (int u = x << to_w; u < std::min((x + 1) << to_w, size.width); ++u, ++pixels) {
                  sum += PackedSample(frames, test.input_format, 1, c, u >> from_w, v >> from_h);
                }
              }
              double want = sum / pixels;
              if (range == ColorRange::kLimited) {
                want *= (to_max + 1) / (from_max + 1);
              } else {
                const double middle = c == 0 ? 0 : 0.5;
                want = (want - middle * (from_max + 1)) * to_max / from_max + middle * (to_max + 1);
              }
              want = std::clamp(want, 0.0, to_max);
              ASSERT_NEAR(Sample(**frame, c, x, y), want, 0.51)
                  << from->name << " to " << to->name << " " << c << " " << x << "," << y;
            }
          }
        }
      }
    }
  }
}

TEST(FrameLoaderTest, FloatsFarOutsideAreRefusedByFrame) {
  Frames frames(PixelFormat::kRgb, SampleType::kFloat32, {8, 4}, 3);
  const_cast<float*>(static_cast<const float*>(frames.batch.Frame(2)))[95] = 255;
  const auto loader = FrameLoader::Create(frames.batch, Spec(AV_PIX_FMT_YUV420P, {8, 4}));
  ASSERT_TRUE(loader.ok());
  EXPECT_TRUE((*loader)->Load(1).ok());
  const absl::Status status = (*loader)->Load(2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("frame 2"));
}

TEST(FrameLoaderTest, RefusesBatchesThatDoNotAddUp) {
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
