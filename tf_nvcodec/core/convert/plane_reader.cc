#include "tf_nvcodec/core/convert/plane_reader.h"

#include <cstring>

#include "absl/strings/str_cat.h"

extern "C" {
#include <libavutil/common.h>
}

namespace nvc {
namespace {

constexpr uint64_t kUnreadable =
    AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT;
constexpr bool kHostIsBigEndian = AV_HAVE_BIGENDIAN != 0;

}  // namespace

absl::Status CheckReadable(AVPixelFormat format) {
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(format);
  if (descriptor == nullptr) {
    return absl::UnimplementedError(absl::StrCat("frames have a pixel format (number ",
                                                 static_cast<int>(format),
                                                 ") that this FFmpeg does not describe"));
  }
  // A descriptor can't tell where luma is in UYYVYY.
  bool readable = (descriptor->flags & kUnreadable) == 0 && format != AV_PIX_FMT_XYZ12LE &&
                  format != AV_PIX_FMT_XYZ12BE && format != AV_PIX_FMT_UYYVYY411 &&
                  descriptor->nb_components >= 1;
  for (int c = 0; c < descriptor->nb_components; ++c) {
    readable = readable && descriptor->comp[c].depth >= 1 && descriptor->comp[c].depth <= 16;
  }
  if (!readable) {
    return absl::UnimplementedError(absl::StrCat(
        "frames stored as ", descriptor->name,
        " can't be converted; ask for pixel_format \"native\" or re-encode the stream as yuv420p"));
  }
  return absl::OkStatus();
}

ColorModel ColorModelOf(AVPixelFormat format) {
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(format);
  if ((descriptor->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0) {
    return ColorModel::kRgb;
  }
  return descriptor->nb_components <= 2 ? ColorModel::kGray : ColorModel::kYuv;
}

PlaneReader::PlaneReader(AVPixelFormat format, int width, int height, int component)
    : kernels_(&GetPackKernels(BestSimd())),
      format_(format),
      descriptor_(av_pix_fmt_desc_get(format)),
      component_(component),
      palette_((descriptor_->flags & AV_PIX_FMT_FLAG_PAL) != 0) {
  const bool chroma = component > 0 && ColorModelOf(format) == ColorModel::kYuv;
  log2_width_ = chroma ? descriptor_->log2_chroma_w : 0;
  log2_height_ = chroma ? descriptor_->log2_chroma_h : 0;
  width_ = AV_CEIL_RSHIFT(width, log2_width_);
  height_ = AV_CEIL_RSHIFT(height, log2_height_);
  const AVComponentDescriptor& stored = descriptor_->comp[component];
  depth_ = palette_ ? 8 : stored.depth;
  const int stored_bits = stored.depth + stored.shift;
  const bool bytes = stored.depth == 8 && stored.shift == 0;
  const bool words = stored_bits > 8 && stored_bits <= 16;
  const bool other_order = ((descriptor_->flags & AV_PIX_FMT_FLAG_BE) != 0) != kHostIsBigEndian;
  if (palette_ || (descriptor_->flags & AV_PIX_FMT_FLAG_BITSTREAM) != 0 ||
      (words ? other_order : !bytes)) {
    storage_ = Storage::kRare;
  } else {
    storage_ =
        stored.step == (words ? 2 : 1) && stored.shift == 0 ? Storage::kTogether : Storage::kApart;
  }
  wide_ = words || storage_ == Storage::kRare;
  ReserveBuffers(1);
}

void PlaneReader::ReserveBuffers(int buffers) {
  // Words that lie together may lie at odd addresses. Row then copies them.
  if (storage_ != Storage::kTogether || wide_) {
    buffers_.resize(static_cast<size_t>(width_) * buffers);
  }
}

const void* PlaneReader::Row(const AVFrame& frame, int y, int left, int count, int buffer) {
  uint16_t* const samples =
      buffers_.empty() ? nullptr : buffers_.data() + static_cast<size_t>(width_) * buffer;
  if (storage_ == Storage::kRare) {
    UnpackRare(frame, y, left, count, samples);
    return samples;
  }
  const AVComponentDescriptor& stored = descriptor_->comp[component_];
  const uint8_t* const from = frame.data[stored.plane] + stored.offset +
                              static_cast<ptrdiff_t>(y) * frame.linesize[stored.plane] +
                              static_cast<ptrdiff_t>(left) * stored.step;
  if (storage_ == Storage::kTogether) {
    if (!wide_ || reinterpret_cast<uintptr_t>(from) % sizeof(uint16_t) == 0) return from;
    memcpy(samples, from, count * sizeof(uint16_t));
  } else if (wide_) {
    kernels_->gather_words(from, stored.step, stored.shift, stored.depth, count, samples);
  } else {
    kernels_->gather_bytes(from, stored.step, count, reinterpret_cast<uint8_t*>(samples));
  }
  return samples;
}

void PlaneReader::UnpackRare(const AVFrame& frame, int y, int left, int count,
                             uint16_t* samples) const {
  const uint8_t* planes[4] = {frame.data[0], frame.data[1], frame.data[2], frame.data[3]};
  av_read_image_line2(samples, planes, frame.linesize, descriptor_, left, y,
                      palette_ ? 0 : component_, count, /*read_pal_component=*/0, sizeof(uint16_t));
  for (int i = 0; palette_ && i < count; ++i) {
    uint32_t color;  // 0xAARRGGBB in the machine's byte order
    memcpy(&color, frame.data[1] + 4 * samples[i], sizeof(color));
    samples[i] = color >> (16 - 8 * component_) & 0xff;
  }
  for (int i = 0; format_ == AV_PIX_FMT_MONOWHITE && i < count; ++i) samples[i] ^= 1;
}

}  // namespace nvc
