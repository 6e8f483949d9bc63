// The clips of one video, pulled one after the other. Clips that follow each other come from one
// pass over the video, which decodes each picture once and ahead of the reader.
#ifndef TF_NVCODEC_KERNELS_STREAM_CLIP_STREAM_H_
#define TF_NVCODEC_KERNELS_STREAM_CLIP_STREAM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/clips/clip_spec.h"
#include "tf_nvcodec/core/decode/frame_collector.h"
#include "tf_nvcodec/core/decode/window_stream.h"
#include "tf_nvcodec/kernels/decode/decode_setup.h"
#include "tf_nvcodec/kernels/stream/video_store.h"
#include "tf_nvcodec/kernels/tensors/gpu_stream.h"

namespace nvc {

// Where the clips of a stream come from and go to. The functions are never called side by side.
struct ClipSource {
  // Opens the video, as VideoStore::Open does.
  std::function<absl::StatusOr<IndexedVideo>(const Cancelled& cancelled, const char** stage,
                                             const FrameIndex* wrong)>
      open;
  // Returns the clip at `place` of the list of clips; nullopt behind the last one.
  std::function<absl::StatusOr<std::optional<Clip>>(const FrameIndex& index, size_t place)> select;
  struct Room {
    size_t clips = 1;           // how many clips are decoded ahead of the reader
    int64_t kept_pictures = 0;  // see ReadOptions
    ::tensorflow::Allocator* allocator = nullptr;
  };
  std::function<Room(const FrameIndex& index)> room;
};

class ClipStream {
 public:
  struct Options {
    DecodeAttributes decode;  // its output includes size and crop
    OnError on_error = OnError::kRaise;
    bool pack = false;  // Result::frames is a string scalar, the packed clip, instead of frames
    std::optional<GpuStream> gpu;             // where the frames go; nullopt: host memory
    std::atomic<int64_t>* busy_ns = nullptr;  // as in ReadOptions; includes the time for opening
  };
  // A clip in memory, or why there is none.
  struct Result {
    absl::Status status;
    const char* stage = "";  // of an error: "open", "index", "short" (it can't be chosen), "decode"
    Clip clip;
    std::shared_ptr<const FrameIndex> index;
    ::tensorflow::Tensor frames;
    std::vector<bool> valid;    // by frame of the tensor
    std::vector<size_t> slots;  // which of the clip's frames each one is; see FrameCollector
  };

  ClipStream(ClipSource source, Options options);
  ~ClipStream();

  // Opens the video and begins to decode from its first clip on, unless a clip was read. Read does
  // it by itself. If it fails, Read returns the error too if the first clip
  // is read next.
  absl::Status Begin(const Cancelled& cancelled);
  // Returns the clip at `place`, which comes behind all that were read before. decode.timeout
  // limits opening the video, and again the decoding. An error concerns this clip only.
  Result Read(size_t place, const Cancelled& cancelled);
  // Whether a pass decodes now, ahead of the reader. Thread-safe.
  bool IsDecoding() const;
  // Ends a Begin or Read that waits, and all later ones, with Cancelled. Thread-safe.
  void Stop();

 private:
  // What is decoded together. Its members outlive the workers, which `windows` joins.
  struct Pass {
    size_t first = 0;  // the place of the first clip
    size_t next = 0;   // the first place that was not read
    IndexedVideo video;
    std::vector<Clip> clips;
    ClipSource::Room room;
    std::vector<::tensorflow::Tensor> frames;  // by clip
    DecodeSetup setup;
    std::unique_ptr<WindowStream> windows;  // null: there is one clip, which is decoded when read
  };

  bool IsReached(size_t place) const;
  absl::Status Start(size_t place, bool ahead, const Cancelled& cancelled, const char** stage);
  absl::Status StartWindows(Pass* pass);
  absl::Status ReadOneClip(Pass* pass, const Cancelled& cancelled, Result* result);
  absl::Status PackOneClip(Pass* pass, const Cancelled& cancelled, Result* result) const;
  void EndPass();

  const ClipSource source_;
  const Options options_;
  std::atomic<bool> stopped_{false};
  const Cancelled stopping_;

  std::mutex reading_;  // guards what follows
  bool started_ = false;
  std::optional<Result> begin_error_;              // of the first clip
  std::shared_ptr<const FrameIndex> wrong_index_;  // see VideoStore::Open
  bool retries_one_clip_ = false;                  // the next clip may be the cause of an error

  mutable std::mutex mutex_;  // guards pass_ while the reader changes it
  std::unique_ptr<Pass> pass_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_STREAM_CLIP_STREAM_H_
