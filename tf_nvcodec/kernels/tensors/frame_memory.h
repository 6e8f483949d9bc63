// Blocks of memory for frames. Fresh pages cost more time than the conversion of the frames that
// fill them, so large blocks stay with the process for the next video.
#ifndef TF_NVCODEC_KERNELS_TENSORS_FRAME_MEMORY_H_
#define TF_NVCODEC_KERNELS_TENSORS_FRAME_MEMORY_H_

#include <cstddef>

namespace nvc {

struct FrameBlock {
  void* memory = nullptr;
  size_t bytes = 0;
};

// Whether a block serves a request of `bytes`: it may be a little too large, since clips may differ
// in length.
bool Serves(const FrameBlock& block, size_t bytes);

// Returns a block that serves the request, with undefined contents. Its memory is null if there is
// none. `alignment` is a power of 2.
FrameBlock TakeFrameBlock(size_t alignment, size_t bytes);

// Takes the block back. A large one waits for the next request, and the system may take its pages
// meanwhile. The oldest ones are freed beyond 2 GiB or an eighth of the machine's memory.
void GiveFrameBlock(const FrameBlock& block);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_TENSORS_FRAME_MEMORY_H_
