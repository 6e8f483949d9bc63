#include "tests/core/testing/convert_reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

struct Plane {
  int width, height, log2_x, log2_y, depth;
  std::vector<double> samples;
  double At(int y, int x) const { return samples[static_cast<size_t>(y) * width + x]; }
};

bool IsRgb(const AVPixFmtDescriptor* d) {
  return (d->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
}

std::vector<Plane> ReadPlanes(const AVFrame& frame) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  const bool palette = (d->flags & AV_PIX_FMT_FLAG_PAL) != 0;
  const int count = d->nb_components <= 2 && !palette ? 1 : 3;
  std::vector<Plane> planes;
  for (int c = 0; c < count; ++c) {
    Plane plane;
    plane.log2_x = c > 0 && !IsRgb(d) ? d->log2_chroma_w : 0;
    plane.log2_y = c > 0 && !IsRgb(d) ? d->log2_chroma_h : 0;
    plane.width = (frame.width + (1 << plane.log2_x) - 1) / (1 << plane.log2_x);
    plane.height = (frame.height + (1 << plane.log2_y) - 1) / (1 << plane.log2_y);
    plane.depth = palette ? 8 : d->comp[c].depth;
    std::vector<uint16_t> row(plane.width);
    const uint8_t* data[4] = {frame.data[0], frame.data[1], frame.data[2], frame.data[3]};
    for (int y = 0; y < plane.height; ++y) {
      // Palette entries are 0xAARRGGBB words, stored as the bytes B, G, R, A.
      av_read_image_line2(row.data(), data, frame.linesize, d, 0, y, palette ? 0 : c, plane.width,
                          0, 2);
      for (uint16_t v : row) {
        if (frame.format == AV_PIX_FMT_MONOWHITE) v = 1 - v;
        plane.samples.push_back(palette ? frame.data[1][4 * v + 2 - c] : v);
      }
    }
    planes.push_back(plane);
  }
  return planes;
}

struct Interval {
  double low, high;  // in stored luma coordinates
  bool mirrored;
};

// Maps an interval of the displayed picture's x or y axis to the stored picture's axis that lies
// along it, in luma pixels.
Interval ToStored(Interval shown, const Orientation& orientation, bool shown_x,
                  const SourceSpec& source) {
  const int rotation = orientation.rotation();
  bool mirrored = shown_x ? rotation == 90 || rotation == 180 : rotation == 180 || rotation == 270;
  const bool from_width = shown_x == (rotation == 0 || rotation == 180);
  if (from_width && orientation.mirrored()) mirrored = !mirrored;
  const int size = from_width ? source.width : source.height;
  if (!mirrored) return {shown.low, shown.high, false};
  return {size - shown.high, size - shown.low, true};
}

double Kernel(ResizeMethod method, double distance) {
  const double x = std::abs(distance);
  if (method == ResizeMethod::kBilinear) return x < 1 ? 1 - x : 0;
  if (x < 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
  if (x < 2) return -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2;
  return 0;
}

// Returns the weight of every sample of a plane's axis for an output sample that covers `at`, given
// in the plane's samples.
std::vector<double> Weights(ResizeMethod method, Interval at, int first, int last, int size) {
  std::vector<double> weights(size, 0.0);
  // Removes rounding errors, because the exact position decides ties between samples.
  const double center = std::round((at.low + at.high) / 2 * 1e9) / 1e9;
  int nearest = static_cast<int>(at.mirrored ? std::ceil(center - 1) : std::floor(center));
  nearest = std::min(std::max(nearest, first), last - 1);
  if (method == ResizeMethod::kNearest) {
    weights[nearest] = 1;
    return weights;
  }
  double sum = 0;
  for (int j = first; j < last; ++j) {
    weights[j] = method == ResizeMethod::kArea
                     ? std::max(0.0, std::min(at.high, j + 1.0) - std::max(at.low, 0.0 + j))
                     : Kernel(method, center - j - 0.5);
    sum += weights[j];
  }
  if (sum == 0) {
    weights[nearest] = 1;
    return weights;
  }
  for (double& w : weights) w /= sum;
  return weights;
}

class Reference {
 public:
  Reference(const OutputSpec& output, const SourceSpec& source, const AVFrame& frame)
      : output_(output), source_(source), planes_(ReadPlanes(frame)) {
    if (output.apply_rotation) orientation_ = source.orientation;
    const bool turned = orientation_.rotation() % 180 != 0;
    shown_height_ = turned ? source.width : source.height;
    shown_width_ = turned ? source.height : source.width;
    crop_ = output.crop.value_or(Crop{0, 0, shown_height_, shown_width_});
    height_ = output.height ? output.height : crop_.height;
    width_ = output.width ? output.width : crop_.width;
    resized_ = height_ != crop_.height || width_ != crop_.width;
    full_ = output.color_range.has_value() ? *output.color_range == ColorRange::kFull
                                           : TaggedFull(frame);
    rgb_ = IsRgb(av_pix_fmt_desc_get(source.format));
    ColorSpace space = ColorSpace::kBt601;
    if (output.color_space.has_value()) {
      space = *output.color_space;
    } else if (source.color_space == AVCOL_SPC_BT709) {
      space = ColorSpace::kBt709;
    } else if (source.color_space == AVCOL_SPC_BT2020_NCL) {
      space = ColorSpace::kBt2020;
    }
    kr_ = space == ColorSpace::kBt601 ? 0.299 : space == ColorSpace::kBt709 ? 0.2126 : 0.2627;
    kb_ = space == ColorSpace::kBt601 ? 0.114 : space == ColorSpace::kBt709 ? 0.0722 : 0.0593;
  }

  int height() const { return height_; }
  int width() const { return width_; }
  bool gray() const { return planes_.size() == 1; }
  bool rgb() const { return rgb_; }
  bool full() const { return full_; }
  double kr() const { return kr_; }
  double kb() const { return kb_; }
  int depth(int c) const { return planes_[c].depth; }

  // Returns the code value of component c for sample (y, x) of an output plane, whose sides have
  // 2^log2 times fewer samples than luma.
  double Sample(int c, int y, int x, int log2) const {
    const Plane& plane = planes_[c];
    const int step = 1 << log2;
    if (output_.flip) x = width_ - 1 - x;  // of RGB and gray, where step is 1
    const double scale_x = static_cast<double>(crop_.width) / width_;
    const double scale_y = static_cast<double>(crop_.height) / height_;
    const Interval shown_x = {crop_.left + x * step * scale_x,
                              crop_.left + (x + 1) * step * scale_x, false};
    const Interval shown_y = {crop_.top + y * step * scale_y, crop_.top + (y + 1) * step * scale_y,
                              false};
    Interval along_x = ToStored(shown_x, orientation_, true, source_);
    along_x.mirrored = along_x.mirrored != output_.flip;  // decides ties between samples
    Interval along_y = ToStored(shown_y, orientation_, false, source_);
    Interval crop_x = ToStored({0.0 + crop_.left, 0.0 + crop_.left + crop_.width, false},
                               orientation_, true, source_);
    Interval crop_y = ToStored({0.0 + crop_.top, 0.0 + crop_.top + crop_.height, false},
                               orientation_, false, source_);
    if (orientation_.rotation() % 180 != 0) {
      std::swap(along_x, along_y);
      std::swap(crop_x, crop_y);
    }
    const std::vector<double> wx =
        AxisWeights(along_x, crop_x, source_.width, plane.width, plane.log2_x, log2, SitingX());
    const std::vector<double> wy =
        AxisWeights(along_y, crop_y, source_.height, plane.height, plane.log2_y, log2, SitingY());
    double sum = 0;
    for (int j = 0; j < plane.height; ++j) {
      for (int i = 0; i < plane.width; ++i) {
        if (wy[j] != 0 && wx[i] != 0) sum += wy[j] * wx[i] * plane.At(j, i);
      }
    }
    return sum;
  }

 private:
  bool TaggedFull(const AVFrame& frame) const {
    if (frame.color_range == AVCOL_RANGE_JPEG) return true;
    if (frame.color_range == AVCOL_RANGE_MPEG) return false;
    const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(source_.format);
    return IsRgb(d) || planes_.size() == 1 || strncmp(d->name, "yuvj", 4) == 0;
  }

  // Returns the horizontal chroma siting: how far the first chroma sample's centre lies from the
  // first luma sample's centre, as a fraction of the way to the centre of the luma samples that it
  // covers.
  double SitingX() const {
    switch (source_.chroma_location) {
      case AVCHROMA_LOC_CENTER:
      case AVCHROMA_LOC_TOP:
      case AVCHROMA_LOC_BOTTOM:
        return 1;
      default:
        return 0;
    }
  }
  double SitingY() const {
    switch (source_.chroma_location) {
      case AVCHROMA_LOC_TOPLEFT:
      case AVCHROMA_LOC_TOP:
        return 0;
      case AVCHROMA_LOC_BOTTOMLEFT:
      case AVCHROMA_LOC_BOTTOM:
        return 2;
      default:
        return 1;
    }
  }

  std::vector<double> AxisWeights(Interval luma, Interval crop, int luma_size, int size, int log2,
                                  int output_log2, double siting) const {
    const double pixels = 1 << log2;
    double low = luma.low / pixels, high = luma.high / pixels;
    int first = 0, last = size;
    if (resized_) {
      first = static_cast<int>(std::floor(crop.low / pixels));
      last = static_cast<int>(std::ceil(crop.high / pixels));
      // The crop's samples of the plane. A chroma sample at the frame's end counts whole.
      const double begin = crop.low / pixels;
      const double end = crop.high == luma_size ? size : crop.high / pixels;
      const double stretch = (end - begin) / (crop.high - crop.low);
      low = begin + (luma.low - crop.low) * stretch;
      high = begin + (luma.high - crop.low) * stretch;
    }
    if (log2 > 0 && output_log2 == 0 && output_.chroma_upsampling == ChromaUpsampling::kBilinear) {
      // The centre of sample 0 lies at luma position 0.5 + siting * (pixels - 1) / 2, and at 0.5 in
      // the coordinates of `low`.
      const double shift = 0.5 - (0.5 + siting * (pixels - 1) / 2) / pixels;
      low += shift;
      high += shift;
    }
    ResizeMethod method = output_.resize_method;
    if (!resized_) {
      method = log2 <= output_log2                                        ? ResizeMethod::kArea
               : output_.chroma_upsampling == ChromaUpsampling::kBilinear ? ResizeMethod::kBilinear
                                                                          : ResizeMethod::kNearest;
    }
    return Weights(method, {low, high, luma.mirrored}, first, last, size);
  }

  OutputSpec output_;
  SourceSpec source_;
  std::vector<Plane> planes_;
  Orientation orientation_;
  int shown_height_, shown_width_, height_, width_;
  Crop crop_;
  bool resized_, full_, rgb_;
  double kr_, kb_;
};

double Expand(double code, int depth, bool full) {
  const double unit = std::pow(2.0, depth - 8);
  return full ? code / (std::pow(2.0, depth) - 1) : (code - 16 * unit) / (219 * unit);
}
double ExpandChroma(double code, int depth, bool full) {
  const double unit = std::pow(2.0, depth - 8);
  return (code - 128 * unit) / (full ? std::pow(2.0, depth) - 1 : 224 * unit);
}

void Rgb(const Reference& r, int y, int x, int log2, double rgb[3]) {
  if (r.rgb() || r.gray()) {
    for (int c = 0; c < 3; ++c) {
      const int from = r.gray() ? 0 : c;
      rgb[c] = Expand(r.Sample(from, y, x, log2), r.depth(from), r.full());
    }
    return;
  }
  const double luma = Expand(r.Sample(0, y, x, log2), r.depth(0), r.full());
  const double pb = ExpandChroma(r.Sample(1, y, x, log2), r.depth(1), r.full());
  const double pr = ExpandChroma(r.Sample(2, y, x, log2), r.depth(2), r.full());
  rgb[0] = luma + 2 * (1 - r.kr()) * pr;
  rgb[2] = luma + 2 * (1 - r.kb()) * pb;
  rgb[1] = (luma - r.kr() * rgb[0] - r.kb() * rgb[2]) / (1 - r.kr() - r.kb());
}

double ToElement(const OutputSpec& output, double value, int channel) {
  value = std::min(1.0, std::max(0.0, value));
  if (output.sample_type == SampleType::kUint8) return value * 255;
  if (output.sample_type == SampleType::kUint16) return value * 65535;
  return (value - output.mean[channel]) / output.std_dev[channel];
}

std::vector<double> Image(const OutputSpec& output, const Reference& r) {
  const int channels = Channels(output.pixel_format);
  const size_t area = static_cast<size_t>(r.height()) * r.width();
  std::vector<double> out(area * channels);
  for (int y = 0; y < r.height(); ++y) {
    for (int x = 0; x < r.width(); ++x) {
      double rgb[3];
      if (channels == 1 && !r.rgb()) {
        rgb[0] = Expand(r.Sample(0, y, x, 0), r.depth(0), r.full());
      } else {
        Rgb(r, y, x, 0, rgb);
      }
      if (channels == 1 && r.rgb()) {
        rgb[0] = r.kr() * rgb[0] + (1 - r.kr() - r.kb()) * rgb[1] + r.kb() * rgb[2];
      }
      if (output.pixel_format == PixelFormat::kBgr) std::swap(rgb[0], rgb[2]);
      for (int c = 0; c < channels; ++c) {
        const size_t pixel = static_cast<size_t>(y) * r.width() + x;
        const size_t at = output.layout == Layout::kThwc ? pixel * channels + c : c * area + pixel;
        out[at] = ToElement(output, rgb[c], c);
      }
    }
  }
  return out;
}

double PackedSample(const Reference& r, int component, int y, int x, int log2, int depth) {
  const double unit = std::pow(2.0, depth - 8), peak = std::pow(2.0, depth) - 1;
  double code;
  if (r.rgb()) {
    double rgb[3];
    Rgb(r, y, x, log2, rgb);
    const double luma = r.kr() * rgb[0] + (1 - r.kr() - r.kb()) * rgb[1] + r.kb() * rgb[2];
    code = component == 0   ? 16 * unit + 219 * unit * luma
           : component == 1 ? 128 * unit + 224 * unit * (rgb[2] - luma) / (2 * (1 - r.kb()))
                            : 128 * unit + 224 * unit * (rgb[0] - luma) / (2 * (1 - r.kr()));
  } else if (r.gray() && component > 0) {
    code = 128 * unit;
  } else {
    const double from = r.Sample(component, y, x, log2);
    const int from_depth = r.depth(component);
    if (!r.full()) {
      code = from * std::pow(2.0, depth - from_depth);
    } else if (component == 0) {
      code = from * peak / (std::pow(2.0, from_depth) - 1);
    } else {
      code = 128 * unit + peak * ExpandChroma(from, from_depth, true);
    }
  }
  return std::min(peak, std::max(0.0, code));
}

}  // namespace

TestFrame::TestFrame(AVPixelFormat format, int width, int height, uint32_t seed, int padding)
    : frame_() {
  std::mt19937 random(seed);
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  frame_.width = width;
  frame_.height = height;
  frame_.format = format;
  frame_.colorspace = AVCOL_SPC_UNSPECIFIED;
  frame_.color_range = AVCOL_RANGE_UNSPECIFIED;
  const bool palette = (d->flags & AV_PIX_FMT_FLAG_PAL) != 0;
  const int count = palette ? 1 : av_pix_fmt_count_planes(format);
  for (int p = 0; p < count; ++p) {
    const int rows = p == 1 || p == 2 ? -((-height) >> d->log2_chroma_h) : height;
    const int row_bytes = av_image_get_linesize(format, width, p);
    frame_.linesize[p] = row_bytes + padding;
    planes_.emplace_back(static_cast<size_t>(rows - 1) * frame_.linesize[p] + row_bytes);
    for (uint8_t& byte : planes_.back()) byte = static_cast<uint8_t>(random());
  }
  if (palette) {
    planes_.emplace_back(AVPALETTE_SIZE);
    for (uint8_t& byte : planes_.back()) byte = static_cast<uint8_t>(random());
  }
  for (size_t p = 0; p < planes_.size(); ++p) frame_.data[p] = planes_[p].data();
  if (palette) return;
  for (int c = 0; c < d->nb_components; ++c) {
    if (d->comp[c].depth == 8) continue;
    // Decoders leave the unused bits of a sample at zero.
    const bool chroma = c == 1 || c == 2;
    const int columns = chroma ? -((-width) >> d->log2_chroma_w) : width;
    const int rows = chroma ? -((-height) >> d->log2_chroma_h) : height;
    std::vector<uint16_t> row(columns);
    for (int y = 0; y < rows; ++y) {
      for (uint16_t& v : row) v = random() & ((1 << d->comp[c].depth) - 1);
      if (c == 0 || d->comp[c].plane != d->comp[0].plane) {
        uint8_t* line = frame_.data[d->comp[c].plane] +
                        static_cast<ptrdiff_t>(y) * frame_.linesize[d->comp[c].plane];
        if (c == 0 || d->comp[c].plane != d->comp[c - 1].plane) {
          memset(line, 0, av_image_get_linesize(format, width, d->comp[c].plane));
        }
      }
      av_write_image_line2(row.data(), frame_.data, frame_.linesize, d, 0, y, c, columns, 2);
    }
  }
}

// The planes belong to this object. FFmpeg frees what a test attached to the frame.
TestFrame::~TestFrame() { av_frame_unref(&frame_); }

std::vector<double> ReferenceConvert(const OutputSpec& output, const SourceSpec& source,
                                     const AVFrame& frame) {
  const Reference r(output, source, frame);
  if (Channels(output.pixel_format) != 0) return Image(output, r);
  const bool interleaved =
      output.pixel_format == PixelFormat::kNv12 || output.pixel_format == PixelFormat::kP010;
  const int log2 = output.pixel_format == PixelFormat::kYuv444p ? 0 : 1;
  const int depth = output.pixel_format == PixelFormat::kP010 ? 10 : 8;
  std::vector<double> out;
  for (int y = 0; y < r.height(); ++y) {
    for (int x = 0; x < r.width(); ++x) out.push_back(PackedSample(r, 0, y, x, 0, depth));
  }
  const int height = (r.height() + log2) >> log2, width = (r.width() + log2) >> log2;
  for (int pass = 0; pass < (interleaved ? 1 : 2); ++pass) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        if (interleaved) {
          out.push_back(PackedSample(r, 1, y, x, log2, depth));
          out.push_back(PackedSample(r, 2, y, x, log2, depth));
        } else {
          out.push_back(PackedSample(r, 1 + pass, y, x, log2, depth));
        }
      }
    }
  }
  return out;
}

}  // namespace nvc
