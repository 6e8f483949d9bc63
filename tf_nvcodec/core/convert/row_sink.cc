#include "tf_nvcodec/core/convert/row_sink.h"

namespace nvc {
namespace {

// A quarter turn writes runs of this many pixels.
constexpr int kBand = 32;

}  // namespace

RowSink::RowSink(Orientation orientation, int width, int height, size_t pixel_bytes)
    : kernels_(GetRotateKernels(BestSimd())),
      orientation_(orientation),
      width_(width),
      height_(height),
      pixel_bytes_(pixel_bytes),
      row_bytes_(width * pixel_bytes),
      band_(orientation.turned ? kBand : 1) {
  if (!orientation.keeps_rows()) rows_.resize(row_bytes_ * band_ + kTurnSlack);
}

void RowSink::Begin(void* out, ptrdiff_t stride) {
  out_ = static_cast<uint8_t*>(out);
  stride_ = stride;
}

uint8_t* RowSink::Row(int y) {
  return orientation_.keeps_rows() ? out_ + Place(y) * stride_
                                   : rows_.data() + (y % band_) * row_bytes_;
}

void RowSink::Commit(int y) {
  if (orientation_.keeps_rows()) return;
  if (!orientation_.turned) {
    kernels_.reverse(rows_.data(), width_, pixel_bytes_, out_ + Place(y) * stride_);
  } else if (y % band_ == band_ - 1 || y == height_ - 1) {
    Turn(y);
  }
}

void RowSink::Turn(int last) {
  const int first = last - last % band_;
  const int count = last - first + 1;
  const ptrdiff_t row_bytes = row_bytes_;
  const bool flip_x = orientation_.flip_x, flip_y = orientation_.flip_y;
  const int leftmost = flip_y ? last : first;  // of these rows, once they are columns
  // Column 0 becomes the highest shown row or the lowest.
  uint8_t* const to = out_ + (flip_x ? width_ - 1 : 0) * stride_;
  kernels_.turn(rows_.data() + (leftmost - first) * row_bytes, flip_y ? -row_bytes : row_bytes,
                count, width_, pixel_bytes_, to + Place(leftmost) * pixel_bytes_,
                flip_x ? -stride_ : stride_);
}

}  // namespace nvc
