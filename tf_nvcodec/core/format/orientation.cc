#include "tf_nvcodec/core/format/orientation.h"

#include <algorithm>

namespace nvc {

std::optional<Orientation> OrientationOf(const int32_t matrix[9]) {
  const int32_t a = matrix[0], b = matrix[1], c = matrix[3], d = matrix[4];
  const bool turned = a == 0 && d == 0;
  const int32_t along_x = turned ? b : a, along_y = turned ? c : d;
  const bool straight = turned || (b == 0 && c == 0);
  const bool perspective = matrix[2] != 0 || matrix[5] != 0;
  if (!straight || perspective || along_x == 0 || along_y == 0) return std::nullopt;
  return Orientation{turned, along_x < 0, along_y < 0};
}

void SetDisplayMatrix(const Orientation& orientation, int32_t matrix[9]) {
  constexpr int32_t kOne = 1 << 16, kOneOfW = 1 << 30;
  std::fill_n(matrix, 9, 0);
  matrix[orientation.turned ? 1 : 0] = orientation.flip_x ? -kOne : kOne;
  matrix[orientation.turned ? 3 : 4] = orientation.flip_y ? -kOne : kOne;
  matrix[8] = kOneOfW;
}

}  // namespace nvc
