// The CUDA kernel of kBob (core/convert/deinterlace.h) for one plane of a picture in GPU memory.
// NVRTC compiles this file. It is also plain C++ and includes nothing, so that tests need no GPU.
#ifndef TF_NVCODEC_NV_KERNELS_DEINTERLACE_KERNEL_H_
#define TF_NVCODEC_NV_KERNELS_DEINTERLACE_KERNEL_H_

#ifdef __CUDACC_RTC__
#define NVC_DEVICE __device__ __forceinline__
#else
#define NVC_DEVICE inline
#endif

namespace nvc {

struct BobParams {
  const unsigned char* from;
  unsigned char* to;
  long long from_pitch, to_pitch;  // in bytes
  int samples, rows;
  int first;         // first of the rows to keep: 0 or 1
  int sample_bytes;  // 1, or 2 with the code in the upper bits
  int code_shift;    // right shift from a two-byte sample to its code
};

namespace bob_kernel {

NVC_DEVICE unsigned int Code(const BobParams& p, int x, int y) {
  const unsigned char* const row = p.from + y * p.from_pitch;
  if (p.sample_bytes == 1) return row[x];
  return static_cast<unsigned int>(reinterpret_cast<const unsigned short*>(row)[x]) >> p.code_shift;
}

// Writes sample x of row y.
NVC_DEVICE void KeepField(const BobParams& p, int x, int y) {
  if (x >= p.samples || y >= p.rows) return;
  unsigned int code;
  if (y % 2 == p.first || p.rows == 1) {
    code = Code(p, x, y);
  } else {
    const int above = y > 0 ? y - 1 : 1;
    const int below = y + 1 < p.rows ? y + 1 : y - 1;
    code = (Code(p, x, above) + Code(p, x, below) + 1) >> 1;
  }
  unsigned char* const row = p.to + y * p.to_pitch;
  if (p.sample_bytes == 1) {
    row[x] = static_cast<unsigned char>(code);
  } else {
    reinterpret_cast<unsigned short*>(row)[x] = static_cast<unsigned short>(code << p.code_shift);
  }
}

}  // namespace bob_kernel
}  // namespace nvc

#ifdef __CUDACC_RTC__
extern "C" __global__ void __launch_bounds__(256) NvcBob(const nvc::BobParams p) {
  nvc::bob_kernel::KeepField(p, blockIdx.x * blockDim.x + threadIdx.x,
                             blockIdx.y * blockDim.y + threadIdx.y);
}
#endif

#undef NVC_DEVICE

#endif  // TF_NVCODEC_NV_KERNELS_DEINTERLACE_KERNEL_H_
