#include "tf_nvcodec/core/convert/row_sink.h"

namespace nvc {
namespace {

// A quarter turn writes runs of this many pixels.
constexpr int kBand = 32;

}  // namespace

RowSink::RowSink(int rotation, int width, int height, size_t pixel_bytes)
    : kernels_(GetRotateKernels(BestSimd())),
      rotation_(rotation),
      width_(width),
      height_(height),
      pixel_bytes_(pixel_bytes),
      row_bytes_(width * pixel_bytes),
      band_(rotation == 90 || rotation == 270 ? kBand : 1) {
  if (rotation != 0) rows_.resize(row_bytes_ * band_ + kTurnSlack);
}

void RowSink::Begin(void* out) { out_ = static_cast<uint8_t*>(out); }

uint8_t* RowSink::Row(int y) {
  return rotation_ == 0 ? out_ + y * row_bytes_ : rows_.data() + (y % band_) * row_bytes_;
}

void RowSink::Commit(int y) {
  if (rotation_ == 0) return;
  if (rotation_ == 180) {
    kernels_.reverse(rows_.data(), width_, pixel_bytes_, out_ + (height_ - 1 - y) * row_bytes_);
  } else if (y % band_ == band_ - 1 || y == height_ - 1) {
    Turn(y);
  }
}

void RowSink::Turn(int last) {
  const int first = last - last % band_;
  const int count = last - first + 1;
  const ptrdiff_t row_bytes = row_bytes_;
  const ptrdiff_t shown_row_bytes = height_ * pixel_bytes_;
  if (rotation_ == 90) {
    // The lowest stored row becomes the leftmost column.
    kernels_.turn(rows_.data() + (count - 1) * row_bytes, -row_bytes, count, width_, pixel_bytes_,
                  out_ + (height_ - 1 - last) * pixel_bytes_, shown_row_bytes);
  } else {
    // The rightmost stored column becomes the highest row.
    kernels_.turn(rows_.data(), row_bytes, count, width_, pixel_bytes_,
                  out_ + (width_ - 1) * shown_row_bytes + first * pixel_bytes_, -shown_row_bytes);
  }
}

}  // namespace nvc
