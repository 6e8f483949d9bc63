// Reads one clip of one video and makes the tensors of a dataset element from it.
#ifndef TF_NVCODEC_KERNELS_CLIP_READER_H_
#define TF_NVCODEC_KERNELS_CLIP_READER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/tensor.h"
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
  std::vector<int64_t> time_splits;
  bool names_are_files = true;
  ::tensorflow::Tensor videos;                   // string [N]: file names, or the files' bytes
  std::vector<::tensorflow::Tensor> components;  // [N, ...]: values that elements pass through
  std::vector<int32_t> output_order;             // order of an element's parts; empty: Read's order
};

// Reads and decodes clips for a dataset's iterators. Thread-safe.
class ClipReader {
 public:
  // The reader keeps all three pointers; they must outlive it.
  ClipReader(const ClipArguments* arguments, VideoStore* store, DatasetStatistics* statistics)
      : arguments_(*arguments), store_(*store), statistics_(*statistics) {}

  // Fills `element` with frames, pts, mask, video index, clip index, file name and the video's
  // components. Leaves `element` empty if on_error or pad leaves this clip out. Sets `num_decoded`
  // to the number of frames that are neither padding nor repeated. An error names the video and the
  // clip.
  absl::Status Read(const SeededClip& clip, ::tensorflow::Allocator* allocator,
                    const Cancelled& cancelled, std::vector<::tensorflow::Tensor>* element,
                    int64_t* num_decoded) const;

  // Returns the number of clips that sampling "all" takes from the video. Returns 1 for a video
  // that can't be read, so that the iterator reads it and reports the error.
  int64_t Count(int64_t video, const Cancelled& cancelled) const;

 private:
  absl::Status ReadClip(const SeededClip& clip, ::tensorflow::Allocator* allocator,
                        const Cancelled& cancelled, std::vector<::tensorflow::Tensor>* element,
                        int64_t* num_decoded, const char** stage) const;
  absl::StatusOr<Clip> Select(const FrameIndex& index, const SeededClip& clip) const;
  void AddVideo(const ClipId& id, std::vector<::tensorflow::Tensor>* element) const;

  const ClipArguments& arguments_;
  VideoStore& store_;
  DatasetStatistics& statistics_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_CLIP_READER_H_
