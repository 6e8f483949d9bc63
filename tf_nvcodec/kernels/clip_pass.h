// Reads clips of one video that follow each other in one pass: each picture is decoded once, also
// where clips overlap, and the decoder stays busy from clip to clip.
#ifndef TF_NVCODEC_KERNELS_CLIP_PASS_H_
#define TF_NVCODEC_KERNELS_CLIP_PASS_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/clips/clip_cursor.h"
#include "tf_nvcodec/core/decode/window_pass.h"
#include "tf_nvcodec/kernels/clip_reader.h"
#include "tf_nvcodec/kernels/frame_allocator.h"

namespace nvc {

// A pass has a thread that runs it, and a caller that asks for one clip after the other.
class ClipPass {
 public:
  // Receives a clip. Called once, from any thread of the pass or inside Ask, unless the clip is
  // dropped or the pass stopped.
  using Deliver = std::function<void(ClipResult result)>;

  // `clips` are of one video, in the order in which they will be asked for. The caller keeps about
  // `ahead` of them asked for and undelivered. `reader` and `memory` must outlive the pass.
  ClipPass(const ClipReader* reader, std::vector<SeededClip> clips, size_t ahead,
           FrameAllocator* memory);

  // Asks for a clip. Returns its place in the pass, or nullopt if it does not come behind the clips
  // asked for before. Clips that it passes over are not wanted any more.
  std::optional<size_t> Ask(const SeededClip& clip, Deliver deliver);
  // Whether there are clips that nobody has asked for.
  bool has_more() const;
  // Nobody wants this clip any more.
  void Drop(size_t place);
  // Nobody will ask for another clip. The pass ends when those asked for are delivered.
  void Close();

  // Reads the clips. Returns when all are delivered or not wanted, or soon after Stop. An error
  // concerns one clip; reading goes on behind it.
  void Run();
  void Stop();

 private:
  size_t RunFrom(size_t first);
  bool WaitForAsked(size_t place);
  bool IsOver(size_t place) const;
  void Put(size_t place, ClipResult result);
  size_t MostOpen(const AVCodecParameters& codec) const;
  void ForgetFrom(size_t place);
  void SetOver(size_t place);
  void StopNow();

  const ClipReader& reader_;
  const std::vector<SeededClip> clips_;
  const size_t ahead_;
  FrameAllocator& memory_;
  const Cancelled cancelled_;
  std::shared_ptr<const FrameIndex> wrong_index_;  // see VideoStore::Open
  bool has_failed_ = false;                        // the last pass ended with an error

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> stopped_{false};
  size_t asked_ = 0;  // the clips before this place were asked for or passed over
  size_t due_ = 0;    // clips asked for that are not over
  bool closed_ = false;
  std::vector<Deliver> deliver_;
  std::vector<char> over_;                // read, failed or not wanted
  std::map<size_t, ClipResult> waiting_;  // read, but not asked for
  WindowPass* windows_ = nullptr;         // decodes the clips from first_ on
  size_t first_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_CLIP_PASS_H_
