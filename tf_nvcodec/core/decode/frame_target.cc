#include "tf_nvcodec/core/decode/frame_target.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>

namespace nvc {

absl::StatusOr<std::unique_ptr<FrameConverter>> HostTarget::NewConverter(const OutputSpec& output,
                                                                         const AVFrame& picture,
                                                                         int rotation) {
  return FrameConverter::Create(output, SourceSpec::Of(picture, rotation));
}

// Fresh memory of gigabytes costs as much in page faults as the colour conversion; huge pages make
// that go away where the kernel offers them on request.
void HostTarget::SetMemory(void* memory, size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const auto begin = (reinterpret_cast<uintptr_t>(memory) + kHugePage - 1) & ~(kHugePage - 1);
  const auto end = (reinterpret_cast<uintptr_t>(memory) + bytes) & ~(kHugePage - 1);
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

absl::Status HostTarget::Copy(void* to, const void* from, size_t bytes) {
  if (to != from) std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

}  // namespace nvc
