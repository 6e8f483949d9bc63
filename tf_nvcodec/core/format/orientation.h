// The eight ways of showing a stored frame without resampling it: mirrors and quarter turns.
#ifndef TF_NVCODEC_CORE_FORMAT_ORIENTATION_H_
#define TF_NVCODEC_CORE_FORMAT_ORIENTATION_H_

#include <cstdint>
#include <optional>

namespace nvc {

struct Orientation {
  bool turned = false;  // stored rows are shown as columns
  bool flip_x = false;  // stored columns are shown in reverse
  bool flip_y = false;  // stored rows are shown in reverse

  // The same in words: a stored frame is first mirrored left to right, if it is mirrored, and then
  // turned clockwise by so many degrees (0, 90, 180 or 270).
  bool mirrored() const { return (flip_x != flip_y) != turned; }
  int rotation() const { return turned ? (flip_y ? 90 : 270) : (flip_y ? 180 : 0); }

  // Whether each stored row is shown as a row, from left to right.
  bool keeps_rows() const { return !turned && !flip_x; }
  bool operator==(const Orientation& other) const {
    return turned == other.turned && flip_x == other.flip_x && flip_y == other.flip_y;
  }
};

// A display matrix (a b u, c d v, x y w) shows the stored point (p, q) at (a p + c q + x,
// b p + d q + y). This returns nothing for a matrix that is none of the eight: another angle, a
// shear, a perspective. As FFmpeg does, it ignores by how much the matrix scales and moves.
std::optional<Orientation> OrientationOf(const int32_t matrix[9]);

// Writes a display matrix that asks for `orientation`.
void SetDisplayMatrix(const Orientation& orientation, int32_t matrix[9]);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FORMAT_ORIENTATION_H_
