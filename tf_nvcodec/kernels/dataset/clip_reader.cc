#include "tf_nvcodec/kernels/dataset/clip_reader.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_util.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/permutation.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/base/utf8_text.h"
#include "tf_nvcodec/core/format/geometry.h"
#include "tf_nvcodec/core/index/frame_index.h"
#include "tf_nvcodec/core/remote/remote_file.h"

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

Crop WholeFrameOf(const OutputSpec& output, const StreamInfo& stream) {
  return WholeFrame(output, stream.codec->width, stream.codec->height, stream.orientation);
}

}  // namespace

std::unique_ptr<ClipStream> ClipReader::Open(std::vector<SeededClip> clips, size_t ahead,
                                             Allocator* allocator) const {
  ClipStream::Options options;
  options.decode = arguments_.decode;
  // Several lone clips are decoded at once, so that one thread for each is enough.
  if (options.decode.num_threads == 0 && clips.size() == 1) options.decode.num_threads = 1;
  options.on_error = arguments_.decode.on_error_in_clip();
  options.pack = arguments_.pack;
  options.busy_ns = &statistics_.decode_ns;
  ClipSource source;
  source.open = [this, video = clips.front().id.video](
                    const Cancelled& cancelled, const char** stage, const FrameIndex* wrong) {
    return store_.Open(video, cancelled, &statistics_, stage, wrong);
  };
  source.room = [ahead, allocator](const FrameIndex&) {
    return ClipSource::Room{ahead, /*kept_pictures=*/0, allocator};
  };
  source.select = [this, clips = std::move(clips)](
                      const FrameIndex& index,
                      size_t place) -> absl::StatusOr<std::optional<Clip>> {
    if (place >= clips.size()) return std::nullopt;
    return Select(index, clips[place]);
  };
  return std::make_unique<ClipStream>(std::move(source), std::move(options));
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

TimeSegment ClipReader::SegmentOf(int64_t video) const {
  const auto& segments = arguments_.segments;
  return segments.empty() ? TimeSegment() : segments[static_cast<size_t>(video)];
}

uint64_t ClipReader::SegmentsHash() const {
  uint64_t hash = 0;
  for (const TimeSegment& segment : arguments_.segments) {
    hash = HashMix(HashMix(hash, absl::bit_cast<uint64_t>(segment.start)),
                   absl::bit_cast<uint64_t>(segment.end));
  }
  return hash;
}

bool ClipReader::GoesBack(const ClipId& from, const ClipId& to) const {
  if (arguments_.clips.sampling != ClipSampling::kAt) return false;
  const auto times = TimesOf(from.video);
  const auto a = static_cast<size_t>(from.clip), b = static_cast<size_t>(to.clip);
  // A restored clip may have no time, which is an error once it is read.
  return a < times.size() && b < times.size() && times[b] < times[a];
}

absl::StatusOr<Clip> ClipReader::Choose(const FrameIndex& index, const SeededClip& clip) const {
  const ClipSpec& spec = arguments_.clips;
  if (spec.sampling != ClipSampling::kAt) {
    return spec.Select(index, clip.id.clip,
                       HashMix(clip.seed, static_cast<uint64_t>(clip.id.video)),
                       SegmentOf(clip.id.video));
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
  return spec.SelectAt(index, time, rounded ? Float32Tolerance(static_cast<float>(time)) : 0,
                       SegmentOf(clip.id.video));
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

absl::StatusOr<Clip> ClipReader::Select(const FrameIndex& index, const SeededClip& clip) const {
  NVC_ASSIGN_OR_RETURN(Clip chosen, Choose(index, clip));
  const StreamInfo& stream = index.stream();
  if (arguments_.center_crop > 0) {
    chosen.crop = CenterCrop(arguments_.decode.output, stream.codec->width, stream.codec->height,
                             stream.orientation, arguments_.center_crop);
  }
  if (arguments_.augmentation.any()) {
    const Crop whole = WholeFrameOf(arguments_.decode.output, stream);
    // Choose draws from this video's seed itself.
    const uint64_t seed = HashMix(HashMix(~clip.seed, static_cast<uint64_t>(clip.id.video)),
                                  static_cast<uint64_t>(clip.id.clip));
    NVC_RETURN_IF_ERROR(arguments_.augmentation.Draw(whole.height, whole.width, seed, &chosen));
  }
  return chosen;
}

void ClipReader::AddAugmentation(const ClipStream::Result& decoded,
                                 std::vector<Tensor>* element) const {
  const OutputSpec& output = arguments_.decode.output;
  const Crop crop = decoded.clip.crop.value_or(
      output.crop.value_or(WholeFrameOf(output, decoded.index->stream())));
  Tensor sides(::tensorflow::DT_INT32, TensorShape({4}));
  sides.vec<int32_t>()(0) = crop.top;
  sides.vec<int32_t>()(1) = crop.left;
  sides.vec<int32_t>()(2) = crop.height;
  sides.vec<int32_t>()(3) = crop.width;
  element->push_back(std::move(sides));
  element->push_back(Scalar<bool>(decoded.clip.flip));
}

ClipResult ClipReader::Read(ClipStream* stream, size_t place, const SeededClip& clip,
                            const Cancelled& cancelled) const {
  ClipStream::Result decoded = stream->Read(place, cancelled);
  if (!decoded.status.ok()) return Failed(clip, decoded.status, decoded.stage, cancelled);
  return Succeeded(clip, std::move(decoded));
}

ClipResult ClipReader::Succeeded(const SeededClip& clip, ClipStream::Result decoded) const {
  ClipResult result;
  Tensor pts(::tensorflow::DT_DOUBLE, TensorShape({arguments_.clips.length}));
  Tensor mask(::tensorflow::DT_BOOL, TensorShape({arguments_.clips.length}));
  const Clip& selected = decoded.clip;
  for (int64_t i = 0; i < arguments_.clips.length; ++i) {
    const auto slot = static_cast<size_t>(i);
    const bool shown = slot < selected.frames.size();
    const bool own = i < selected.own && decoded.valid[slot];
    pts.vec<double>()(i) =
        shown ? decoded.index->frames()[static_cast<size_t>(selected.frames[slot])].pts : 0.0;
    mask.vec<bool>()(i) = own;
    result.num_decoded += own ? 1 : 0;
  }
  std::vector<Tensor> parts = {std::move(decoded.frames), std::move(pts), std::move(mask)};
  AddVideo(clip.id, &parts);
  if (arguments_.augmentation.any()) AddAugmentation(decoded, &parts);
  if (arguments_.output_order.empty()) {
    result.element = std::move(parts);
  } else {
    for (const int32_t part : arguments_.output_order) {
      result.element.push_back(parts[static_cast<size_t>(part)]);
    }
  }
  return result;
}

// Applies on_error and pad="drop", and names the video and the clip.
ClipResult ClipReader::Failed(const SeededClip& clip, const absl::Status& status, const char* stage,
                              const Cancelled& cancelled) const {
  if (IsCancelled(cancelled)) return {status, {}, 0};
  std::string name = absl::StrCat("video ", clip.id.video);
  if (arguments_.names_are_files) {
    name = ShownName(arguments_.videos.flat<tstring>()(clip.id.video));
  }
  const bool selecting = absl::string_view(stage) == "short";
  if (selecting && absl::IsNotFound(status) && arguments_.clips.pad == ClipPad::kDrop) {
    statistics_.Skip(stage, absl::NotFoundError(absl::StrCat(name, ": ", status.message())));
    return {};
  }
  if (selecting && !absl::IsNotFound(status)) stage = "select";
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
                       store_.Open(video, cancelled.Before(Deadline(arguments_.decode.timeout)),
                                   &statistics_, stage));
  return arguments_.clips.CountAll(*opened.index, SegmentOf(video));
}

}  // namespace nvc
