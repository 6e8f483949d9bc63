// Which vector instructions this machine has. Kernels come in a portable version and in versions
// for newer machines that give the same bits.
#ifndef TF_NVCODEC_CORE_ROWS_SIMD_H_
#define TF_NVCODEC_CORE_ROWS_SIMD_H_

#if defined(__x86_64__) && defined(__GNUC__)
#define NVC_HAVE_X86_SIMD 1
// No FMA: fused sums would round differently from the portable version's.
#define NVC_AVX2 __attribute__((target("avx2,f16c")))
#define NVC_AVX2_INLINE NVC_AVX2 inline __attribute__((always_inline))
#endif

// For loops that are inlined into each version and made vectors of by the compiler.
#define NVC_INLINE_LOOP inline __attribute__((always_inline))

namespace nvc {

enum class Simd {
  kPortable,
  kAvx2,  // and F16C
};

// The best that the processor and the operating system support.
Simd BestSimd();

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_SIMD_H_
