// Makes the elements of a dataset from the clips of its videos.
#ifndef TF_NVCODEC_KERNELS_DATASET_CLIP_READER_H_
#define TF_NVCODEC_KERNELS_DATASET_CLIP_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/clips/augmentation.h"
#include "tf_nvcodec/core/clips/clip_cursor.h"
#include "tf_nvcodec/core/clips/clip_spec.h"
#include "tf_nvcodec/kernels/decode/decode_setup.h"
#include "tf_nvcodec/kernels/stream/clip_stream.h"
#include "tf_nvcodec/kernels/stream/dataset_statistics.h"
#include "tf_nvcodec/kernels/stream/video_store.h"

namespace nvc {

// The arguments of a VideoDataset that concern single clips. They never change.
struct ClipArguments {
  DecodeAttributes decode;  // its output includes size and crop
  bool pack = false;        // elements have packed clips in place of frames
  ClipSpec clips;
  double center_crop = 0;     // see CenterCrop; 0: none
  Augmentation augmentation;  // elements then have the crop and whether the clip is mirrored, too
  // For sampling "at": the times in seconds at which clips begin. With splits, video i has the
  // times from time_splits[i] up to time_splits[i + 1]. Without splits, every video has all times.
  std::vector<double> times;
  bool times_are_float32 = false;  // before they became double
  std::vector<int64_t> time_splits;
  std::vector<TimeSegment> segments;  // one for each video, or none: clips are of whole videos
  bool names_are_files = true;
  ::tensorflow::Tensor videos;                   // string [N]: file names, or the files' bytes
  std::vector<::tensorflow::Tensor> components;  // [N, ...]: values that elements pass through
  std::vector<int32_t> output_order;             // order of an element's parts; empty: Read's order
};

// An element of a dataset, or why there is none.
struct ClipResult {
  absl::Status status;
  std::vector<::tensorflow::Tensor> element;  // empty: the clip is left out
  int64_t num_decoded = 0;                    // frames that are neither padding nor repeated
};

// Opens videos and makes elements of their clips, for a dataset's iterators. Opening a video and
// decoding a clip each have decode.timeout. Thread-safe.
class ClipReader {
 public:
  // The reader keeps all three pointers; they must outlive it.
  ClipReader(const ClipArguments* arguments, VideoStore* store, DatasetStatistics* statistics)
      : arguments_(*arguments), store_(*store), statistics_(*statistics) {}

  // Returns a stream of `clips` of one video, in this order. `ahead`: how many are decoded ahead of
  // the reader. `allocator` and this reader must outlive it.
  std::unique_ptr<ClipStream> Open(std::vector<SeededClip> clips, size_t ahead,
                                   ::tensorflow::Allocator* allocator) const;
  // Reads the clip, which is at `place` in the stream: its frames, pts, mask, video index, clip
  // index, file name, the video's components and, with an augmentation, the crop and the flip. The
  // element is empty if on_error or pad leaves this clip out. An error names the video and the
  // clip.
  ClipResult Read(ClipStream* stream, size_t place, const SeededClip& clip,
                  const Cancelled& cancelled) const;
  // Returns what Read returns for a clip that can't be read, because `stage` failed.
  ClipResult Failed(const SeededClip& clip, const absl::Status& status, const char* stage,
                    const Cancelled& cancelled) const;

  // Returns the number of clips that sampling "all" takes from the video, or the error of opening
  // it and its stage.
  absl::StatusOr<int64_t> Count(int64_t video, const Cancelled& cancelled,
                                const char** stage) const;

  // Returns what identifies the segments of all videos.
  uint64_t SegmentsHash() const;

  // Whether clip `to` begins before clip `from` of the same video, as only sampling "at" allows.
  // Not for kRandom.
  bool GoesBack(const ClipId& from, const ClipId& to) const;

 private:
  absl::Span<const double> TimesOf(int64_t video) const;
  TimeSegment SegmentOf(int64_t video) const;
  absl::StatusOr<Clip> Choose(const FrameIndex& index, const SeededClip& clip) const;
  absl::StatusOr<Clip> Select(const FrameIndex& index, const SeededClip& clip) const;
  ClipResult Succeeded(const SeededClip& clip, ClipStream::Result decoded) const;
  void AddAugmentation(const ClipStream::Result& decoded,
                       std::vector<::tensorflow::Tensor>* element) const;
  void AddVideo(const ClipId& id, std::vector<::tensorflow::Tensor>* element) const;

  const ClipArguments& arguments_;
  VideoStore& store_;
  DatasetStatistics& statistics_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DATASET_CLIP_READER_H_
