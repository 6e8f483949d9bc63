// What the colour kernel is told. Read by NVRTC too, so it includes nothing and uses only types
// that are the same on the host and the GPU.
#ifndef TF_NVCODEC_NV_KERNELS_FRAME_KERNEL_PARAMS_H_
#define TF_NVCODEC_NV_KERNELS_FRAME_KERNEL_PARAMS_H_

namespace nvc {

// Of an output element; the values are SampleType's.
enum FrameElement { kElementUint8, kElementUint16, kElementFloat16, kElementFloat32 };

// What is compiled into a kernel: few values each, so that few kernels are ever compiled.
struct FrameKernelConfig {
  int sample_bytes;  // of the source: 1, or 2 with the code in the upper bits
  int luma;          // 1: luma is read
  int chroma;        // planes that chroma is read from: 0, 1 (Cb and Cr in turns) or 2
  int luma_taps;     // source samples along each axis: 1, 2, 4, or 0 for what the axes say
  int chroma_taps;   //
  int shift_x;       // with pixels > 1: chroma samples are this much fewer than luma's, as log2
  int channels;      // of the output, 1 to 3
  int planar;        // 1: each channel is a plane of its own
  int element;       // FrameElement
  int pixels;        // neighbours that a thread makes; more than 1 only where nothing is resampled
  int lanes;         // threads that share a pixel's columns: 1, or more where windows are large
};

// core/axis.h in device memory. Weights are there unless taps is 1.
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
  // Luma, Cb, Cr; Cb and Cr that share a plane are both at [1]. Rows are `pitch` bytes apart.
  const unsigned char* planes[3];
  long long pitch;
  int code_shift;  // right, of two-byte samples, to get the code value

  // Along stored columns and rows, of luma and chroma. With pixels > 1 sample i of an axis is
  // first + i (chroma: first + i, then shifted right by shift_x or shift_y) and there are no
  // tables.
  FrameKernelAxis x[2], y[2];
  int first_x[2], first_y[2];
  int shift_y;

  // The output as shown, and which stored sample is shown at (x, y): origin + x * by_x + y * by_y.
  int width, height;
  int column_origin, column_by_x, column_by_y;
  int row_origin, row_by_x, row_by_y;

  unsigned char* out[3];  // by channel if planar, else [0]
  int out_shift;          // left, of integer elements
  FrameKernelMap maps[3];
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_KERNELS_FRAME_KERNEL_PARAMS_H_
