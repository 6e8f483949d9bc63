#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tf_nvcodec/ops/decode_attributes.h"

namespace nvc {
namespace {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status DatasetShape(InferenceContext* c) {
  constexpr int kRanks[] = {0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0};
  ShapeHandle unused;
  for (int i = 0; i < static_cast<int>(sizeof(kRanks) / sizeof(kRanks[0])); ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), kRanks[i], &unused));
  }
  c->set_output(0, c->Scalar());
  return absl::OkStatus();
}

absl::Status StatisticsShape(InferenceContext* c) {
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
  for (int i = 0; i < 4; ++i) c->set_output(i, c->Vector(InferenceContext::kUnknownDim));
  return absl::OkStatus();
}

absl::Status ClipCountsShape(InferenceContext* c) {
  ShapeHandle videos;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &videos));
  for (int i = 0; i < 3; ++i) c->set_output(i, videos);
  return absl::OkStatus();
}

}  // namespace

#define NVC_CLIP_ATTRIBUTES                                                            \
  Attr("clip_length: int = 16")                                                        \
      .Attr("stride: int = 1")                                                         \
      .Attr("clip_step: int = 16")                                                     \
      .Attr("clips_per_video: int = 1")                                                \
      .Attr("sampling: {'all', 'uniform', 'random', 'center', 'start', 'at'} = 'all'") \
      .Attr("pad: {'drop', 'zero', 'repeat', 'wrap'} = 'repeat'")

REGISTER_OP("VideoDataset")
    .Input("seed_dataset: variant")
    .Input("videos: string")
    .Input("clip_counts: int64")
    .Input("period: double")
    .Input("clip_times: double")
    .Input("clip_time_splits: int64")
    .Input("size: int32")
    .Input("crop: int32")
    .Input("num_shards: int64")
    .Input("shard_index: int64")
    .Input("seed: int64")
    .Input("seed2: int64")
    .Input("components: Tcomponents")
    .Output("handle: variant")
    .Attr("Tcomponents: list(type) >= 0")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("output_order: list(int) = []")
    .Attr("source: {'files', 'contents'} = 'files'")
    .NVC_CLIP_ATTRIBUTES.Attr("shuffle: bool = false")
    .Attr("shuffle_group: int = 16")
    .Attr("reshuffle_each_iteration: bool = true")
    .Attr("num_parallel_calls: int = -1")
    .Attr("deterministic: {'true', 'false', 'default'} = 'default'")
    .Attr("index_cache: string = ''")
    .Attr("statistics_name: string = ''")
    .NVC_DECODE_ATTRIBUTES.SetDoNotOptimize()
    .SetShapeFn(DatasetShape)
    .Doc(R"doc(
A dataset of the clips of many videos: frames, pts, mask, video index, clip index, filename, and the
video's slices of `components`.

seed_dataset: Its first element, an int64 scalar, is the seed of an epoch.
videos: [N], names of files or, with source='contents', the bytes of files.
clip_counts: [N], how many clips each video has, or [0] where that is not known.
period: Seconds between the moments at which frames are taken; 0: frames are counted.
clip_times: Beginnings of clips in seconds, for sampling='at'.
clip_time_splits: [N + 1], video i has the clip_times from split i to i + 1; [0]: all of them.
size: [height, width] of the frames, or [0, 0] to keep theirs.
crop: [top, left, height, width], zeros: none.
num_shards: Only every num_shards-th clip (where counts are known; else video) is read ...
shard_index: ... from this one on.
seed: With seed2, of the order in which splits are handed out; 0 and 0: drawn anew.
seed2: See seed.
components: [N, ...] each.
handle: The dataset.
output_order: Which of these parts comes at each place of an element; []: as listed above.
clip_step: Frames or moments from one clip to the next, for sampling='all'.
shuffle_group: Videos that are mixed with each other where clip counts are not known.
num_parallel_calls: Clips decoded at once; -1: tuned.
index_cache: Folder of the frame-index cache; '': none.
statistics_name: Datasets of one name share their statistics.
)doc");

REGISTER_OP("VideoDatasetStatistics")
    .Input("statistics_name: string")
    .Output("counters: int64")
    .Output("reasons: string")
    .Output("reason_counts: int64")
    .Output("messages: string")
    .SetIsStateful()
    .SetShapeFn(StatisticsShape)
    .Doc(R"doc(
What the video datasets of a name did in this process.

counters: files opened, files indexed, clips, frames, bytes read, and the nanoseconds of indexing,
  reading clips, waiting for them, and altogether.
reasons: Why clips were left out, and ...
reason_counts: ... how many.
messages: The latest of them in full.
)doc");

REGISTER_OP("VideoClipCounts")
    .Input("videos: string")
    .Input("period: double")
    .Output("clip_counts: int64")
    .Output("num_frames: int64")
    .Output("errors: string")
    .Attr("index_cache: string = ''")
    .Attr("max_pixels: int >= 0 = 67108864")
    .NVC_CLIP_ATTRIBUTES.SetIsStateful()
    .SetShapeFn(ClipCountsShape)
    .Doc(R"doc(
Indexes video files and counts their clips.

videos: [N], names of files.
period: As VideoDataset's.
clip_counts: [N], 0 for a file that can't be indexed.
num_frames: [N], likewise.
errors: [N], why; empty for the others.
)doc");

}  // namespace nvc
