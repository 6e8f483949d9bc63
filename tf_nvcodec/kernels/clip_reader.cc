#include "tf_nvcodec/kernels/clip_reader.h"

#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_util.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/permutation.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/base/utf8_text.h"
#include "tf_nvcodec/core/decode/frame_collector.h"
#include "tf_nvcodec/core/decode/video_reader.h"
#include "tf_nvcodec/core/index/frame_index.h"
#include "tf_nvcodec/kernels/batch_shape.h"
#include "tf_nvcodec/kernels/decode_setup.h"

namespace nvc {
namespace {

using ::tensorflow::Allocator;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

template <typename T>
Tensor Scalar(const T& value) {
  Tensor tensor(::tensorflow::DataTypeToEnum<T>::value, TensorShape({}));
  tensor.scalar<T>()() = value;
  return tensor;
}

}  // namespace

absl::StatusOr<void*> AllocateClip(const DecodeAttributes& decode, const Clip& clip,
                                   const FrameShape& shape, int64_t count, Allocator* allocator,
                                   Tensor* frames) {
  const int64_t total = count + clip.zeros;
  NVC_RETURN_IF_ERROR(CheckBatchBytes(shape, total, decode.max_bytes));
  *frames = Tensor(allocator, decode.dtype, BatchShape(decode.output, shape, total));
  if (!frames->IsInitialized()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("out of memory for ", total, " frames of ", shape.bytes, " bytes each"));
  }
  auto* const base = static_cast<uint8_t*>(frames->data());
  std::memset(base + shape.bytes * static_cast<size_t>(count), 0,
              shape.bytes * static_cast<size_t>(clip.zeros));
  return base;
}

Cancelled ClipReader::WithinTimeout(const Cancelled& cancelled) const {
  return cancelled.Before(Deadline(arguments_.decode.timeout));
}

absl::StatusOr<IndexedVideo> ClipReader::Open(const SeededClip& clip, const Cancelled& cancelled,
                                              const char** stage, const FrameIndex* wrong) const {
  return store_.Open(clip.id.video, WithinTimeout(cancelled), &statistics_, stage, wrong);
}

// Returns Aborted if decoding shows that the video's index is wrong.
absl::Status ClipReader::Decode(const IndexedVideo& video, const Clip& clip, Allocator* allocator,
                                const Cancelled& cancelled, Tensor* batch,
                                std::vector<bool>* valid) const {
  // Several clips are decoded at once, so that one thread for each is enough.
  DecodeAttributes decode = arguments_.decode;
  if (decode.num_threads == 0) decode.num_threads = 1;
  NVC_ASSIGN_OR_RETURN(
      DecodeSetup setup,
      SetUpDecoding(decode, /*gpu=*/nullptr, video.index->stream(), WithinTimeout(cancelled)));
  setup.options.check_starts = video.index->only_sample_table();
  const auto target = setup.new_target();
  FrameCollector collected(
      decode.output, video.index->stream().orientation, clip.frames,
      [&](const FrameShape& shape, int64_t count) {
        return AllocateClip(decode, clip, shape, count, allocator, batch);
      },
      target.get());
  DamagedFrames damaged;
  NVC_RETURN_IF_ERROR(
      ReadFrames(*video.index, *video.source, clip.frames, setup.options, &collected, &damaged));
  if (video.index->only_sample_table() && !damaged.empty()) {
    return absl::AbortedError(damaged.begin()->second.message());
  }
  std::vector<size_t> slots;
  NVC_ASSIGN_OR_RETURN(*valid,
                       collected.Finish(*video.index, damaged, decode.on_error_in_clip(), &slots));
  return absl::OkStatus();
}

// Returns the times of the video's clips, for sampling "at".
absl::Span<const double> ClipReader::TimesOf(int64_t video) const {
  const absl::Span<const double> all(arguments_.times);
  const auto& splits = arguments_.time_splits;
  if (splits.empty()) return all;
  const auto row = static_cast<size_t>(video);
  const auto begin = static_cast<size_t>(splits[row]);
  return all.subspan(begin, static_cast<size_t>(splits[row + 1]) - begin);
}

bool ClipReader::GoesBack(const ClipId& from, const ClipId& to) const {
  if (arguments_.clips.sampling != ClipSampling::kAt) return false;
  const auto times = TimesOf(from.video);
  const auto a = static_cast<size_t>(from.clip), b = static_cast<size_t>(to.clip);
  // A restored clip may have no time, which is an error once it is read.
  return a < times.size() && b < times.size() && times[b] < times[a];
}

absl::StatusOr<Clip> ClipReader::Select(const FrameIndex& index, const SeededClip& clip) const {
  const ClipSpec& spec = arguments_.clips;
  if (spec.sampling != ClipSampling::kAt) {
    return spec.Select(index, clip.id.clip,
                       HashMix(clip.seed, static_cast<uint64_t>(clip.id.video)));
  }
  const auto times = TimesOf(clip.id.video);
  const auto number = static_cast<size_t>(clip.id.clip);
  if (number >= times.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("clip ", clip.id.clip, " does not exist: clip_at has ", times.size(),
                     " times for the video; the iterator was saved with other arguments"));
  }
  const double time = times[number];
  const bool rounded = arguments_.times_are_float32;
  return spec.SelectAt(index, time, rounded ? Float32Tolerance(static_cast<float>(time)) : 0);
}

void ClipReader::AddVideo(const ClipId& id, std::vector<Tensor>* element) const {
  element->push_back(Scalar<int64_t>(id.video));
  element->push_back(Scalar<int64_t>(id.clip));
  element->push_back(Scalar<tstring>(
      arguments_.names_are_files ? arguments_.videos.flat<tstring>()(id.video) : tstring()));
  for (const Tensor& component : arguments_.components) {
    // Makes a copy, because a slice would keep the whole tensor alive and may not be aligned.
    element->push_back(::tensorflow::tensor::DeepCopy(component.SubSlice(id.video)));
  }
}

ClipResult ClipReader::ReadClip(const SeededClip& clip, Allocator* allocator,
                                const Cancelled& cancelled) const {
  const char* stage = "";
  std::shared_ptr<const FrameIndex> wrong;
  while (true) {
    const auto video = Open(clip, cancelled, &stage, wrong.get());
    if (!video.ok()) return Failed(clip, video.status(), stage, cancelled);
    const auto selected = Select(*video->index, clip);
    if (!selected.ok()) return Failed(clip, selected.status(), "short", cancelled);
    Tensor frames;
    std::vector<bool> valid;
    const absl::Status decoded = Decode(*video, *selected, allocator, cancelled, &frames, &valid);
    if (decoded.ok()) return Succeeded(clip, *selected, *video->index, std::move(frames), valid);
    // Only a wrong index calls for a new one: to index a large file again is expensive, and a limit
    // or a network error says nothing about the index.
    const bool index_is_wrong = video->index->only_sample_table() && absl::IsAborted(decoded);
    if (!index_is_wrong || IsCancelled(cancelled)) {
      return Failed(clip, decoded, "decode", cancelled);
    }
    wrong = video->index;
  }
}

ClipResult ClipReader::Succeeded(const SeededClip& clip, const Clip& selected,
                                 const FrameIndex& index, Tensor frames,
                                 const std::vector<bool>& valid) const {
  ClipResult result;
  Tensor pts(::tensorflow::DT_DOUBLE, TensorShape({arguments_.clips.length}));
  Tensor mask(::tensorflow::DT_BOOL, TensorShape({arguments_.clips.length}));
  for (int64_t i = 0; i < arguments_.clips.length; ++i) {
    const auto slot = static_cast<size_t>(i);
    const bool shown = slot < selected.frames.size();
    const bool own = i < selected.own && valid[slot];
    pts.vec<double>()(i) =
        shown ? index.frames()[static_cast<size_t>(selected.frames[slot])].pts : 0.0;
    mask.vec<bool>()(i) = own;
    result.num_decoded += own ? 1 : 0;
  }
  std::vector<Tensor> parts = {std::move(frames), std::move(pts), std::move(mask)};
  AddVideo(clip.id, &parts);
  if (arguments_.output_order.empty()) {
    result.element = std::move(parts);
  } else {
    for (const int32_t part : arguments_.output_order) {
      result.element.push_back(parts[static_cast<size_t>(part)]);
    }
  }
  return result;
}

ClipResult ClipReader::Read(const SeededClip& clip, Allocator* allocator,
                            const Cancelled& cancelled) const {
  const auto begin = std::chrono::steady_clock::now();
  ClipResult result = ReadClip(clip, allocator, cancelled);
  CountDecodeTime(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  return result;
}

// Applies on_error and pad="drop", and names the video and the clip.
ClipResult ClipReader::Failed(const SeededClip& clip, const absl::Status& status, const char* stage,
                              const Cancelled& cancelled) const {
  if (IsCancelled(cancelled)) return {status, {}, 0};
  std::string name = absl::StrCat("video ", clip.id.video);
  if (arguments_.names_are_files) {
    name = std::string(arguments_.videos.flat<tstring>()(clip.id.video));
  }
  const bool too_short = absl::IsNotFound(status) && absl::string_view(stage) == "short";
  if (too_short) {
    statistics_.Skip(stage, absl::NotFoundError(absl::StrCat(name, ": ", status.message())));
    return {};
  }
  if (absl::string_view(stage) == "short") stage = "select";
  // tf.data takes OutOfRange for the end of the dataset.
  const auto code = absl::IsOutOfRange(status) ? absl::StatusCode::kDataLoss : status.code();
  const absl::Status named(
      code, Utf8Text(absl::StrCat(name, ", clip ", clip.id.clip, ": ", status.message())));
  if (arguments_.decode.on_error == OnError::kRaise) return {named, {}, 0};
  statistics_.Skip(stage, named);
  return {};
}

absl::StatusOr<int64_t> ClipReader::Count(int64_t video, const Cancelled& cancelled,
                                          const char** stage) const {
  NVC_ASSIGN_OR_RETURN(const IndexedVideo opened,
                       store_.Open(video, WithinTimeout(cancelled), &statistics_, stage));
  return arguments_.clips.CountAll(*opened.index);
}

}  // namespace nvc
