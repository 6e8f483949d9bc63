#include "tf_nvcodec/kernels/clip_reader.h"

#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_util.h"
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

// Decodes `clip` into a batch of clip.frames.size() + clip.zeros frames. Returns Aborted if
// decoding shows that the video's index is wrong.
absl::Status Decode(const IndexedVideo& video, const Clip& clip, const DecodeAttributes& decode,
                    Allocator* allocator, const Cancelled& cancelled, Tensor* batch,
                    std::vector<bool>* valid) {
  const auto allocate = [&](const FrameShape& shape, int64_t count) -> absl::StatusOr<void*> {
    const int64_t frames = count + clip.zeros;
    NVC_RETURN_IF_ERROR(CheckBatchBytes(shape, frames, decode.max_bytes));
    *batch = Tensor(allocator, decode.dtype, BatchShape(decode.output, shape, frames));
    if (!batch->IsInitialized()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("there is no memory for ", frames, " frames of ", shape.bytes, " bytes"));
    }
    auto* const base = static_cast<uint8_t*>(batch->data());
    std::memset(base + shape.bytes * static_cast<size_t>(count), 0,
                shape.bytes * static_cast<size_t>(clip.zeros));
    return base;
  };
  if (video.index->only_sample_table()) {
    NVC_RETURN_IF_ERROR(CheckSyncSamples(*video.index, *video.source, clip.frames));
  }
  NVC_ASSIGN_OR_RETURN(const DecodeSetup setup,
                       SetUpDecoding(decode, /*gpu=*/nullptr, video.index->stream(), cancelled));
  FrameCollector collected(decode.output, video.index->stream().rotation, clip.frames, allocate,
                           setup.target.get());
  DamagedFrames damaged;
  NVC_RETURN_IF_ERROR(
      ReadFrames(*video.index, *video.source, clip.frames, setup.options, &collected, &damaged));
  if (video.index->only_sample_table() && !damaged.empty()) {
    return absl::AbortedError(damaged.begin()->second.message());
  }
  // A clip has a fixed length, so a clip with damaged frames is left out as a whole.
  const OnError policy = decode.on_error == OnError::kRepeat ? OnError::kRepeat : OnError::kRaise;
  std::vector<size_t> slots;
  NVC_ASSIGN_OR_RETURN(*valid, collected.Finish(*video.index, damaged, policy, &slots));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Clip> ClipReader::Select(const FrameIndex& index, const SeededClip& clip) const {
  const ClipSpec& spec = arguments_.clips;
  if (spec.sampling != ClipSampling::kAt) {
    return spec.Select(index, clip.id.clip,
                       HashMix(clip.seed, static_cast<uint64_t>(clip.id.video)));
  }
  const auto& splits = arguments_.time_splits;
  const int64_t first = splits.empty() ? 0 : splits[static_cast<size_t>(clip.id.video)];
  return spec.SelectAt(index, arguments_.times[static_cast<size_t>(first + clip.id.clip)]);
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

absl::Status ClipReader::ReadClip(const SeededClip& clip, Allocator* allocator,
                                  const Cancelled& cancelled, std::vector<Tensor>* element,
                                  int64_t* num_decoded, const char** stage) const {
  NVC_ASSIGN_OR_RETURN(IndexedVideo video,
                       store_.Open(clip.id.video, cancelled, &statistics_, stage));
  Clip selected;
  Tensor frames;
  std::vector<bool> valid;
  while (true) {
    *stage = "short";
    NVC_ASSIGN_OR_RETURN(selected, Select(*video.index, clip));
    *stage = "decode";
    const absl::Status decoded =
        Decode(video, selected, arguments_.decode, allocator, cancelled, &frames, &valid);
    if (decoded.ok()) break;
    // Only a wrong index calls for a new one: to index a large file again is expensive, and a limit
    // or a network error says nothing about the index.
    const bool index_is_wrong = video.index->only_sample_table() && absl::IsAborted(decoded);
    if (!index_is_wrong || IsCancelled(cancelled)) return decoded;
    const auto wrong = video.index;
    NVC_ASSIGN_OR_RETURN(video,
                         store_.Open(clip.id.video, cancelled, &statistics_, stage, wrong.get()));
  }
  Tensor pts(allocator, ::tensorflow::DT_DOUBLE, TensorShape({arguments_.clips.length}));
  Tensor mask(allocator, ::tensorflow::DT_BOOL, TensorShape({arguments_.clips.length}));
  *num_decoded = 0;
  for (int64_t i = 0; i < arguments_.clips.length; ++i) {
    const auto slot = static_cast<size_t>(i);
    const bool shown = slot < selected.frames.size();
    const bool own = i < selected.own && valid[slot];
    pts.vec<double>()(i) =
        shown ? video.index->frames()[static_cast<size_t>(selected.frames[slot])].pts : 0.0;
    mask.vec<bool>()(i) = own;
    *num_decoded += own ? 1 : 0;
  }
  std::vector<Tensor> parts = {std::move(frames), std::move(pts), std::move(mask)};
  AddVideo(clip.id, &parts);
  if (arguments_.output_order.empty()) {
    *element = std::move(parts);
  } else {
    for (const int32_t part : arguments_.output_order) {
      element->push_back(parts[static_cast<size_t>(part)]);
    }
  }
  return absl::OkStatus();
}

absl::Status ClipReader::Read(const SeededClip& clip, Allocator* allocator,
                              const Cancelled& cancelled, std::vector<Tensor>* element,
                              int64_t* num_decoded) const {
  const auto begin = std::chrono::steady_clock::now();
  const char* stage = "";
  const absl::Status status = ReadClip(clip, allocator, cancelled, element, num_decoded, &stage);
  statistics_.decode_ns +=
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  if (status.ok() || IsCancelled(cancelled)) return status;
  element->clear();
  std::string name = absl::StrCat("video ", clip.id.video);
  if (arguments_.names_are_files) {
    name = std::string(arguments_.videos.flat<tstring>()(clip.id.video));
  }
  const bool too_short = absl::IsNotFound(status) && absl::string_view(stage) == "short";
  if (too_short) {
    statistics_.Skip(stage, absl::NotFoundError(absl::StrCat(name, ": ", status.message())));
    return absl::OkStatus();
  }
  if (absl::string_view(stage) == "short") stage = "select";
  // tf.data takes OutOfRange for the end of the dataset.
  const auto code = absl::IsOutOfRange(status) ? absl::StatusCode::kDataLoss : status.code();
  const absl::Status named(
      code, Utf8Text(absl::StrCat(name, ", clip ", clip.id.clip, ": ", status.message())));
  if (arguments_.decode.on_error == OnError::kRaise) return named;
  statistics_.Skip(stage, named);
  return absl::OkStatus();
}

int64_t ClipReader::Count(int64_t video, const Cancelled& cancelled) const {
  const char* stage = "";
  const auto opened = store_.Open(video, cancelled, &statistics_, &stage);
  return opened.ok() ? arguments_.clips.CountAll(*opened->index) : 1;
}

}  // namespace nvc
