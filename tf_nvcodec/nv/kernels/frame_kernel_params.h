// The parameters of the colour kernel. NVRTC compiles this file too, so it includes nothing and
// uses only types that are the same on the host and the GPU.
#ifndef TF_NVCODEC_NV_KERNELS_FRAME_KERNEL_PARAMS_H_
#define TF_NVCODEC_NV_KERNELS_FRAME_KERNEL_PARAMS_H_

namespace nvc {

// The type of an output element. The values are those of SampleType.
enum FrameElement { kElementUint8, kElementUint16, kElementFloat16, kElementFloat32 };

// The settings compiled into a kernel. Each has few values, so that few kernels are ever compiled.
struct FrameKernelConfig {
  int sample_bytes;  // of the source: 1, or 2 with the code in the upper bits
  int luma;          // 1: the kernel reads luma
  int chroma;        // number of planes to read chroma from: 0, 1 (Cb and Cr alternate) or 2
  int luma_taps;     // source samples along each axis: 1, 2, 4, or 0 for the number in the axes
  int chroma_taps;   // the same for chroma
  int shift_x;       // with pixels > 1: log2 of luma samples per chroma sample
  int channels;      // of the output, 1 to 3
  int planar;        // 1: each channel has its own plane
  int element;       // FrameElement
  int pixels;        // neighbours that one thread makes; more than 1 only without resampling
  int lanes;         // threads that share a pixel's columns: 1, or more for large windows
};

// The core's Axis in GPU memory. It has weights unless taps is 1.
struct FrameKernelAxis {
  const int* start;
  const float* weights;
  int taps;
};

// y = clamp(offset + factor[0] * luma + factor[1] * Cb + factor[2] * Cr, low, high).
struct FrameKernelMap {
  float factor[3];
  float offset, low, high;
};

struct FrameKernelParams {
  // Luma, Cb, Cr. If Cb and Cr share a plane, it is at [1]. Rows are `pitch` bytes apart.
  const unsigned char* planes[3];
  long long pitch;
  int code_shift;  // right shift from a two-byte sample to its code value

  // The axes along stored columns and rows, for luma [0] and chroma [1]. With pixels > 1 there are
  // no tables: sample i of a luma axis is first + i, and sample i of a chroma axis is first + i,
  // shifted right by shift_x or shift_y.
  FrameKernelAxis x[2], y[2];
  int first_x[2], first_y[2];
  int shift_y;

  // The displayed size of the output. The stored sample at displayed (x, y) is origin + x * by_x +
  // y * by_y.
  int width, height;
  int column_origin, column_by_x, column_by_y;
  int row_origin, row_by_x, row_by_y;

  unsigned char* out[3];  // one for each channel if planar, else [0] alone
  int out_shift;          // left shift of integer elements
  FrameKernelMap maps[3];
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_KERNELS_FRAME_KERNEL_PARAMS_H_
