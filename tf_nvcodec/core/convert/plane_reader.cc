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

// A palette entry is 0xAARRGGBB in the machine's byte order.
void UnpackPalette(const uint8_t* from, const uint8_t* palette, int component, int count,
                   uint8_t* to) {
  const int shift = 16 - 8 * component;
  for (int i = 0; i < count; ++i) {
    uint32_t entry;
    memcpy(&entry, palette + 4 * from[i], sizeof(entry));
    to[i] = static_cast<uint8_t>(entry >> shift);
  }
}

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
    : kernels_(&GetUnpackKernels(BestSimd())),
      descriptor_(av_pix_fmt_desc_get(format)),
      component_(descriptor_->comp[component]),
      index_(component),
      white_is_zero_(format == AV_PIX_FMT_MONOWHITE),
      swapped_(((descriptor_->flags & AV_PIX_FMT_FLAG_BE) != 0) != kHostIsBigEndian) {
  const bool chroma = component > 0 && ColorModelOf(format) == ColorModel::kYuv;
  log2_width_ = chroma ? descriptor_->log2_chroma_w : 0;
  log2_height_ = chroma ? descriptor_->log2_chroma_h : 0;
  width_ = AV_CEIL_RSHIFT(width, log2_width_);
  height_ = AV_CEIL_RSHIFT(height, log2_height_);
  depth_ = component_.depth;
  const int stored_bits = component_.shift + depth_;
  if ((descriptor_->flags & AV_PIX_FMT_FLAG_PAL) != 0) {
    component_ = descriptor_->comp[0];
    depth_ = 8;
    unpacking_ = Unpacking::kPalette;
  } else if ((descriptor_->flags & AV_PIX_FMT_FLAG_BITSTREAM) != 0) {
    unpacking_ = Unpacking::kBits;
  } else if (stored_bits <= 8) {
    // FFmpeg's own readers skip the high byte here; see av_read_image_line2.
    if ((descriptor_->flags & AV_PIX_FMT_FLAG_BE) != 0) ++component_.offset;
    unpacking_ = component_.step == 1 && component_.shift == 0 && depth_ == 8 ? Unpacking::kNone
                                                                              : Unpacking::kBytes;
  } else if (stored_bits <= 16) {
    unpacking_ = component_.step == 2 && component_.shift == 0 && !swapped_ ? Unpacking::kNone
                                                                            : Unpacking::kWords;
  } else {
    unpacking_ = Unpacking::kLongWords;
  }
  wide_ = unpacking_ != Unpacking::kPalette && (unpacking_ == Unpacking::kBits || stored_bits > 8);
  ReserveBuffers(1);
}

void PlaneReader::ReserveBuffers(int buffers) {
  // A frame's words may lie at odd addresses. Row then copies them.
  if (unpacking_ != Unpacking::kNone || wide_)
    buffers_.resize(static_cast<size_t>(width_) * buffers);
}

const void* PlaneReader::Row(const AVFrame& frame, int y, int left, int count, int buffer) {
  const int plane = component_.plane;
  const uint8_t* row =
      frame.data[plane] + static_cast<ptrdiff_t>(y) * frame.linesize[plane] + component_.offset;
  const uint8_t* from = row + static_cast<ptrdiff_t>(left) * component_.step;
  if (unpacking_ == Unpacking::kNone &&
      (!wide_ || reinterpret_cast<uintptr_t>(from) % sizeof(uint16_t) == 0)) {
    return from;
  }
  uint16_t* words = buffers_.data() + static_cast<size_t>(width_) * buffer;
  uint8_t* bytes = reinterpret_cast<uint8_t*>(words);
  const Packing packing = {component_.step, component_.shift, depth_, swapped_};
  switch (unpacking_) {
    case Unpacking::kNone:
      memcpy(words, from, count * sizeof(uint16_t));
      return words;
    case Unpacking::kBytes:
      kernels_->bytes(from, packing, count, bytes);
      return bytes;
    case Unpacking::kWords:
      kernels_->words(from, packing, count, words);
      return words;
    case Unpacking::kLongWords:
      kernels_->longs(from, packing, count, words);
      return words;
    case Unpacking::kPalette:
      UnpackPalette(from, frame.data[1], index_, count, bytes);
      return bytes;
    case Unpacking::kBits: {
      const uint8_t* planes[4] = {frame.data[0], frame.data[1], frame.data[2], frame.data[3]};
      av_read_image_line2(words, planes, frame.linesize, descriptor_, left, y, index_, count, 0,
                          sizeof(uint16_t));
      if (white_is_zero_) {
        for (int i = 0; i < count; ++i) words[i] ^= 1;
      }
      return words;
    }
  }
  return nullptr;
}

}  // namespace nvc
