// The CUDA kernel that converts 8-bit RGB to planes of 8-bit Y'CbCr. It uses the fixed-point
// equations of core/rows/rgb_rows.h, bit for bit. NVRTC compiles this file. It is also plain C++
// and includes nothing, so that tests need no GPU.
#ifndef TF_NVCODEC_NV_KERNELS_RGB_KERNEL_H_
#define TF_NVCODEC_NV_KERNELS_RGB_KERNEL_H_

#ifdef __CUDACC_RTC__
#define NVC_DEVICE __device__ __forceinline__
#else
#define NVC_DEVICE inline
#endif

namespace nvc {

struct RgbParams {
  const unsigned char* pixels;
  unsigned char* planes[3];
  long long pixel_pitch, pitches[3];  // in bytes
  int width, height;                  // in pixels
  int pixel_bytes;                    // 3, or 4 with one unread byte
  int red, blue;                      // byte numbers in a pixel; green is byte 1
  int shift;                          // 1: chroma of blocks of 2x2 pixels; 0: of each pixel
  // As in FixedLuma and FixedChroma. The channel that counts up comes first.
  unsigned int luma_weights[3], luma_offset;
  int chroma_channels[2][3];
  unsigned int chroma_weights[2][3], chroma_offsets[2];
};

namespace rgb_kernel {

NVC_DEVICE unsigned int HighProduct(unsigned int a, unsigned int b) { return (a * b) >> 16; }

NVC_DEVICE unsigned char Luma(const RgbParams& p, const unsigned int* rgb) {
  unsigned int sum = p.luma_offset;
  for (int c = 0; c < 3; ++c) sum += HighProduct(rgb[c] << 8, p.luma_weights[c]);
  return static_cast<unsigned char>((sum & 0xffff) >> 8);
}

// White in `sums` is 32640.
NVC_DEVICE unsigned char Chroma(const RgbParams& p, int i, const unsigned int* sums) {
  const int* const channels = p.chroma_channels[i];
  const unsigned int* const weights = p.chroma_weights[i];
  unsigned int sum = p.chroma_offsets[i] + HighProduct(sums[channels[0]], weights[0]);
  sum -= HighProduct(sums[channels[1]], weights[1]) + HighProduct(sums[channels[2]], weights[2]);
  const unsigned int value = (sum & 0xffff) >> 7;
  return static_cast<unsigned char>(value < 255 ? value : 255);
}

// Converts the block of chroma sample (x, y) with its luma. Blocks over the edge repeat the last
// pixels.
NVC_DEVICE void ConvertBlock(const RgbParams& p, int x, int y) {
  const int left = x << p.shift, top = y << p.shift;
  if (left >= p.width || top >= p.height) return;
  unsigned int sums[3] = {0, 0, 0};
  for (int row = top; row < top + (1 << p.shift); ++row) {
    const long long py = row < p.height ? row : p.height - 1;
    for (int column = left; column < left + (1 << p.shift); ++column) {
      const int px = column < p.width ? column : p.width - 1;
      const unsigned char* const pixel = p.pixels + py * p.pixel_pitch + px * p.pixel_bytes;
      const unsigned int rgb[3] = {pixel[p.red], pixel[1], pixel[p.blue]};
      p.planes[0][py * p.pitches[0] + px] = Luma(p, rgb);
      for (int c = 0; c < 3; ++c) sums[c] += rgb[c];
    }
  }
  for (int c = 0; c < 3; ++c) sums[c] <<= 7 - 2 * p.shift;
  for (int i = 0; i < 2; ++i) p.planes[i + 1][y * p.pitches[i + 1] + x] = Chroma(p, i, sums);
}

}  // namespace rgb_kernel
}  // namespace nvc

#ifdef __CUDACC_RTC__
extern "C" __global__ void __launch_bounds__(256) NvcRgb(const nvc::RgbParams p) {
  nvc::rgb_kernel::ConvertBlock(p, blockIdx.x * blockDim.x + threadIdx.x,
                                blockIdx.y * blockDim.y + threadIdx.y);
}
#endif

#undef NVC_DEVICE

#endif  // TF_NVCODEC_NV_KERNELS_RGB_KERNEL_H_
