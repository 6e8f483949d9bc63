// The CUDA kernel that converts RGB and gray samples of any type, and packed Y'CbCr of another
// depth or chroma size, to planes of 8-bit Y'CbCr. It uses the float equations of core's frame
// loaders, bit for bit. NVRTC compiles this file. It is also plain C++ and includes nothing, so
// that tests need no GPU.
#ifndef TF_NVCODEC_NV_KERNELS_PLANES_KERNEL_H_
#define TF_NVCODEC_NV_KERNELS_PLANES_KERNEL_H_

#ifdef __CUDACC_RTC__
#define NVC_DEVICE __device__ __forceinline__
#else
#define NVC_DEVICE inline
#endif

namespace nvc {

// The type of a sample. Halfs are read as their bits.
enum PlanesElement { kPlanesByte = 0, kPlanesWord = 1, kPlanesHalf = 2, kPlanesFloat = 3 };

struct PlanesParams {
  const void* samples;
  unsigned char* planes[3];
  long long pitches[3];  // in bytes
  int* out_of_range;     // set to 1 if a half or float is out of range
  int width, height;     // in pixels
  int element;
  int shift;                                // of the output chroma: 1 for blocks of 2x2 pixels
  int channels;                             // of interleaved pixels; 0: planes of Y'CbCr
  int red, blue;                            // channel numbers in a pixel; green is 1
  int unused_bits;                          // low bits of a word that do not count
  int chroma_shift;                         // of the input chroma
  int chroma_step;                          // from one chroma sample to the next, in samples
  long long chroma_first[2], chroma_pitch;  // in samples
  // core's FloatWeights. Gray and Y'CbCr use the first weight alone.
  float luma_weights[3], luma_offset;
  float chroma_weights[2][3], chroma_offsets[2];
};

namespace planes_kernel {

// Rounds each operation by itself, as the host does. A fused multiply-add would round differently.
#ifdef __CUDACC_RTC__
NVC_DEVICE float Sum(float a, float b) { return __fadd_rn(a, b); }
NVC_DEVICE float Product(float a, float b) { return __fmul_rn(a, b); }
NVC_DEVICE float FloatOf(unsigned int bits) { return __uint_as_float(bits); }
#else
NVC_DEVICE float Sum(float a, float b) { return a + b; }
NVC_DEVICE float Product(float a, float b) { return a * b; }
NVC_DEVICE float FloatOf(unsigned int bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}
#endif

// Infinities and NaNs become values above 65504.
NVC_DEVICE float FromHalf(unsigned int half) {
  const float value = Product(FloatOf((half & 0x7fff) << 13), FloatOf(239u << 23));
  return (half & 0x8000) != 0 ? -value : value;
}

NVC_DEVICE float Sample(const PlanesParams& p, long long at) {
  float value;
  switch (p.element) {
    case kPlanesByte:
      return static_cast<float>(static_cast<const unsigned char*>(p.samples)[at]);
    case kPlanesWord:
      return static_cast<float>(static_cast<const unsigned short*>(p.samples)[at] >> p.unused_bits);
    case kPlanesHalf:
      value = FromHalf(static_cast<const unsigned short*>(p.samples)[at]);
      break;
    default:
      value = static_cast<const float*>(p.samples)[at];
      break;
  }
  // A NaN fails both comparisons.
  if (!(value >= -1.0f) || !(value <= 2.0f)) *p.out_of_range = 1;
  return value;
}

NVC_DEVICE unsigned char Round(float value) {
  value = value > 0.0f ? value : 0.0f;
  value = value < 255.0f ? value : 255.0f;
  return static_cast<unsigned char>(static_cast<int>(Sum(value, 0.5f)));
}

NVC_DEVICE float Weighed(const float* weights, const float* rgb) {
  return Sum(Sum(Product(rgb[0], weights[0]), Product(rgb[1], weights[1])),
             Product(rgb[2], weights[2]));
}

// Returns the mean of a 2x2 block in core's order: first the pairs of a row.
NVC_DEVICE float Mean(const float block[2][2]) {
  return Product(Sum(Sum(block[0][0], block[0][1]), Sum(block[1][0], block[1][1])), 0.25f);
}

// Returns the sample of chroma component i at (x, y) in the frame's chroma.
NVC_DEVICE float ChromaSample(const PlanesParams& p, int i, int x, int y) {
  return Sample(p,
                p.chroma_first[i] + y * p.chroma_pitch + static_cast<long long>(x) * p.chroma_step);
}

NVC_DEVICE float Chroma(const PlanesParams& p, int i, int x, int y) {
  if (p.chroma_shift == p.shift) return ChromaSample(p, i, x, y);
  if (p.chroma_shift > p.shift) return ChromaSample(p, i, x / 2, y / 2);
  float block[2][2];
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 2; ++column) {
      const int sx = 2 * x + column < p.width ? 2 * x + column : p.width - 1;
      const int sy = 2 * y + row < p.height ? 2 * y + row : p.height - 1;
      block[row][column] = ChromaSample(p, i, sx, sy);
    }
  }
  return Mean(block);
}

NVC_DEVICE void Write(const PlanesParams& p, int plane, int x, int y, float value) {
  p.planes[plane][y * p.pitches[plane] + x] = Round(value);
}

// Converts the block of chroma sample (x, y) with its luma. Blocks over the edge repeat the last
// pixels.
NVC_DEVICE void ConvertBlock(const PlanesParams& p, int x, int y) {
  const int left = x << p.shift, top = y << p.shift;
  if (left >= p.width || top >= p.height) return;
  const int side = 1 << p.shift;
  float blocks[3][2][2];
  for (int row = 0; row < side; ++row) {
    const int py = top + row < p.height ? top + row : p.height - 1;
    for (int column = 0; column < side; ++column) {
      const int px = left + column < p.width ? left + column : p.width - 1;
      const long long pixel = static_cast<long long>(py) * p.width + px;
      if (p.channels != 3) {
        const float luma = Product(Sample(p, pixel), p.luma_weights[0]);
        Write(p, 0, px, py, Sum(luma, p.luma_offset));
        continue;
      }
      const float rgb[3] = {Sample(p, 3 * pixel + p.red), Sample(p, 3 * pixel + 1),
                            Sample(p, 3 * pixel + p.blue)};
      Write(p, 0, px, py, Sum(Weighed(p.luma_weights, rgb), p.luma_offset));
      for (int c = 0; c < 3; ++c) blocks[c][row][column] = rgb[c];
    }
  }
  for (int i = 0; i < 2; ++i) {
    float value = 128.0f;  // of gray, which has no chroma
    if (p.channels == 3) {
      float rgb[3];
      for (int c = 0; c < 3; ++c) rgb[c] = p.shift != 0 ? Mean(blocks[c]) : blocks[c][0][0];
      value = Sum(Weighed(p.chroma_weights[i], rgb), p.chroma_offsets[i]);
    } else if (p.channels == 0) {
      value = Sum(Product(Chroma(p, i, x, y), p.chroma_weights[i][0]), p.chroma_offsets[i]);
    }
    Write(p, i + 1, x, y, value);
  }
}

}  // namespace planes_kernel
}  // namespace nvc

#ifdef __CUDACC_RTC__
extern "C" __global__ void __launch_bounds__(256) NvcPlanes(const nvc::PlanesParams p) {
  nvc::planes_kernel::ConvertBlock(p, blockIdx.x * blockDim.x + threadIdx.x,
                                   blockIdx.y * blockDim.y + threadIdx.y);
}
#endif

#undef NVC_DEVICE

#endif  // TF_NVCODEC_NV_KERNELS_PLANES_KERNEL_H_
