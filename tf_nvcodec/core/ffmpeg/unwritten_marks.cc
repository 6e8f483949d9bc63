#include "tf_nvcodec/core/ffmpeg/unwritten_marks.h"

#include <algorithm>
#include <cstring>

namespace nvc {
namespace {

// The smallest block that a decoder leaves out: VP8's macroblock, HEVC's smallest coding tree
// block.
constexpr int kBlock = 16;
// Blocks are left out up to the end of a row, which always has a mark, or up to the next slice. In
// between, marks are sparser, since HEVC's blocks are 32 or 64 wide nearly always.
constexpr int kStep = 2 * kBlock;
// A mark is five samples inside of eight. Deblocking changes up to three samples on either side of
// a block's edge, and the block beside may have been written.
constexpr int kMargin = 3, kSamples = 5;
// Neighbouring samples of a video hardly ever jump like this. In pictures of 9 to 12 bits, some of
// these samples are impossible.
constexpr uint8_t kMark[2 * kSamples] = {0x5b, 0xe2, 0x07, 0xb9, 0x3c,
                                         0xd6, 0x11, 0xa8, 0x74, 0xf5};

// Calls `visit` with the place of each mark until it returns true; returns whether it did.
template <typename Visit>
bool AnyMark(const MarkedPlane& plane, const Visit& visit) {
  if (plane.width < kMargin + kSamples) return false;
  const int last_x =
      std::min((plane.width - 1) / kBlock * kBlock, plane.width - kMargin - kSamples);
  for (int y = 0; y < plane.height; y += kBlock) {
    uint8_t* const row = plane.data + std::min(y + kMargin, plane.height - 1) * plane.linesize;
    for (int x = 0; x < last_x; x += kStep) {
      if (visit(row + (x + kMargin) * plane.sample_bytes)) return true;
    }
    if (visit(row + (last_x + kMargin) * plane.sample_bytes)) return true;
  }
  return false;
}

size_t MarkBytes(const MarkedPlane& plane) {
  return static_cast<size_t>(kSamples * std::min(plane.sample_bytes, 2));
}

}  // namespace

void WriteMarks(const MarkedPlane& plane) {
  const size_t bytes = MarkBytes(plane);
  AnyMark(plane, [bytes](uint8_t* at) {
    std::memcpy(at, kMark, bytes);
    return false;
  });
}

bool HasMarks(const MarkedPlane& plane) {
  const size_t bytes = MarkBytes(plane);
  return AnyMark(plane, [bytes](const uint8_t* at) { return std::memcmp(at, kMark, bytes) == 0; });
}

}  // namespace nvc
