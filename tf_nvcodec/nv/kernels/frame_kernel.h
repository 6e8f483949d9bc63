// The colour kernel: makes one output plane or image from the planes of a decoded picture. NVRTC
// compiles this file. It is also plain C++ and includes only its parameters, so that tests need no
// GPU.
//
// When NVRTC compiles this, everything in Config is a constant and every function is inlined, so
// branches on Config cost nothing.
#ifndef TF_NVCODEC_NV_KERNELS_FRAME_KERNEL_H_
#define TF_NVCODEC_NV_KERNELS_FRAME_KERNEL_H_

#include "tf_nvcodec/nv/kernels/frame_kernel_params.h"

#ifdef __CUDACC_RTC__
#define NVC_DEVICE __device__ __forceinline__
#define NVC_UNROLL _Pragma("unroll")
#else
#define NVC_DEVICE inline
#define NVC_UNROLL
#endif

namespace nvc {
namespace frame_kernel {

using Config = FrameKernelConfig;
using Params = FrameKernelParams;
using Axis = FrameKernelAxis;

constexpr int kMaxPixels = 8;
// For one thread: kMaxPixels pixels of three two-byte channels, or half as many of floats.
constexpr int kMaxWords = 12;

struct alignas(8) Words2 {
  unsigned int word[2];
};
struct alignas(16) Words4 {
  unsigned int word[4];
};

// Returns the bits of an IEEE 754 binary16, rounded to nearest even.
#ifdef __CUDACC_RTC__
NVC_DEVICE unsigned int HalfBits(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
NVC_DEVICE unsigned int FloatBits(float value) { return __float_as_uint(value); }
#else
unsigned int HalfBits(float value);
unsigned int FloatBits(float value);
#endif

NVC_DEVICE bool IsAligned(const void* address, int bytes) {
  return (reinterpret_cast<unsigned long long>(address) & static_cast<unsigned>(bytes - 1)) == 0;
}

NVC_DEVICE const unsigned char* RowOf(const Params& p, int plane, int y) {
  return p.planes[plane] + y * p.pitch;
}

// Returns the code value of sample x of a row.
NVC_DEVICE float Code(const Config& c, const Params& p, const unsigned char* row, int x) {
  if (c.sample_bytes == 1) return static_cast<float>(row[x]);
  return static_cast<float>(reinterpret_cast<const unsigned short*>(row)[x] >> p.code_shift);
}

// Returns both code values of pair x of a row. Pairs are aligned to their size.
NVC_DEVICE void CodePair(const Config& c, const Params& p, const unsigned char* row, int x,
                         float* first, float* second) {
  if (c.sample_bytes == 1) {
    const unsigned int pair = reinterpret_cast<const unsigned short*>(row)[x];
    *first = static_cast<float>(pair & 0xff);
    *second = static_cast<float>(pair >> 8);
  } else {
    const unsigned int pair = reinterpret_cast<const unsigned int*>(row)[x];
    *first = static_cast<float>((pair & 0xffff) >> p.code_shift);
    *second = static_cast<float>(pair >> 16 >> p.code_shift);
  }
}

// Luma in `first` alone, or Cb and Cr.
struct Codes {
  float first, second;
};

NVC_DEVICE Codes ReadCodes(const Config& c, const Params& p, bool chroma, int row, int x) {
  Codes codes = {0, 0};
  if (!chroma) {
    codes.first = Code(c, p, RowOf(p, 0, row), x);
  } else if (c.chroma == 1) {
    CodePair(c, p, RowOf(p, 1, row), x, &codes.first, &codes.second);
  } else {
    codes.first = Code(c, p, RowOf(p, 1, row), x);
    codes.second = Code(c, p, RowOf(p, 2, row), x);
  }
  return codes;
}

// Returns the part that lane `lane` adds to the window of stored position (sx, sy).
NVC_DEVICE Codes SumWindow(const Config& c, const Params& p, bool chroma, int sx, int sy,
                           int lane) {
  const Axis& x = p.x[chroma];
  const Axis& y = p.y[chroma];
  const int taps = chroma ? c.chroma_taps : c.luma_taps;
  const int x0 = x.start[sx], y0 = y.start[sy];
  const int columns = taps != 0 ? taps : x.taps, rows = taps != 0 ? taps : y.taps;
  const float* const wx = x.weights + static_cast<long long>(sx) * columns;
  const float* const wy = y.weights + static_cast<long long>(sy) * rows;
  Codes sum = {0, 0};
  NVC_UNROLL
  for (int j = 0; j < rows; ++j) {
    // Summing row by row also keeps the rounding errors of a large window small.
    Codes row = {0, 0};
    NVC_UNROLL
    for (int i = lane; i < columns; i += c.lanes) {
      const Codes codes = ReadCodes(c, p, chroma, y0 + j, x0 + i);
      row.first += wx[i] * codes.first;
      row.second += wx[i] * codes.second;
    }
    sum.first += wy[j] * row.first;
    sum.second += wy[j] * row.second;
  }
  return sum;
}

// Resamples at stored position (sx, sy) with the axes' tables. All lanes of a pixel get the same
// result.
NVC_DEVICE Codes Resample(const Config& c, const Params& p, bool chroma, int sx, int sy) {
  if ((chroma ? c.chroma_taps : c.luma_taps) == 1) {
    return ReadCodes(c, p, chroma, p.y[chroma].start[sy], p.x[chroma].start[sx]);
  }
#ifdef __CUDACC_RTC__
  const unsigned int lane = threadIdx.x % c.lanes;
  Codes sum = SumWindow(c, p, chroma, sx, sy, lane);
  if (c.lanes > 1) {
    // Blocks are a multiple of 32 threads wide, so a pixel's lanes are neighbours in a warp.
    const unsigned int first = threadIdx.x % 32 - lane;
    const unsigned int pixel = (0xffffffffu >> (32 - c.lanes)) << first;
    NVC_UNROLL
    for (int distance = c.lanes / 2; distance > 0; distance /= 2) {
      sum.first += __shfl_xor_sync(pixel, sum.first, distance);
      sum.second += __shfl_xor_sync(pixel, sum.second, distance);
    }
  }
#else
  Codes sum = {0, 0};
  for (int lane = 0; lane < c.lanes; ++lane) {
    const Codes part = SumWindow(c, p, chroma, sx, sy, lane);
    sum.first += part.first;
    sum.second += part.second;
  }
#endif
  return sum;
}

// Loads `count` samples of a row from sample x on, with wide loads if the addresses allow them. The
// samples must take a multiple of four bytes.
NVC_DEVICE void LoadCodes(const Config& c, const Params& p, const unsigned char* row, int x,
                          int count, unsigned int* codes) {
  const unsigned char* const from = row + static_cast<long long>(x) * c.sample_bytes;
  const int bytes = count * c.sample_bytes;
  const int samples = 4 / c.sample_bytes;  // samples in a word
  const unsigned int mask = c.sample_bytes == 1 ? 0xff : 0xffff;
  const int shift = c.sample_bytes == 1 ? 0 : p.code_shift;
  unsigned int words[kMaxPixels] = {};  // for up to 2 * kMaxPixels samples
  if (bytes % 16 == 0 && IsAligned(from, 16)) {
    NVC_UNROLL
    for (int w = 0; w < bytes / 16; ++w) {
      const Words4 read = reinterpret_cast<const Words4*>(from)[w];
      NVC_UNROLL
      for (int k = 0; k < 4; ++k) words[4 * w + k] = read.word[k];
    }
  } else if (bytes % 8 == 0 && IsAligned(from, 8)) {
    NVC_UNROLL
    for (int w = 0; w < bytes / 8; ++w) {
      const Words2 read = reinterpret_cast<const Words2*>(from)[w];
      words[2 * w] = read.word[0];
      words[2 * w + 1] = read.word[1];
    }
  } else if (IsAligned(from, 4)) {
    NVC_UNROLL
    for (int w = 0; w < bytes / 4; ++w) words[w] = reinterpret_cast<const unsigned int*>(from)[w];
  } else {
    NVC_UNROLL
    for (int i = 0; i < count; ++i) {
      codes[i] =
          c.sample_bytes == 1 ? from[i] : reinterpret_cast<const unsigned short*>(from)[i] >> shift;
    }
    return;
  }
  NVC_UNROLL
  for (int i = 0; i < count; ++i) {
    codes[i] = (words[i / samples] >> (8 * c.sample_bytes * (i % samples)) & mask) >> shift;
  }
}

// Loads the codes of c.pixels neighbours from stored (sx, sy) on, without resampling. Only the
// first `count` of them lie inside the picture.
NVC_DEVICE void LoadNeighbours(const Config& c, const Params& p, int sx, int sy, int count,
                               float code[kMaxPixels][3]) {
  NVC_UNROLL
  for (int i = 0; i < c.pixels; ++i) code[i][0] = code[i][1] = code[i][2] = 0;
  const bool whole = count == c.pixels;
  if (c.luma != 0) {
    const unsigned char* const row = RowOf(p, 0, p.first_y[0] + sy);
    const int x = p.first_x[0] + sx;
    if (whole) {
      unsigned int codes[kMaxPixels];
      LoadCodes(c, p, row, x, c.pixels, codes);
      NVC_UNROLL
      for (int i = 0; i < c.pixels; ++i) code[i][0] = static_cast<float>(codes[i]);
    } else {
      NVC_UNROLL
      for (int i = 0; i < c.pixels; ++i) {
        if (i < count) code[i][0] = Code(c, p, row, x + i);
      }
    }
  }
  if (c.chroma == 0) return;
  const int y = (p.first_y[1] + sy) >> p.shift_y;
  const unsigned char* const cb = RowOf(p, 1, y);
  const unsigned char* const cr = c.chroma == 2 ? RowOf(p, 2, y) : cb;
  const int x = p.first_x[1] + sx;
  const bool between = (x & ((1 << c.shift_x) - 1)) != 0;  // starts inside a chroma sample
  if (whole && !between) {
    const int samples = c.pixels >> c.shift_x;
    unsigned int codes[2 * kMaxPixels];
    if (c.chroma == 1) {
      LoadCodes(c, p, cb, 2 * (x >> c.shift_x), 2 * samples, codes);
    } else {
      LoadCodes(c, p, cb, x >> c.shift_x, samples, codes);
      LoadCodes(c, p, cr, x >> c.shift_x, samples, codes + samples);
    }
    NVC_UNROLL
    for (int i = 0; i < c.pixels; ++i) {
      const int j = i >> c.shift_x;
      code[i][1] = static_cast<float>(codes[c.chroma == 1 ? 2 * j : j]);
      code[i][2] = static_cast<float>(codes[c.chroma == 1 ? 2 * j + 1 : samples + j]);
    }
    return;
  }
  NVC_UNROLL
  for (int i = 0; i < c.pixels; ++i) {
    if (i >= count) continue;
    const int j = (x + i) >> c.shift_x;
    if (c.chroma == 1) {
      CodePair(c, p, cb, j, &code[i][1], &code[i][2]);
    } else {
      code[i][1] = Code(c, p, cb, j);
      code[i][2] = Code(c, p, cr, j);
    }
  }
}

// Returns the bits of an output element, in the low end.
NVC_DEVICE unsigned int Element(const Config& c, const Params& p, int channel,
                                const float code[3]) {
  const FrameKernelMap& map = p.maps[channel];
  float value = map.offset;
  if (c.luma != 0) value += map.factor[0] * code[0];
  if (c.chroma != 0) value += map.factor[1] * code[1] + map.factor[2] * code[2];
  value = value < map.low ? map.low : value;
  value = value > map.high ? map.high : value;
  if (c.element == kElementFloat32) return FloatBits(value);
  if (c.element == kElementFloat16) return HalfBits(value);
  return static_cast<unsigned int>(value + 0.5f) << p.out_shift;
}

NVC_DEVICE int ElementBytes(const Config& c) {
  return c.element == kElementUint8 ? 1 : c.element == kElementFloat32 ? 4 : 2;
}

NVC_DEVICE void StoreElement(const Config& c, unsigned char* out, long long i, unsigned int bits) {
  if (c.element == kElementUint8) {
    out[i] = static_cast<unsigned char>(bits);
  } else if (c.element == kElementFloat32) {
    reinterpret_cast<unsigned int*>(out)[i] = bits;
  } else {
    reinterpret_cast<unsigned short*>(out)[i] = static_cast<unsigned short>(bits);
  }
}

// Stores `bytes` bytes, a multiple of 4, from `words`, with the widest stores that the address
// allows. If it allows none, stores element by element.
NVC_DEVICE void StoreWords(const Config& c, unsigned char* out, int bytes,
                           const unsigned int* words) {
  if (bytes % 16 == 0 && IsAligned(out, 16)) {
    NVC_UNROLL
    for (int w = 0; w < bytes / 16; ++w) {
      const Words4 four = {{words[4 * w], words[4 * w + 1], words[4 * w + 2], words[4 * w + 3]}};
      reinterpret_cast<Words4*>(out)[w] = four;
    }
  } else if (bytes % 8 == 0 && IsAligned(out, 8)) {
    NVC_UNROLL
    for (int w = 0; w < bytes / 8; ++w) {
      const Words2 two = {{words[2 * w], words[2 * w + 1]}};
      reinterpret_cast<Words2*>(out)[w] = two;
    }
  } else if (IsAligned(out, 4)) {
    NVC_UNROLL
    for (int w = 0; w < bytes / 4; ++w) reinterpret_cast<unsigned int*>(out)[w] = words[w];
  } else {
    const int element = ElementBytes(c);
    const int in_word = 4 / element;
    NVC_UNROLL
    for (int i = 0; i < bytes / element; ++i) {
      StoreElement(c, out, i, words[i / in_word] >> (8 * element * (i % in_word)));
    }
  }
}

// Stores channels [first, first + channels) of c.pixels pixels next to each other, from `out` on.
NVC_DEVICE void StorePixels(const Config& c, const Params& p, int first, int channels, int count,
                            const float code[kMaxPixels][3], unsigned char* out) {
  if (count < c.pixels) {
    NVC_UNROLL
    for (int i = 0; i < c.pixels; ++i) {
      if (i >= count) continue;
      NVC_UNROLL
      for (int k = 0; k < channels; ++k) {
        StoreElement(c, out, i * channels + k, Element(c, p, first + k, code[i]));
      }
    }
    return;
  }
  const int element = ElementBytes(c);
  const int in_word = 4 / element;
  unsigned int words[kMaxWords] = {};
  NVC_UNROLL
  for (int i = 0; i < c.pixels; ++i) {
    NVC_UNROLL
    for (int k = 0; k < channels; ++k) {
      const int at = i * channels + k;
      words[at / in_word] |= Element(c, p, first + k, code[i]) << (8 * element * (at % in_word));
    }
  }
  StoreWords(c, out, c.pixels * channels * element, words);
}

// The whole work of thread (thread_x, thread_y) of the grid: c.pixels pixels of output row
// thread_y, or one lane's share of a pixel.
NVC_DEVICE void ConvertPixels(const Config& c, const Params& p, int thread_x, int thread_y) {
  const int x = thread_x / c.lanes * c.pixels, y = thread_y;
  if (x >= p.width || y >= p.height) return;
  const int sx = p.column_origin + x * p.column_by_x + y * p.column_by_y;
  const int sy = p.row_origin + x * p.row_by_x + y * p.row_by_y;
  const int count = p.width - x < c.pixels ? p.width - x : c.pixels;
  float code[kMaxPixels][3];
  if (c.pixels > 1) {
    LoadNeighbours(c, p, sx, sy, count, code);
  } else {
    code[0][0] = code[0][1] = code[0][2] = 0;
    if (c.luma != 0) code[0][0] = Resample(c, p, false, sx, sy).first;
    if (c.chroma != 0) {
      const Codes chroma = Resample(c, p, true, sx, sy);
      code[0][1] = chroma.first;
      code[0][2] = chroma.second;
    }
    if (thread_x % c.lanes != 0) return;
  }
  const long long pixel = static_cast<long long>(y) * p.width + x;
  const int element = ElementBytes(c);
  if (c.planar == 0) {
    if (c.pixels > 1) {
      StorePixels(c, p, 0, c.channels, count, code, p.out[0] + pixel * c.channels * element);
    } else {
      NVC_UNROLL
      for (int k = 0; k < c.channels; ++k) {
        StoreElement(c, p.out[0], pixel * c.channels + k, Element(c, p, k, code[0]));
      }
    }
    return;
  }
  NVC_UNROLL
  for (int k = 0; k < c.channels; ++k) {
    if (c.pixels > 1) {
      StorePixels(c, p, k, 1, count, code, p.out[k] + pixel * element);
    } else {
      StoreElement(c, p.out[k], pixel, Element(c, p, k, code[0]));
    }
  }
}

}  // namespace frame_kernel
}  // namespace nvc

#ifdef __CUDACC_RTC__
extern "C" __global__ void __launch_bounds__(256) NvcConvertFrame(const nvc::FrameKernelParams p) {
  constexpr nvc::FrameKernelConfig kConfig = {
      NVC_SAMPLE_BYTES, NVC_LUMA,   NVC_CHROMA,  NVC_LUMA_TAPS, NVC_CHROMA_TAPS, NVC_SHIFT_X,
      NVC_CHANNELS,     NVC_PLANAR, NVC_ELEMENT, NVC_PIXELS,    NVC_LANES};
  nvc::frame_kernel::ConvertPixels(kConfig, p, blockIdx.x * blockDim.x + threadIdx.x,
                                   blockIdx.y * blockDim.y + threadIdx.y);
}
#endif

#undef NVC_DEVICE
#undef NVC_UNROLL

#endif  // TF_NVCODEC_NV_KERNELS_FRAME_KERNEL_H_
