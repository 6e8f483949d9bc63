#include "tf_nvcodec/core/ffmpeg/unwritten_marks.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

namespace nvc {
namespace {

constexpr int kBlock = 16;

// A plane of samples of one or two bytes, with a little room after each row.
class Picture {
 public:
  Picture(int width, int height, int sample_bytes)
      : linesize_((width + 5) * sample_bytes),
        bytes_(static_cast<size_t>(linesize_) * static_cast<size_t>(height), 0x80),
        plane_{bytes_.data(), linesize_, width, height, sample_bytes} {
    WriteMarks(plane_);
  }

  // Writes all samples of a rectangle, which may reach beyond the picture.
  void Write(int left, int top, int right, int bottom) {
    for (int y = std::max(top, 0); y < std::min(bottom, plane_.height); ++y) {
      for (int x = std::max(left, 0) * plane_.sample_bytes;
           x < std::min(right, plane_.width) * plane_.sample_bytes; ++x) {
        bytes_[static_cast<size_t>(y * linesize_ + x)] = 0x10;
      }
    }
  }

  bool HasMarks() const { return nvc::HasMarks(plane_); }

 private:
  int linesize_;
  std::vector<uint8_t> bytes_;
  MarkedPlane plane_;
};

class UnwrittenMarksTest : public ::testing::TestWithParam<int> {};

TEST_P(UnwrittenMarksTest, ACompletePictureHasNone) {
  for (const int width : {8, 16, 24, 40, 64, 97}) {
    for (const int height : {8, 16, 20, 33, 64}) {
      Picture picture(width, height, GetParam());
      EXPECT_TRUE(picture.HasMarks()) << width << "x" << height;
      picture.Write(0, 0, width, height);
      EXPECT_FALSE(picture.HasMarks()) << width << "x" << height;
    }
  }
}

// All blocks before the last one of a row are written, and with them three samples beyond each
// edge, as deblocking does.
TEST_P(UnwrittenMarksTest, TheLastBlockOfARowIsMissed) {
  for (const int width : {16, 24, 40, 64, 88}) {
    const int height = 56, last = (width - 1) / kBlock * kBlock;
    for (int row = 0; row < height; row += kBlock) {
      Picture picture(width, height, GetParam());
      picture.Write(0, 0, width, row + 3);
      picture.Write(0, row + kBlock - 3, width, height);
      picture.Write(0, row, last + 3, row + kBlock);
      EXPECT_TRUE(picture.HasMarks()) << width << ", row " << row;
    }
  }
}

TEST_P(UnwrittenMarksTest, AnyBlockOf32IsMissed) {
  const int side = 2 * kBlock, width = 4 * side, height = 3 * side;
  for (int y = 0; y < height; y += side) {
    for (int x = 0; x < width; x += side) {
      Picture picture(width, height, GetParam());
      picture.Write(0, 0, width, y + 3);
      picture.Write(0, y + side - 3, width, height);
      picture.Write(0, y, x + 3, y + side);
      picture.Write(x + side - 3, y, width, y + side);
      EXPECT_TRUE(picture.HasMarks()) << x << ", " << y;
    }
  }
}

TEST(UnwrittenMarks, APictureTooSmallForAMarkIsTakenAsComplete) {
  Picture picture(4, 4, 1);
  EXPECT_FALSE(picture.HasMarks());
}

INSTANTIATE_TEST_SUITE_P(SampleBytes, UnwrittenMarksTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace nvc
