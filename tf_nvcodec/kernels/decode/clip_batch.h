// Decodes clips of several videos at once into one batch of frames.
#ifndef TF_NVCODEC_KERNELS_DECODE_CLIP_BATCH_H_
#define TF_NVCODEC_KERNELS_DECODE_CLIP_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/clips/clip_spec.h"
#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/core/index/frame_index.h"
#include "tf_nvcodec/kernels/decode/decode_setup.h"
#include "tf_nvcodec/kernels/tensors/gpu_stream.h"

namespace nvc {

// The arguments that all videos of a batch share.
struct ClipBatchArguments {
  DecodeAttributes decode;  // its output includes size and crop
  ClipSpec clips;           // any sampling but kAll and kAt; of packed clips only the length
  bool packed = false;      // each row is a packed clip, not a video
  double center_crop = 0;   // see CenterCrop; 0: none
  std::vector<Crop> crops;  // by row; empty: as `decode` says
  std::vector<bool> flips;  // by row; empty: none
  uint64_t seed = 0;        // for kRandom; the clips of a row depend on it and on the row's number
  const GpuStream* gpu = nullptr;  // where the batch lies; null: host memory
  Cancelled cancelled;             // each video has decode.timeout besides
};

class ClipBatch {
 public:
  // Returns memory for all frames of the batch, which are `shape` large. Called when the shape is
  // known: from the arguments, or from the first video that can be decoded. If a video turns out to
  // be damaged behind its first frames, it is called again; the earlier memory is not used any
  // more.
  using Allocate = std::function<absl::StatusOr<void*>(const FrameShape& shape)>;

  // `own` and `pts` are [videos, clips_per_video, length] and zeros: Run fills in which frames are
  // neither padding nor replaced, and their times in seconds. They, `arguments` and the bytes of
  // `contents` must outlive the batch.
  ClipBatch(const ClipBatchArguments& arguments, std::vector<absl::string_view> contents,
            Allocate allocate, bool* own, double* pts);

  // Decodes all videos, several side by side. With OnError::kRaise, returns the error of the first
  // video that can't be decoded. Otherwise such a video costs its row only. Returns Cancelled, and
  // what `allocate` returns, in any case.
  absl::Status Run();

  // After Run: whether there is memory.
  bool allocated() const { return allocated_; }
  // After Run: OK or why a video could not be decoded. Then its frames, own and pts are zeros.
  const std::vector<absl::Status>& statuses() const { return statuses_; }

 private:
  class Cores;
  struct Helpers;

  void RunRows(Cores* cores);
  bool RunRow(size_t row, int threads);
  // A video with its index and the clips to decode. Its source refers to the row's bytes.
  struct Video {
    FrameIndex index;
    absl::string_view bytes;
    std::vector<Clip> clips;
  };
  absl::StatusOr<Video> Open(size_t row, const Cancelled& cancelled) const;
  absl::Status DecodeRow(size_t row, int threads);
  absl::Status DecodeTogether(size_t row, const FrameIndex& index, const ByteSource& source,
                              const OutputSpec& output, const DecodeSetup& setup,
                              const std::vector<Clip>& clips, const std::vector<size_t>& together);
  absl::Status DecodeAlone(size_t row, const FrameIndex& index, const ByteSource& source,
                           const OutputSpec& output, const DecodeSetup& setup, const Clip& clip,
                           size_t number);
  absl::StatusOr<void*> PlaceOf(size_t row, size_t clip, const FrameShape& shape);
  absl::Status AllocateNow(const FrameShape& shape);
  absl::Status Zero(size_t first_frame, size_t count) const;
  void Fill(size_t row, size_t number, const Clip& clip, const FrameIndex& index,
            const std::vector<bool>& valid);
  bool may_use_nvdec() const;
  size_t length() const { return static_cast<size_t>(arguments_.clips.length); }
  size_t frames_of_row() const;

  const ClipBatchArguments& arguments_;
  const std::vector<absl::string_view> contents_;
  const Allocate allocate_;
  bool* const own_;
  double* const pts_;
  std::vector<absl::Status> statuses_;  // by video

  std::mutex mutex_;  // guards what follows, but the memory itself
  size_t next_ = 0;   // the first row that nobody has begun
  bool stopped_ = false;
  absl::Status broken_;  // an error of the whole batch
  bool allocated_ = false;
  FrameShape shape_;
  void* memory_ = nullptr;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DECODE_CLIP_BATCH_H_
