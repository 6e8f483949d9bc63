#include "tf_nvcodec/core/rows/simd.h"

namespace nvc {
namespace {

Simd Detect() {
#ifdef NVC_HAVE_X86_SIMD
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return avx2 ? Simd::kAvx2 : Simd::kPortable;
#else
  return Simd::kPortable;
#endif
}

}  // namespace

Simd BestSimd() {
  static const Simd best = Detect();
  return best;
}

}  // namespace nvc
