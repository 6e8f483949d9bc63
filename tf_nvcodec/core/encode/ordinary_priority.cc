#include "tf_nvcodec/core/encode/ordinary_priority.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace nvc {
namespace {

// glibc has no functions for these. Both are about this thread alone.
bool GetCapabilities(__user_cap_data_struct* data) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  return syscall(SYS_capget, &header, data) == 0;
}

bool SetCapabilities(const __user_cap_data_struct* data) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  return syscall(SYS_capset, &header, data) == 0;
}

}  // namespace

OrdinaryPriority::OrdinaryPriority() {
  if (!GetCapabilities(before_)) return;
  __user_cap_data_struct without[_LINUX_CAPABILITY_U32S_3];
  std::copy(std::begin(before_), std::end(before_), without);
  auto& word = without[CAP_TO_INDEX(CAP_SYS_NICE)].effective;
  if ((word & CAP_TO_MASK(CAP_SYS_NICE)) == 0) return;
  word &= ~CAP_TO_MASK(CAP_SYS_NICE);
  changed_ = SetCapabilities(without);
}

OrdinaryPriority::~OrdinaryPriority() {
  if (changed_) SetCapabilities(before_);
}

}  // namespace nvc
