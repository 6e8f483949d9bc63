#include "tf_nvcodec/core/convert/surface.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/convert/plane_reader.h"
#include "tf_nvcodec/core/rows/pack_rows.h"

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

// Writes the components of `readers` as one plane. Words have their samples in the high bits.
void WritePlane(const AVFrame& frame, const SurfaceLayout::Plane& plane, int sample_bytes,
                std::vector<PlaneReader>* readers, uint8_t* out) {
  const PackKernels& kernels = GetPackKernels(BestSimd());
  const size_t row_bytes = static_cast<size_t>(plane.width * plane.channels * sample_bytes);
  std::vector<uint16_t> shifted[2];
  for (int y = 0; y < plane.height; ++y, out += plane.stride) {
    const uint8_t* bytes[3] = {nullptr, nullptr, nullptr};
    const uint16_t* words[3] = {nullptr, nullptr, nullptr};
    for (size_t c = 0; c < readers->size(); ++c) {
      PlaneReader& reader = (*readers)[c];
      const void* const row = reader.Row(frame, y, 0, plane.width);
      if (sample_bytes == 1) {
        bytes[c] = static_cast<const uint8_t*>(row);
        continue;
      }
      shifted[c].resize(static_cast<size_t>(plane.width));
      kernels.scale_words(static_cast<const uint16_t*>(row), 0, 0xffff, 16 - reader.depth(),
                          plane.width, shifted[c].data());
      words[c] = shifted[c].data();
    }
    if (sample_bytes == 1) {
      kernels.interleave_bytes(bytes, plane.channels, plane.width, out);
    } else {
      kernels.interleave_words(words, plane.channels, plane.width,
                               reinterpret_cast<uint16_t*>(out));
    }
    std::fill(out + row_bytes, out + plane.stride, uint8_t{0});
  }
}

// Fills `bytes` bytes with the samples of no colour.
void FillWithMiddle(int sample_bytes, size_t bytes, uint8_t* out) {
  if (sample_bytes == 1) {
    std::fill_n(out, bytes, uint8_t{0x80});
  } else {
    std::fill_n(reinterpret_cast<uint16_t*>(out), bytes / 2, uint16_t{0x8000});
  }
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

absl::Status SurfaceWriter::Write(const AVFrame& frame, const SurfaceLayout& layout, uint8_t* out) {
  if (frame.width != layout.width || frame.height != layout.height) {
    return absl::InternalError("a frame of another size than its surface");
  }
  if (color_ != SurfaceColor::kNative) return WriteRgb(frame, out);
  const auto format = static_cast<AVPixelFormat>(frame.format);
  int component = 0;
  for (int i = 0; i < layout.num_planes; ++i) {
    const SurfaceLayout::Plane& plane = layout.planes[static_cast<size_t>(i)];
    uint8_t* const to = out + plane.offset;
    if (i > 0 && ColorModelOf(format) == ColorModel::kGray) {
      FillWithMiddle(layout.sample_bytes, layout.bytes - plane.offset, to);
      break;
    }
    std::vector<PlaneReader> readers;
    for (int c = 0; c < plane.channels; ++c) {
      readers.emplace_back(format, frame.width, frame.height, component++);
    }
    WritePlane(frame, plane, layout.sample_bytes, &readers, to);
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
