// Reads one clip of one video and makes the tensors of a dataset element from it.
#ifndef TF_NVCODEC_KERNELS_CLIP_READER_H_
#define TF_NVCODEC_KERNELS_CLIP_READER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/clips/clip_cursor.h"
#include "tf_nvcodec/core/clips/clip_spec.h"
#include "tf_nvcodec/kernels/dataset_statistics.h"
#include "tf_nvcodec/kernels/decode_setup.h"
#include "tf_nvcodec/kernels/video_store.h"

namespace nvc {

// The arguments of a VideoDataset that concern single clips. They never change.
struct ClipArguments {
  DecodeAttributes decode;  // its output includes size and crop
  ClipSpec clips;
  // For sampling "at": the times in seconds at which clips begin. With splits, video i has the
  // times from time_splits[i] up to time_splits[i + 1]. Without splits, every video has all times.
  std::vector<double> times;
  bool times_are_float32 = false;  // before they became double
  std::vector<int64_t> time_splits;
  bool names_are_files = true;
  ::tensorflow::Tensor videos;                   // string [N]: file names, or the files' bytes
  std::vector<::tensorflow::Tensor> components;  // [N, ...]: values that elements pass through
  std::vector<int32_t> output_order;             // order of an element's parts; empty: Read's order
};

// Makes the tensor for `count` decoded frames of `clip` and the frames of zeros behind them.
// Returns the address of the first.
absl::StatusOr<void*> AllocateClip(const DecodeAttributes& decode, const Clip& clip,
                                   const FrameShape& shape, int64_t count,
                                   ::tensorflow::Allocator* allocator,
                                   ::tensorflow::Tensor* frames);

// An element of a dataset, or why there is none.
struct ClipResult {
  absl::Status status;
  std::vector<::tensorflow::Tensor> element;  // empty: the clip is left out
  int64_t num_decoded = 0;                    // frames that are neither padding nor repeated
};

// Reads and decodes clips for a dataset's iterators. Opening a video and decoding a clip each have
// decode.timeout. Thread-safe.
class ClipReader {
 public:
  // The reader keeps all three pointers; they must outlive it.
  ClipReader(const ClipArguments* arguments, VideoStore* store, DatasetStatistics* statistics)
      : arguments_(*arguments), store_(*store), statistics_(*statistics) {}

  // Reads one clip by itself: its frames, pts, mask, video index, clip index, file name and the
  // video's components. The element is empty if on_error or pad leaves this clip out. An error
  // names the video and the clip.
  ClipResult Read(const SeededClip& clip, ::tensorflow::Allocator* allocator,
                  const Cancelled& cancelled) const;

  // Returns the number of clips that sampling "all" takes from the video, or the error of opening
  // it and its stage.
  absl::StatusOr<int64_t> Count(int64_t video, const Cancelled& cancelled,
                                const char** stage) const;

  // Whether clip `to` begins before clip `from` of the same video, as only sampling "at" allows.
  // Not for kRandom.
  bool GoesBack(const ClipId& from, const ClipId& to) const;

  // The steps of Read, for a pass over several clips of a video (ClipPass). `stage` names the step
  // for Failed: Open sets "open" or "index", Select wants "short", decoding wants "decode".
  absl::StatusOr<IndexedVideo> Open(const SeededClip& clip, const Cancelled& cancelled,
                                    const char** stage, const FrameIndex* wrong) const;
  absl::StatusOr<Clip> Select(const FrameIndex& index, const SeededClip& clip) const;
  ClipResult Succeeded(const SeededClip& clip, const Clip& selected, const FrameIndex& index,
                       ::tensorflow::Tensor frames, const std::vector<bool>& valid) const;
  ClipResult Failed(const SeededClip& clip, const absl::Status& status, const char* stage,
                    const Cancelled& cancelled) const;

  const DecodeAttributes& decode() const { return arguments_.decode; }
  int64_t clip_length() const { return arguments_.clips.length; }
  void CountDecodeTime(int64_t nanoseconds) const { statistics_.decode_ns += nanoseconds; }

 private:
  Cancelled WithinTimeout(const Cancelled& cancelled) const;
  absl::Span<const double> TimesOf(int64_t video) const;
  ClipResult ReadClip(const SeededClip& clip, ::tensorflow::Allocator* allocator,
                      const Cancelled& cancelled) const;
  absl::Status Decode(const IndexedVideo& video, const Clip& clip,
                      ::tensorflow::Allocator* allocator, const Cancelled& cancelled,
                      ::tensorflow::Tensor* batch, std::vector<bool>* valid) const;
  void AddVideo(const ClipId& id, std::vector<::tensorflow::Tensor>* element) const;

  const ClipArguments& arguments_;
  VideoStore& store_;
  DatasetStatistics& statistics_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_CLIP_READER_H_
