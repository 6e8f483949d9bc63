#include "tf_nvcodec/core/row_sink.h"

#include <cstring>

namespace nvc {
namespace {

constexpr int kBand = 32;

template <size_t kBytes>
void ReversePixels(const uint8_t* from, int count, uint8_t* to) {
  to += (static_cast<size_t>(count) - 1) * kBytes;
  for (int i = 0; i < count; ++i) memcpy(to - i * kBytes, from + i * kBytes, kBytes);
}

// to[i] = from[i * stride], or from the last to the first.
template <size_t kBytes>
void GatherPixels(const uint8_t* from, ptrdiff_t stride, int count, uint8_t* to) {
  for (int i = 0; i < count; ++i) memcpy(to + i * kBytes, from + i * stride, kBytes);
}

template <template <size_t> class Function, typename... Args>
void ForPixelBytes(size_t bytes, Args... args) {
  switch (bytes) {
    case 1:
      return Function<1>::Run(args...);
    case 2:
      return Function<2>::Run(args...);
    case 3:
      return Function<3>::Run(args...);
    case 4:
      return Function<4>::Run(args...);
    case 6:
      return Function<6>::Run(args...);
    default:
      return Function<12>::Run(args...);
  }
}

template <size_t kBytes>
struct ReverseFunction {
  static void Run(const uint8_t* from, int count, uint8_t* to) {
    ReversePixels<kBytes>(from, count, to);
  }
};
template <size_t kBytes>
struct GatherFunction {
  static void Run(const uint8_t* from, ptrdiff_t stride, int count, uint8_t* to) {
    GatherPixels<kBytes>(from, stride, count, to);
  }
};

}  // namespace

RowSink::RowSink(int rotation, int width, int height, size_t pixel_bytes)
    : rotation_(rotation), width_(width), height_(height), pixel_bytes_(pixel_bytes) {
  band_ = rotation == 90 || rotation == 270 ? kBand : 1;
  if (rotation != 0) rows_.resize(static_cast<size_t>(width) * pixel_bytes * band_);
}

void RowSink::Begin(void* out) { out_ = static_cast<uint8_t*>(out); }

uint8_t* RowSink::Row(int y) {
  const size_t row_bytes = width_ * pixel_bytes_;
  return rotation_ == 0 ? out_ + y * row_bytes : rows_.data() + (y % band_) * row_bytes;
}

void RowSink::Commit(int y) {
  if (rotation_ == 0) return;
  if (rotation_ == 180) {
    Reverse(y);
  } else if (y % band_ == band_ - 1 || y == height_ - 1) {
    Turn(y);
  }
}

void RowSink::Reverse(int y) {
  uint8_t* to = out_ + static_cast<size_t>(height_ - 1 - y) * width_ * pixel_bytes_;
  ForPixelBytes<ReverseFunction>(pixel_bytes_, static_cast<const uint8_t*>(rows_.data()), width_,
                                 to);
}

void RowSink::Turn(int last) {
  const int first = last - last % band_;
  const int count = last - first + 1;
  const ptrdiff_t row_bytes = width_ * pixel_bytes_;
  const bool clockwise = rotation_ == 90;
  // Clockwise, the lowest stored row is the leftmost column.
  const int left = clockwise ? height_ - 1 - last : first;
  const uint8_t* rows = rows_.data() + (clockwise ? (count - 1) * row_bytes : 0);
  const ptrdiff_t stride = clockwise ? -row_bytes : row_bytes;
  for (int x = 0; x < width_; ++x) {
    const size_t shown_row = clockwise ? x : width_ - 1 - x;
    uint8_t* to = out_ + (shown_row * height_ + left) * pixel_bytes_;
    ForPixelBytes<GatherFunction>(pixel_bytes_, rows + x * pixel_bytes_, stride, count, to);
  }
}

}  // namespace nvc
