// Chooses the instruction set for the row kernels.
//
// A kernel has one source. Highway's foreach_target.h compiles it for each instruction set that is
// not disabled here, and all versions give the same bits. The program picks one when it runs.
#ifndef TF_NVCODEC_CORE_ROWS_SIMD_H_
#define TF_NVCODEC_CORE_ROWS_SIMD_H_

#include <vector>

// Highway reads these macros. AVX-512 is left out because it hardly helps: on vectors of 32 bytes
// most kernels gain nothing from it, and quarter turns take 1.4 times as long.
#define HWY_DISABLED_TARGETS (~(HWY_SCALAR | HWY_EMU128 | HWY_SSE4 | HWY_AVX2 | HWY_NEON))
// Fused multiply-add rounds differently from the portable version.
#define HWY_DISABLE_BMI2_FMA
#define HWY_DISABLE_PCLMUL_AES
// Highway's debug checks need its library, and we use only its headers.
#define HWY_IS_DEBUG_BUILD 0

namespace nvc {

enum class Simd {
  kPortable,  // plain loops on x86-64, NEON on ARM
  kSse4,      // SSE4.2
  kAvx2,      // AVX2 and F16C
};

// Returns the instruction sets that the processor and the operating system support, the best last.
std::vector<Simd> SupportedSimd();

// Returns the last of them.
Simd BestSimd();

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_SIMD_H_
