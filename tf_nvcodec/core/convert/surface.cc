#include "tf_nvcodec/core/convert/surface.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

absl::StatusOr<SurfaceFormat> FormatOf(AVPixelFormat samples) {
  const AVPixFmtDescriptor* about = av_pix_fmt_desc_get(samples);
  if (about == nullptr) return absl::UnimplementedError("frames of an unknown sample format");
  constexpr uint64_t kOther = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_HWACCEL |
                              AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_BE |
                              AV_PIX_FMT_FLAG_FLOAT;
  const int depth = about->comp[0].depth;
  const bool gray = about->nb_components <= 2;
  const bool planar = gray || (about->flags & AV_PIX_FMT_FLAG_PLANAR) != 0;
  const bool even = gray || about->comp[1].depth == depth;
  const bool wide = depth > 8;
  if ((about->flags & kOther) == 0 && planar && even && depth >= 8 && depth <= 16) {
    const int across = gray ? 1 : about->log2_chroma_w;
    const int down = gray ? 1 : about->log2_chroma_h;
    if (across == 1 && down == 1) return wide ? SurfaceFormat::kP016 : SurfaceFormat::kNv12;
    if (across == 1 && down == 0) return wide ? SurfaceFormat::kP216 : SurfaceFormat::kNv16;
    if (across == 0 && down == 0) return wide ? SurfaceFormat::kYuv444In16 : SurfaceFormat::kYuv444;
  }
  return absl::UnimplementedError(
      absl::StrCat("frames are ", about->name,
                   ", which is not one of NVDEC's surface formats: choose RGB as the "
                   "OutputColorType, or decode with tf_nvcodec.decode_video"));
}

void AddPlane(int height, int width, int channels, size_t stride, SurfaceLayout* layout) {
  layout->planes[static_cast<size_t>(layout->num_planes++)] = {layout->bytes, height, width,
                                                               channels, stride};
  layout->bytes += stride * static_cast<size_t>(height);
}

void SetRgb(SurfaceColor color, SurfaceLayout* layout) {
  const int64_t height = layout->height, width = layout->width;
  layout->num_dims = 3;
  if (color == SurfaceColor::kRgb) {
    layout->format = SurfaceFormat::kRgb;
    AddPlane(layout->height, layout->width, 3, static_cast<size_t>(width) * 3, layout);
    layout->shape = {height, width, 3};
    layout->strides = {width * 3, 3, 1};
    return;
  }
  layout->format = SurfaceFormat::kRgbPlanar;
  for (int i = 0; i < 3; ++i) {
    AddPlane(layout->height, layout->width, 1, static_cast<size_t>(width), layout);
  }
  layout->shape = {3, height, width};
  layout->strides = {height * width, width, 1};
}

void SetYuv(SurfaceLayout* layout) {
  const SurfaceFormat format = layout->format;
  const bool wide = format == SurfaceFormat::kP016 || format == SurfaceFormat::kP216 ||
                    format == SurfaceFormat::kYuv444In16;
  const bool full = format == SurfaceFormat::kYuv444 || format == SurfaceFormat::kYuv444In16;
  const bool all_rows = format == SurfaceFormat::kNv16 || format == SurfaceFormat::kP216;
  layout->sample_bytes = wide ? 2 : 1;
  const int half_width = (layout->width + 1) / 2;
  const int row_samples = full ? layout->width : 2 * half_width;
  const size_t stride = static_cast<size_t>(row_samples * layout->sample_bytes);
  AddPlane(layout->height, layout->width, 1, stride, layout);
  if (full) {
    AddPlane(layout->height, layout->width, 1, stride, layout);
    AddPlane(layout->height, layout->width, 1, stride, layout);
  } else {
    const int rows = all_rows ? layout->height : (layout->height + 1) / 2;
    AddPlane(rows, half_width, 2, stride, layout);
  }
  int64_t rows = 0;
  for (int i = 0; i < layout->num_planes; ++i) {
    rows += layout->planes[static_cast<size_t>(i)].height;
  }
  layout->num_dims = 2;
  layout->shape = {rows, layout->width, 0};
  layout->strides = {row_samples, 1, 0};
}

}  // namespace

absl::StatusOr<SurfaceLayout> SurfaceLayout::Of(AVPixelFormat samples, SurfaceColor color,
                                                int width, int height) {
  constexpr int kMaxSide = 65536;  // keeps every count well inside an int
  if (width <= 0 || height <= 0 || width > kMaxSide || height > kMaxSide) {
    return absl::UnimplementedError(
        absl::StrCat("frames of ", width, "x", height,
                     " pixels have no surface: a side must be from 1 to ", kMaxSide));
  }
  SurfaceLayout layout;
  layout.width = width;
  layout.height = height;
  if (color != SurfaceColor::kNative) {
    SetRgb(color, &layout);
    return layout;
  }
  absl::StatusOr<SurfaceFormat> format = FormatOf(samples);
  if (!format.ok()) return format.status();
  layout.format = *format;
  SetYuv(&layout);
  return layout;
}

namespace {

// Copies samples that are `step` elements apart, shifted to the high bits.
template <typename T>
void CopyRow(const T* from, int step, int shift, int count, T* to) {
  if (step == 1 && shift == 0) {
    std::memcpy(to, from, sizeof(T) * static_cast<size_t>(count));
  } else if (step == 1) {
    for (int x = 0; x < count; ++x) to[x] = static_cast<T>(from[x] << shift);
  } else {
    for (int x = 0; x < count; ++x) to[x] = static_cast<T>(from[x * step] << shift);
  }
}

template <typename T>
void InterleaveRow(const T* u, const T* v, int step, int shift, int count, T* to) {
  if (step == 1) {
    for (int x = 0; x < count; ++x) {
      to[2 * x] = static_cast<T>(u[x] << shift);
      to[2 * x + 1] = static_cast<T>(v[x] << shift);
    }
    return;
  }
  for (int x = 0; x < count; ++x) {
    to[2 * x] = static_cast<T>(u[x * step] << shift);
    to[2 * x + 1] = static_cast<T>(v[x * step] << shift);
  }
}

template <typename T>
class YuvWriter {
 public:
  YuvWriter(const AVFrame& frame, const SurfaceLayout& layout, uint8_t* out)
      : frame_(frame),
        layout_(layout),
        out_(out),
        about_(*av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format))),
        // The bits that the format leaves free at the top of a sample.
        shift_(static_cast<int>(8 * sizeof(T)) - about_.comp[0].depth - about_.comp[0].shift) {}

  void Write() const {
    const auto& luma = layout_.planes[0];
    const size_t row_samples = luma.stride / sizeof(T);
    for (int y = 0; y < luma.height; ++y) {
      T* const to = Target(luma, y);
      CopyRow(Source(0, y), Step(0), shift_, luma.width, to);
      std::fill(to + luma.width, to + row_samples, T{0});
    }
    if (about_.nb_components <= 2) return FillChroma();
    if (layout_.num_planes == 2) {
      const auto& chroma = layout_.planes[1];
      for (int y = 0; y < chroma.height; ++y) {
        InterleaveRow(Source(1, y), Source(2, y), Step(1), shift_, chroma.width, Target(chroma, y));
      }
      return;
    }
    for (int i = 1; i < 3; ++i) {
      const auto& chroma = layout_.planes[static_cast<size_t>(i)];
      for (int y = 0; y < chroma.height; ++y) {
        CopyRow(Source(i, y), Step(i), shift_, chroma.width, Target(chroma, y));
      }
    }
  }

 private:
  const T* Source(int component, int y) const {
    const AVComponentDescriptor& about = about_.comp[component];
    const uint8_t* row =
        frame_.data[about.plane] + static_cast<ptrdiff_t>(frame_.linesize[about.plane]) * y;
    return reinterpret_cast<const T*>(row + about.offset);
  }
  int Step(int component) const {
    return about_.comp[component].step / static_cast<int>(sizeof(T));
  }
  T* Target(const SurfaceLayout::Plane& plane, int y) const {
    return reinterpret_cast<T*>(out_ + plane.offset + plane.stride * static_cast<size_t>(y));
  }
  void FillChroma() const {
    const size_t begin = layout_.planes[1].offset;
    T* const to = reinterpret_cast<T*>(out_ + begin);
    std::fill(to, to + (layout_.bytes - begin) / sizeof(T),
              static_cast<T>(T{1} << (8 * sizeof(T) - 1)));
  }

  const AVFrame& frame_;
  const SurfaceLayout& layout_;
  uint8_t* const out_;
  const AVPixFmtDescriptor& about_;
  const int shift_;
};

}  // namespace

absl::Status SurfaceWriter::Write(const AVFrame& frame, const SurfaceLayout& layout, uint8_t* out) {
  if (frame.width != layout.width || frame.height != layout.height) {
    return absl::InternalError("a frame of another size than its surface");
  }
  if (color_ != SurfaceColor::kNative) return WriteRgb(frame, out);
  if (layout.sample_bytes == 1) {
    YuvWriter<uint8_t>(frame, layout, out).Write();
  } else {
    YuvWriter<uint16_t>(frame, layout, out).Write();
  }
  return absl::OkStatus();
}

absl::Status SurfaceWriter::WriteRgb(const AVFrame& frame, uint8_t* out) {
  const SourceSpec source = SourceSpec::Of(frame);
  if (converter_ == nullptr || !(converter_->source() == source)) {
    OutputSpec output;
    if (color_ == SurfaceColor::kRgbPlanar) output.layout = Layout::kTchw;
    NVC_ASSIGN_OR_RETURN(converter_, FrameConverter::Create(output, source));
  }
  return converter_->Convert(frame, out);
}

}  // namespace nvc
