#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tf_nvcodec/ops/clip_attributes.h"
#include "tf_nvcodec/ops/decode_attributes.h"

namespace nvc {
namespace {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status DatasetShape(InferenceContext* c) {
  constexpr int kRanks[] = {0, 1, 1, 0, 1, 1, 2, 1, 1, 0, 0, 0, 0};
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
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(2), 2, &unused));
  for (int i = 0; i < 3; ++i) c->set_output(i, videos);
  return absl::OkStatus();
}

}  // namespace

#define NVC_CLIP_ATTRIBUTES                              \
  NVC_CLIP_CHOICE_ATTRIBUTES.Attr("clip_step: int = 16") \
      .Attr("sampling: {'all', 'uniform', 'random', 'center', 'start', 'at'} = 'all'")

REGISTER_OP("VideoDataset")
    .Input("seed_dataset: variant")
    .Input("videos: string")
    .Input("clip_counts: int64")
    .Input("period: double")
    .Input("clip_times: Ttimes")
    .Input("clip_time_splits: int64")
    .Input("segments: double")
    .Input("size: int32")
    .Input("crop: int32")
    .Input("num_shards: int64")
    .Input("shard_index: int64")
    .Input("seed: int64")
    .Input("seed2: int64")
    .Input("components: Tcomponents")
    .Output("handle: variant")
    .Attr("Ttimes: {float, double} = DT_DOUBLE")
    .Attr("Tcomponents: list(type) >= 0")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("output_order: list(int) = []")
    .Attr("source: {'files', 'contents'} = 'files'")
    .NVC_CLIP_ATTRIBUTES.Attr("decode: bool = true")
    .Attr("random_resized_crop: list(float) = []")
    .Attr("ratio: list(float) = []")
    .Attr("random_crop: list(int) = []")
    .Attr("flip: float = 0.0")
    .Attr("center_crop: float = 0.0")
    .Attr("shuffle: bool = false")
    .Attr("shuffle_group: int = 16")
    .Attr("reshuffle_each_iteration: bool = true")
    .Attr("num_parallel_calls: int = -1")
    .Attr("deterministic: {'true', 'false', 'default'} = 'default'")
    .Attr("index_cache: string = ''")
    .Attr("statistics_name: string = ''")
    .NVC_DECODE_ATTRIBUTES.SetDoNotOptimize()
    .SetShapeFn(DatasetShape)
    .Doc(R"doc(
Makes a dataset of clips of many videos. An element has the parts frames, pts, mask, video index,
clip index, filename, the video's row of each of the `components` and, with one of the last three
attributes, the crop [top, left, height, width] and whether the clip is mirrored.

seed_dataset: A dataset whose first element, an int64 scalar, is the seed of an epoch.
videos: [N], the names of files or, with source='contents', the bytes of files.
clip_counts: [N], the number of clips of each video, or shape [0] if it is not known.
period: Seconds between the positions that stride and clip_step count; 0 means that every frame
  is a position.
clip_times: The times in seconds at which clips begin, for sampling='at'. A float32 time also stands
  for a frame that appears within half an ulp after it.
clip_time_splits: [N + 1], video i has the clip_times from split i up to split i + 1. With
  shape [0], every video has all clip_times.
segments: [N, 2], the seconds at which the part of each video begins and ends in which clips are
  chosen, or shape [0, 2] for whole videos.
size: [height, width] of the frames, [-n, -n] for n pixels on the shorter side, or [0, 0] to keep
  their size.
crop: [top, left, height, width], or zeros for no crop.
num_shards: The dataset reads every num_shards-th clip, or every num_shards-th video if
  clip_counts are not known.
shard_index: The first clip or video that this shard reads.
seed: With seed2, the seed of the order in which splits are handed out; 0 and 0 give a random order.
seed2: See seed.
components: [N, ...] each, values that elements pass through.
handle: The dataset.
decode: False gives, in place of frames, a string scalar: the packed clip, which VideoDecodePackets
  decodes.
random_resized_crop: (low, high), the part of the frame's area that a random crop has.
ratio: (low, high), width / height of such a crop; [] means 3/4 to 4/3.
random_crop: (height, width) of a crop anywhere in the frame.
flip: The probability of a mirrored clip.
center_crop: As in VideoDecodeClips.
output_order: For each place of an element the number of its part; [] keeps the order above.
clip_step: Positions from the beginning of one clip to that of the next, for sampling='all'.
shuffle_group: The number of videos whose clips are mixed if clip_counts are not known.
num_parallel_calls: The number of clips decoded at once; -1 lets tf.data choose.
index_cache: The folder of the frame-index cache; '' means no cache.
statistics_name: Datasets with the same name share their statistics.
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
Counts what the video datasets with one name have done in this process.

statistics_name: Scalar, the name.
counters: The files opened, files indexed, clips, frames and bytes read, then nanoseconds: for
  indexing, for reading clips, for waiting for clips, and from the first request to the last answer.
reasons: The reasons why clips were left out.
reason_counts: The number of clips left out for each reason.
messages: The full messages of the latest clips left out.
)doc");

REGISTER_OP("VideoClipCounts")
    .Input("videos: string")
    .Input("period: double")
    .Input("segments: double")
    .Output("clip_counts: int64")
    .Output("num_frames: int64")
    .Output("errors: string")
    .Attr("index_cache: string = ''")
    .Attr("max_pixels: int >= 0 = 67108864")
    .Attr("max_packets: int >= 0 = 8388608")
    .Attr("timeout: float = 0.0")
    .NVC_CLIP_ATTRIBUTES.SetIsStateful()
    .SetShapeFn(ClipCountsShape)
    .Doc(R"doc(
Indexes video files and counts their clips.

videos: [N], the names of files.
period: As in VideoDataset.
segments: As in VideoDataset.
clip_counts: [N], the number of clips; 0 for a file that can't be indexed.
num_frames: [N], the number of frames; 0 for a file that can't be indexed.
errors: [N], why a file can't be indexed; empty for the other files.
)doc");

}  // namespace nvc
