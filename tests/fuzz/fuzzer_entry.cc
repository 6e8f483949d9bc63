// What libFuzzer calls. TF_NVCODEC_FUZZ_TARGET names the target, so that one program holds them all
// and is linked once.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/targets.h"

namespace nvc {
namespace {

fuzz::Target Chosen() {
  const char* const name = std::getenv("TF_NVCODEC_FUZZ_TARGET");
  for (const fuzz::Target& target : fuzz::kTargets) {
    if (name != nullptr && std::strcmp(name, target.name) == 0) return target;
  }
  std::fprintf(stderr, "TF_NVCODEC_FUZZ_TARGET must be one of:");
  for (const fuzz::Target& target : fuzz::kTargets) std::fprintf(stderr, " %s", target.name);
  std::fprintf(stderr, "\n");
  std::exit(2);
}

}  // namespace
}  // namespace nvc

extern "C" __attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t* data,
                                                                             size_t size) {
  static const nvc::fuzz::Target target = nvc::Chosen();
  target.run(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
