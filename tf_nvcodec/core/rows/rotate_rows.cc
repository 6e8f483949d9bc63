#include "tf_nvcodec/core/rows/rotate_rows.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tf_nvcodec/core/rows/rotate_rows.cc"
#include "hwy/foreach_target.h"
// This comes after foreach_target.h, which includes this file once for each instruction set.
#include "tf_nvcodec/core/rows/vectors-inl.h"

namespace nvc {
namespace {

// Turns rows [first_row, rows) of columns [first_column, width), one pixel at a time. It is
// compiled once, without AVX2, because GCC makes slower loops of it with AVX2.
void TurnPixels(const uint8_t* from, ptrdiff_t from_stride, int first_row, int rows,
                int first_column, int width, size_t pixel_bytes, uint8_t* to, ptrdiff_t to_stride);

}  // namespace
}  // namespace nvc

HWY_BEFORE_NAMESPACE();
namespace nvc {
namespace HWY_NAMESPACE {
namespace {

#if NVC_HAS_VECTORS

// Pixels of 1 and 3 bytes are turned in blocks of 8 by 8 pixels.
constexpr int kBlock = 8;

constexpr hn::Full128<uint8_t> kBytes;
using Bytes = hn::Vec<decltype(kBytes)>;

// InterleaveLower and InterleaveUpper for elements of type T.
template <typename T, class V>
HWY_INLINE V ZipLower(V a, V b) {
  const hn::Repartition<T, hn::DFromV<V>> d;
  return hn::BitCast(hn::DFromV<V>(), hn::InterleaveLower(d, hn::BitCast(d, a), hn::BitCast(d, b)));
}
template <typename T, class V>
HWY_INLINE V ZipUpper(V a, V b) {
  const hn::Repartition<T, hn::DFromV<V>> d;
  return hn::BitCast(hn::DFromV<V>(), hn::InterleaveUpper(d, hn::BitCast(d, a), hn::BitCast(d, b)));
}

HWY_INLINE Bytes Load8(const uint8_t* from) {
  return hn::ZeroExtendVector(kBytes, hn::LoadU(hn::Half<decltype(kBytes)>(), from));
}
HWY_INLINE void StoreLower8(Bytes v, uint8_t* to) {
  const hn::Half<decltype(kBytes)> half;
  hn::StoreU(hn::LowerHalf(half, v), half, to);
}
HWY_INLINE void StoreUpper8(Bytes v, uint8_t* to) {
  const hn::Half<decltype(kBytes)> half;
  hn::StoreU(hn::UpperHalf(half, v), half, to);
}
HWY_INLINE void Store12(Bytes v, uint8_t* to) {
  StoreLower8(v, to);
  const uint32_t last = hn::ExtractLane(hn::BitCast(hn::Full128<uint32_t>(), v), 2);
  memcpy(to + 8, &last, sizeof(last));
}

HWY_INLINE void TurnBlock1(const uint8_t* from, ptrdiff_t from_stride, uint8_t* to,
                           ptrdiff_t to_stride) {
  Bytes rows[4];
  for (int r = 0; r < 4; ++r) {
    rows[r] = ZipLower<uint8_t>(Load8(from + 2 * r * from_stride),
                                Load8(from + (2 * r + 1) * from_stride));
  }
  const Bytes a = ZipLower<uint16_t>(rows[0], rows[1]), b = ZipUpper<uint16_t>(rows[0], rows[1]);
  const Bytes c = ZipLower<uint16_t>(rows[2], rows[3]), d = ZipUpper<uint16_t>(rows[2], rows[3]);
  const Bytes columns[4] = {ZipLower<uint32_t>(a, c), ZipUpper<uint32_t>(a, c),
                            ZipLower<uint32_t>(b, d), ZipUpper<uint32_t>(b, d)};
  for (int k = 0; k < 4; ++k) {
    StoreLower8(columns[k], to + 2 * k * to_stride);
    StoreUpper8(columns[k], to + (2 * k + 1) * to_stride);
  }
}

// Byte orders that widen four pixels of 3 bytes to 4 bytes in each block of 16 bytes, and that
// narrow them again.
alignas(16) constexpr uint8_t kWiden[16] = {0, 1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 9, 10, 11, 0};
alignas(16) constexpr uint8_t kNarrow[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0};

// of[k] has pixel k of each of four rows, in each block of 16 bytes.
template <class V>
struct Columns {
  V of[4];
};
template <class V>
HWY_INLINE Columns<V> Transpose(const V rows[4]) {
  const V a = ZipLower<uint32_t>(rows[0], rows[1]), b = ZipUpper<uint32_t>(rows[0], rows[1]);
  const V c = ZipLower<uint32_t>(rows[2], rows[3]), d = ZipUpper<uint32_t>(rows[2], rows[3]);
  return {{ZipLower<uint64_t>(a, c), ZipUpper<uint64_t>(a, c), ZipLower<uint64_t>(b, d),
           ZipUpper<uint64_t>(b, d)}};
}

HWY_INLINE void TurnBlock3(const uint8_t* from, ptrdiff_t from_stride, uint8_t* to,
                           ptrdiff_t to_stride) {
#if HWY_MAX_BYTES == 32
  const Tag<uint8_t> d;
  const auto widen = hn::LoadDup128(d, kWiden), narrow = hn::LoadDup128(d, kNarrow);
  // Columns 0 to 3 are in the low blocks and 4 to 7 in the high ones.
  Vector<uint8_t> rows[kBlock];
  for (int r = 0; r < kBlock; ++r) {
    const uint8_t* row = from + r * from_stride;
    const auto pixels = hn::Combine(d, hn::LoadU(kBytes, row + 12), hn::LoadU(kBytes, row));
    rows[r] = hn::TableLookupBytes(pixels, widen);
  }
  Columns<Vector<uint8_t>> top = Transpose(rows), bottom = Transpose(rows + 4);
  for (int k = 0; k < 4; ++k) {
    SwapBlocks<uint8_t>(&top.of[k], &bottom.of[k]);
    const auto store = [&](Vector<uint8_t> column, uint8_t* run) HWY_ATTR {
      column = hn::TableLookupBytes(column, narrow);
      hn::StoreU(hn::LowerHalf(kBytes, column), kBytes, run);
      Store12(hn::UpperHalf(kBytes, column), run + 12);
    };
    store(top.of[k], to + k * to_stride);
    store(bottom.of[k], to + (k + 4) * to_stride);
  }
#else
  const Bytes widen = hn::Load(kBytes, kWiden), narrow = hn::Load(kBytes, kNarrow);
  for (int x = 0; x < kBlock; x += 4) {
    for (int y = 0; y < kBlock; y += 4) {
      Bytes rows[4];
      for (int r = 0; r < 4; ++r) {
        const uint8_t* row = from + (y + r) * from_stride + 3 * x;
        rows[r] = hn::TableLookupBytes(hn::LoadU(kBytes, row), widen);
      }
      const Columns<Bytes> columns = Transpose(rows);
      for (int k = 0; k < 4; ++k) {
        Store12(hn::TableLookupBytes(columns.of[k], narrow), to + (x + k) * to_stride + 3 * y);
      }
    }
  }
#endif
}

#endif  // NVC_HAS_VECTORS

void Turn(const uint8_t* from, ptrdiff_t from_stride, int rows, int width, size_t pixel_bytes,
          uint8_t* to, ptrdiff_t to_stride) {
#if NVC_HAS_VECTORS
  const bool blocks = pixel_bytes == 1 || pixel_bytes == 3;
  const int block_rows = blocks ? rows / kBlock * kBlock : 0;
  const int block_columns = blocks ? width / kBlock * kBlock : 0;
  for (int x = 0; x < block_columns; x += kBlock) {
    for (int r = 0; r < block_rows; r += kBlock) {
      const uint8_t* block = from + r * from_stride + x * static_cast<ptrdiff_t>(pixel_bytes);
      uint8_t* run = to + x * to_stride + r * static_cast<ptrdiff_t>(pixel_bytes);
      if (pixel_bytes == 1) {
        TurnBlock1(block, from_stride, run, to_stride);
      } else {
        TurnBlock3(block, from_stride, run, to_stride);
      }
    }
  }
#else
  const int block_rows = 0, block_columns = 0;
#endif
  TurnPixels(from, from_stride, 0, block_rows, block_columns, width, pixel_bytes, to, to_stride);
  TurnPixels(from, from_stride, block_rows, rows, 0, width, pixel_bytes, to, to_stride);
}

void Reverse(const uint8_t* from, int count, size_t pixel_bytes, uint8_t* to) {
  int i = 0;
#if NVC_HAS_VECTORS
  if (pixel_bytes == 1) {
    alignas(16) static constexpr uint8_t kOrder[16] = {15, 14, 13, 12, 11, 10, 9, 8,
                                                       7,  6,  5,  4,  3,  2,  1, 0};
    const Bytes order = hn::Load(kBytes, kOrder);
    for (; i + 16 <= count; i += 16) {
      hn::StoreU(hn::TableLookupBytes(hn::LoadU(kBytes, from + i), order), kBytes,
                 to + count - 16 - i);
    }
  } else if (pixel_bytes == 3) {
    // Each store writes five pixels and one byte more, which the next store overwrites.
    alignas(16) static constexpr uint8_t kOrder[16] = {0, 12, 13, 14, 9, 10, 11, 6,
                                                       7, 8,  3,  4,  5, 0,  1,  2};
    const Bytes order = hn::Load(kBytes, kOrder);
    for (; i + 6 <= count; i += 5) {
      hn::StoreU(hn::TableLookupBytes(hn::LoadU(kBytes, from + 3 * i), order), kBytes,
                 to + 3 * (count - i) - 16);
    }
  }
#endif
  // A reversal turns one row into runs of one pixel, the last one first.
  const ptrdiff_t run = static_cast<ptrdiff_t>(pixel_bytes);
  TurnPixels(from + i * run, 0, 0, 1, 0, count - i, pixel_bytes, to + (count - i - 1) * run, -run);
}

constexpr RotateKernels kRotateKernels = {Reverse, Turn};

}  // namespace

}  // namespace HWY_NAMESPACE
}  // namespace nvc
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nvc {
namespace {

template <size_t kPixelBytes>
void TurnBy(const uint8_t* from, ptrdiff_t from_stride, int first_row, int rows, int first_column,
            int width, uint8_t* to, ptrdiff_t to_stride) {
  for (int x = first_column; x < width; ++x) {
    const uint8_t* column = from + x * kPixelBytes;
    uint8_t* run = to + x * to_stride;
    for (int r = first_row; r < rows; ++r) {
      memcpy(run + r * kPixelBytes, column + r * from_stride, kPixelBytes);
    }
  }
}

void TurnPixels(const uint8_t* from, ptrdiff_t from_stride, int first_row, int rows,
                int first_column, int width, size_t pixel_bytes, uint8_t* to, ptrdiff_t to_stride) {
  switch (pixel_bytes) {
    case 1:
      return TurnBy<1>(from, from_stride, first_row, rows, first_column, width, to, to_stride);
    case 2:
      return TurnBy<2>(from, from_stride, first_row, rows, first_column, width, to, to_stride);
    case 3:
      return TurnBy<3>(from, from_stride, first_row, rows, first_column, width, to, to_stride);
    case 4:
      return TurnBy<4>(from, from_stride, first_row, rows, first_column, width, to, to_stride);
    case 6:
      return TurnBy<6>(from, from_stride, first_row, rows, first_column, width, to, to_stride);
    default:
      return TurnBy<12>(from, from_stride, first_row, rows, first_column, width, to, to_stride);
  }
}

}  // namespace

const RotateKernels& GetRotateKernels(Simd simd) { return NVC_CHOOSE(simd, kRotateKernels); }
}  // namespace nvc
#endif  // HWY_ONCE
