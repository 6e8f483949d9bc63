#include "tf_nvcodec/core/rows/simd.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

namespace nvc {
namespace {

#if defined(__x86_64__) && defined(__GNUC__)
// Clang's __builtin_cpu_supports has no name for F16C before version 15.
bool HasF16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

}  // namespace

std::vector<Simd> SupportedSimd() {
  std::vector<Simd> supported = {Simd::kPortable};
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.2")) return supported;
  supported.push_back(Simd::kSse4);
  if (!__builtin_cpu_supports("avx2") || !HasF16c()) return supported;
  supported.push_back(Simd::kAvx2);
#endif
  return supported;
}

Simd BestSimd() {
  static const Simd best = SupportedSimd().back();
  return best;
}

}  // namespace nvc
