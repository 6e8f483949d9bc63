// Memory for batches of frames that is used again and again.
#ifndef TF_NVCODEC_KERNELS_TENSORS_FRAME_ALLOCATOR_H_
#define TF_NVCODEC_KERNELS_TENSORS_FRAME_ALLOCATOR_H_

#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tensorflow/core/framework/allocator.h"
#include "tf_nvcodec/kernels/tensors/frame_memory.h"

namespace nvc {

// The allocator of one source of batches. Thread-safe. Tensors may outlive the source.
class FrameAllocator : public ::tensorflow::Allocator,
                       public std::enable_shared_from_this<FrameAllocator> {
 public:
  // Once `patient_from` blocks are in use, a new one waits for one of them to come back (0: never).
  // A loop that takes batch after batch frees one just after it has got the next. If the consumer
  // awaits the next batch before one has come back, it keeps them: then the block is allocated, and
  // later waits are short until a block comes back.
  static std::shared_ptr<FrameAllocator> Create(size_t patient_from);
  ~FrameAllocator() override;

  std::string Name() override { return "tf_nvcodec_frames"; }
  void* AllocateRaw(size_t alignment, size_t bytes) override;
  void DeallocateRaw(void* memory) override;
  // Whether the consumer waits for a batch.
  void SetAwaited(bool awaited);
  // Ends all waits, gives back what is not in use, and from now on everything that comes back.
  void Close();

 private:
  explicit FrameAllocator(size_t patient_from) : patient_from_(patient_from) {}
  void* TakeIdle(size_t bytes);

  const size_t patient_from_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  bool awaited_ = false;
  bool kept_ = false;             // whether the last wait was in vain
  std::vector<FrameBlock> idle_;  // the longest idle first
  std::map<void*, size_t> in_use_;
  std::shared_ptr<FrameAllocator> self_;  // set while blocks are in use
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_TENSORS_FRAME_ALLOCATOR_H_
