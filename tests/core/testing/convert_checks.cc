#include "tests/core/testing/convert_checks.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/core/testing/convert_reference.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

double HalfToDouble(uint16_t half) {
  const int exponent = (half >> 10) & 31, mantissa = half & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

double Element(const OutputSpec& output, const uint8_t* out, size_t i) {
  if (output.pixel_format == PixelFormat::kP010) {
    const int word = out[2 * i] | out[2 * i + 1] << 8;
    EXPECT_EQ(word % 64, 0);
    return word / 64;
  }
  uint16_t word;
  float value;
  switch (output.sample_type) {
    case SampleType::kUint8:
      return out[i];
    case SampleType::kUint16:
      memcpy(&word, out + 2 * i, 2);
      return word;
    case SampleType::kFloat16:
      memcpy(&word, out + 2 * i, 2);
      return HalfToDouble(word);
    case SampleType::kFloat32:
      memcpy(&value, out + 4 * i, 4);
      return value;
  }
  return -1;
}

bool IsInteger(SampleType type) {
  return type == SampleType::kUint8 || type == SampleType::kUint16;
}

// Returns how far an element may be from the reference: 1 for integers, and for floats the rounding
// of their type.
double Tolerance(const OutputSpec& output, double expected) {
  const double step = 1 / std::abs(output.std_dev[0]);
  switch (output.sample_type) {
    case SampleType::kFloat32:
      return 2e-6 * (step + std::abs(expected));
    case SampleType::kFloat16:
      return 2e-6 * step + std::abs(expected) / 2047 + 1e-7;
    default:
      return 1;
  }
}

std::string Describe(const OutputSpec& o, const SourceSpec& s) {
  std::string text = absl::StrCat(
      av_get_pix_fmt_name(s.format), " ", s.width, "x", s.height, " space ", s.color_space,
      " range ", s.color_range, s.orientation.mirrored() ? " mirrored" : "", " turned ",
      s.orientation.rotation(), " to ", Name(o.pixel_format), " ", Name(o.sample_type),
      o.layout == Layout::kTchw ? " tchw" : "", " size ", o.height, "x", o.width, " method ",
      static_cast<int>(o.resize_method), " chroma ", static_cast<int>(o.chroma_upsampling),
      " siting ", s.chroma_location);
  if (o.crop.has_value()) {
    absl::StrAppend(&text, " crop ", o.crop->top, ",", o.crop->left, ",", o.crop->height, ",",
                    o.crop->width);
  }
  return text;
}

}  // namespace

double ExpectMatches(const OutputSpec& output, const SourceSpec& source, const AVFrame& frame) {
  return ExpectMatches(FrameConverter::Create(output, source), output, source, frame);
}

double ExpectMatches(absl::StatusOr<std::unique_ptr<FrameConverter>> converter,
                     const OutputSpec& output, const SourceSpec& source, const AVFrame& frame) {
  SCOPED_TRACE(Describe(output, source));
  EXPECT_TRUE(converter.ok()) << converter.status().ToString();
  if (!converter.ok()) return 0;
  const std::vector<double> expected = ReferenceConvert(output, source, frame);
  const size_t element =
      output.pixel_format == PixelFormat::kP010 ? 2 : SampleSize(output.sample_type);
  EXPECT_EQ((*converter)->shape().bytes, expected.size() * element);
  std::vector<uint8_t> out((*converter)->shape().bytes, 0xa5);
  // Converts twice, because rows kept from the first frame must not show in the second.
  for (int pass = 0; pass < 2; ++pass) {
    const absl::Status status = (*converter)->Convert(frame, out.data());
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  const bool integer = IsInteger(output.sample_type);
  int wrong = 0, inexact = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double want = integer ? std::floor(expected[i] + 0.5) : expected[i];
    const double got = Element(output, out.data(), i);
    inexact += integer && got != want;
    if (std::abs(got - want) <= Tolerance(output, want)) continue;
    if (++wrong <= 3) ADD_FAILURE() << "sample " << i << " is " << got << ", not " << want;
  }
  EXPECT_EQ(wrong, 0);
  return static_cast<double>(inexact) / expected.size();
}

double ExpectMatches(const OutputSpec& output, AVPixelFormat format, int width, int height,
                     Orientation orientation, int padding) {
  TestFrame frame(format, width, height, 7, padding);
  return ExpectMatches(output, SourceSpec::Of(frame.frame(), orientation), frame.frame());
}

}  // namespace nvc
