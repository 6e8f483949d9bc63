#include "tf_nvcodec/core/rows/rotate_rows.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/core/testing/orientations.h"
#include "tf_nvcodec/core/convert/row_sink.h"

namespace nvc {
namespace {

std::vector<uint8_t> Pixels(int count, size_t pixel_bytes) {
  std::vector<uint8_t> pixels(count * pixel_bytes);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 37 + i / 251);
  return pixels;
}

// Returns the picture as shown. It moves one pixel at a time, first as the mirror does and then as
// the turn does.
std::vector<uint8_t> Shown(const std::vector<uint8_t>& from, int width, int height,
                           size_t pixel_bytes, const Orientation& orientation) {
  const int rotation = orientation.rotation();
  const int shown_width = rotation % 180 == 0 ? width : height;
  std::vector<uint8_t> to(from.size());
  for (int y = 0; y < height; ++y) {
    for (int stored_x = 0; stored_x < width; ++stored_x) {
      const int x = orientation.mirrored() ? width - 1 - stored_x : stored_x;
      const int shown_x = rotation == 0     ? x
                          : rotation == 90  ? height - 1 - y
                          : rotation == 180 ? width - 1 - x
                                            : y;
      const int shown_y = rotation == 0     ? y
                          : rotation == 90  ? x
                          : rotation == 180 ? height - 1 - y
                                            : width - 1 - x;
      for (size_t b = 0; b < pixel_bytes; ++b) {
        to[(shown_y * shown_width + shown_x) * pixel_bytes + b] =
            from[(y * width + stored_x) * pixel_bytes + b];
      }
    }
  }
  return to;
}

TEST(RowSinkTest, EveryOrientationSizeAndPixel) {
  for (const Orientation& orientation : kOrientations) {
    for (size_t pixel_bytes : {1, 2, 3, 4, 6, 12}) {
      for (int width : {1, 5, 6, 7, 8, 16, 17, 40}) {
        for (int height : {1, 7, 8, 31, 32, 33, 70}) {
          const std::vector<uint8_t> from = Pixels(width * height, pixel_bytes);
          std::vector<uint8_t> to(from.size() + 16, 0xa5);
          RowSink sink(orientation, width, height, pixel_bytes);
          sink.Begin(to.data(), sink.shown_row_bytes());
          const size_t row_bytes = width * pixel_bytes;
          for (int y = 0; y < height; ++y) {
            std::copy_n(from.data() + y * row_bytes, row_bytes, sink.Row(y));
            sink.Commit(y);
          }
          for (int i = 0; i < 16; ++i) ASSERT_EQ(to[from.size() + i], 0xa5);
          to.resize(from.size());
          ASSERT_EQ(to, Shown(from, width, height, pixel_bytes, orientation))
              << orientation.mirrored() << " " << orientation.rotation() << " " << pixel_bytes
              << " " << width << "x" << height;
        }
      }
    }
  }
}

TEST(RotateRowsTest, ReversalGivesTheSameBytesAtEveryWidth) {
  for (size_t pixel_bytes : {1, 2, 3, 4, 6, 12}) {
    for (int count = 1; count <= 130; ++count) {
      const std::vector<uint8_t> from = Pixels(count, pixel_bytes);
      const std::vector<uint8_t> expected = Shown(from, count, 1, pixel_bytes, kOrientations[4]);
      for (Simd simd : SupportedSimd()) {
        std::vector<uint8_t> to(from.size());
        GetRotateKernels(simd).reverse(from.data(), count, pixel_bytes, to.data());
        ASSERT_EQ(to, expected) << pixel_bytes << " " << count;
      }
    }
  }
}

TEST(RotateRowsTest, TurnsGiveTheSameBytes) {
  for (size_t pixel_bytes : {1, 2, 3, 4, 6, 12}) {
    for (int rows : {1, 8, 9, 24, 32}) {
      for (int width = 1; width <= 66; ++width) {
        std::vector<uint8_t> from = Pixels(rows * width, pixel_bytes);
        const size_t bytes = from.size();
        from.resize(bytes + kTurnSlack);
        std::vector<uint8_t> portable(bytes);
        const ptrdiff_t stride = width * pixel_bytes, run = rows * pixel_bytes;
        GetRotateKernels(Simd::kPortable)
            .turn(from.data(), stride, rows, width, pixel_bytes, portable.data(), run);
        for (Simd simd : SupportedSimd()) {
          std::vector<uint8_t> to(bytes);
          GetRotateKernels(simd).turn(from.data(), stride, rows, width, pixel_bytes, to.data(),
                                      run);
          ASSERT_EQ(to, portable) << pixel_bytes << " " << rows << " " << width;
        }
      }
    }
  }
}

}  // namespace
}  // namespace nvc
