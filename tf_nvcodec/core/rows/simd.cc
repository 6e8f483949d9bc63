#include "tf_nvcodec/core/rows/simd.h"

namespace nvc {

std::vector<Simd> SupportedSimd() {
  std::vector<Simd> supported = {Simd::kPortable};
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.2")) return supported;
  supported.push_back(Simd::kSse4);
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c")) return supported;
  supported.push_back(Simd::kAvx2);
#endif
  return supported;
}

Simd BestSimd() {
  static const Simd best = SupportedSimd().back();
  return best;
}

}  // namespace nvc
