#include "tf_nvcodec/nv/cuda/readable_address.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace nvc {

bool IsReadable(const void* address) {
  uint64_t word = 0;
  const iovec to = {&word, sizeof(word)};
  const iovec from = {const_cast<void*>(address), sizeof(word)};
  // Containers may forbid it, which says nothing about the address.
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) >= 0 || errno != EFAULT;
}

}  // namespace nvc
