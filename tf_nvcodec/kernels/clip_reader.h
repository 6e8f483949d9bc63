// One clip of one video as the tensors of a dataset element.
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

// What a dataset's arguments say; never changes.
struct ClipArguments {
  DecodeAttributes decode;  // its output has size and crop
  ClipSpec clips;
  // sampling "at": the clips' beginnings in seconds; those of video i lie between splits i and
  // i + 1, or, without splits, are all of them for every video.
  std::vector<double> times;
  std::vector<int64_t> time_splits;
  bool names_are_files = true;
  ::tensorflow::Tensor videos;                   // string [N]: names of files, or their bytes
  std::vector<::tensorflow::Tensor> components;  // [N, ...]: what is passed through
  std::vector<int32_t> output_order;             // of an element's parts; empty: as Read lists them
};

// Thread-safe.
class ClipReader {
 public:
  // All must outlive the reader.
  ClipReader(const ClipArguments* arguments, VideoStore* store, DatasetStatistics* statistics)
      : arguments_(*arguments), store_(*store), statistics_(*statistics) {}

  // Fills `element` with frames, pts, mask, video index, clip index, filename and the video's
  // components; leaves it empty when on_error or pad says that this clip is left out. An error
  // names the video and the clip. `num_decoded`: frames that are neither padding nor repeated.
  absl::Status Read(const SeededClip& clip, ::tensorflow::Allocator* allocator,
                    const Cancelled& cancelled, std::vector<::tensorflow::Tensor>* element,
                    int64_t* num_decoded) const;

  // The clips of sampling "all"; 1 for a video that can't be read, so that reading it says so.
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
