#include "tf_nvcodec/kernels/stream/clip_stream.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/clips/packed_clip.h"
#include "tf_nvcodec/kernels/tensors/batch_shape.h"

namespace nvc {
namespace {

using ::tensorflow::Tensor;

// Makes the tensor for `count` decoded frames of `clip` and the frames of zeros behind them.
// Returns the address of the first.
absl::StatusOr<void*> AllocateClip(const DecodeAttributes& decode, const Clip& clip,
                                   const FrameShape& shape, int64_t count,
                                   ::tensorflow::Allocator* allocator, Tensor* frames) {
  const int64_t total = count + clip.zeros;
  NVC_RETURN_IF_ERROR(CheckBatchBytes(shape, total, decode.max_bytes));
  *frames = Tensor(allocator, decode.dtype, BatchShape(decode.output, shape, total));
  if (!frames->IsInitialized()) {
    return absl::ResourceExhaustedError(absl::StrCat("out of memory for ", total, " frames of ",
                                                     shape.bytes,
                                                     " bytes each; read fewer frames at a time"));
  }
  auto* const base = static_cast<uint8_t*>(frames->data());
  if (clip.zeros > 0) {
    std::memset(base + shape.bytes * static_cast<size_t>(count), 0,
                shape.bytes * static_cast<size_t>(clip.zeros));
  }
  return base;
}

OutputSpec OutputOf(const DecodeAttributes& decode, const Clip& clip) {
  OutputSpec output = decode.output;
  if (clip.crop.has_value()) output.crop = clip.crop;
  output.flip = clip.flip;
  return output;
}

// How many clips may be in memory because they overlap.
size_t MostOverlapping(const DecodeAttributes& decode, const Clip& clip,
                       const AVCodecParameters& codec) {
  constexpr int64_t kMostBytes = int64_t{2} << 30;
  const int64_t bytes = static_cast<int64_t>(clip.frames.size()) * FrameBytesAtMost(decode, codec);
  return static_cast<size_t>(kMostBytes / std::max<int64_t>(bytes, 1));
}

}  // namespace

ClipStream::ClipStream(ClipSource source, Options options)
    : source_(std::move(source)),
      options_(std::move(options)),
      stopping_([this] { return stopped_.load(); }) {}

ClipStream::~ClipStream() { Stop(); }

void ClipStream::Stop() {
  std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
  if (pass_ != nullptr && pass_->windows != nullptr) pass_->windows->Stop();
}

bool ClipStream::IsDecoding() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return pass_ != nullptr && pass_->windows != nullptr && pass_->windows->IsDecoding();
}

void ClipStream::EndPass() {
  std::unique_ptr<Pass> ended;  // joins its workers without the lock
  std::lock_guard<std::mutex> lock(mutex_);
  ended.swap(pass_);
}

// Whether the pass soon comes to the clip. To skip many clips, a new pass is faster.
bool ClipStream::IsReached(size_t place) const {
  if (pass_ == nullptr || place < pass_->next) return false;
  return place < pass_->first + pass_->clips.size() && place <= pass_->next + pass_->room.clips;
}

absl::Status ClipStream::Begin(const Cancelled& cancelled) {
  std::lock_guard<std::mutex> reading(reading_);
  if (started_) return absl::OkStatus();
  Result result;
  result.status = Start(0, /*ahead=*/true, cancelled, &result.stage);
  if (!result.status.ok()) begin_error_ = result;
  return result.status;
}

ClipStream::Result ClipStream::Read(size_t place, const Cancelled& cancelled) {
  std::lock_guard<std::mutex> reading(reading_);
  const auto begin_error = std::exchange(begin_error_, std::nullopt);
  if (begin_error.has_value() && place == 0) return *begin_error;
  Result result;
  while (true) {
    if (!IsReached(place)) {
      result.status = Start(place, /*ahead=*/false, cancelled, &result.stage);
      if (!result.status.ok()) return result;
    }
    Pass& pass = *pass_;
    const size_t number = place - pass.first, skipped = pass.next - pass.first;
    pass.next = place + 1;
    result.stage = "decode";
    result.clip = pass.clips[number];
    result.index = pass.video.index;
    const Cancelled in_time = cancelled.Before(Deadline(options_.decode.timeout));
    absl::Status ended;
    if (pass.windows == nullptr) {
      ended = options_.pack ? PackOneClip(&pass, in_time, &result)
                            : ReadOneClip(&pass, in_time, &result);
      result.status = ended;
    } else {
      WindowStream::Result window;
      ended = pass.windows->Read(number, in_time, &window);
      result.status = ended.ok() ? window.status : ended;
      result.valid = std::move(window.valid);
      result.slots = std::move(window.slots);
    }
    if (ended.ok()) {
      for (size_t i = skipped; i < number; ++i) pass.frames[i] = Tensor();
      result.frames = std::move(pass.frames[number]);
      return result;
    }
    const bool had_one_clip = pass.clips.size() == 1;
    EndPass();
    if (absl::IsAborted(ended) && result.index->only_sample_table()) {
      wrong_index_ = result.index;  // decoding shows that the file's own table of frames is wrong
    } else if (had_one_clip || IsCancelled(in_time)) {
      return result;
    } else {
      retries_one_clip_ = true;  // the error may be another clip's, further ahead
    }
  }
}

// Opens the video and chooses the clips that a pass from `place` on can read. A lone clip is
// decoded `ahead` of its Read, or in it.
absl::Status ClipStream::Start(size_t place, bool ahead, const Cancelled& cancelled,
                               const char** stage) {
  EndPass();
  started_ = true;
  const auto begin = std::chrono::steady_clock::now();
  auto pass = std::make_unique<Pass>();
  pass->first = pass->next = place;
  const Cancelled in_time = cancelled.Or(stopping_).Before(Deadline(options_.decode.timeout));
  NVC_ASSIGN_OR_RETURN(pass->video, source_.open(in_time, stage, wrong_index_.get()));
  const FrameIndex& index = *pass->video.index;
  pass->room = source_.room(index);
  const bool one_clip =
      std::exchange(retries_one_clip_, false) || options_.pack || !DecodesInOrder(index);
  std::vector<Clip>& clips = pass->clips;
  size_t oldest = 0, most = 1;  // the first clip that reaches to the latest; how many may do so
  while (clips.empty() || !one_clip) {
    auto clip = source_.select(index, place + clips.size());
    if (clips.empty()) {
      *stage = "short";
      NVC_RETURN_IF_ERROR(clip.status());
      if (!clip->has_value()) return absl::OutOfRangeError("there is no such clip");
      most = std::max(pass->room.clips,
                      MostOverlapping(options_.decode, **clip, *index.stream().codec));
    } else {
      if (!clip.ok() || !clip->has_value()) break;
      const Window &last = clips.back().frames, &next = (*clip)->frames;
      if (!IsAscending(last) || !IsAscending(next) || !Follows(last, next)) break;
      while (oldest < clips.size() && clips[oldest].frames.back() < next.front()) ++oldest;
      if (clips.size() - oldest >= most) break;
    }
    clips.push_back(**std::move(clip));
  }
  pass->frames.resize(clips.size());
  *stage = "decode";
  if (clips.size() > 1 || (ahead && !options_.pack && IsAscending(clips.front().frames))) {
    NVC_RETURN_IF_ERROR(StartWindows(pass.get()));
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  if (options_.busy_ns != nullptr) *options_.busy_ns += std::chrono::nanoseconds(took).count();
  std::lock_guard<std::mutex> lock(mutex_);
  pass_ = std::move(pass);
  if (stopped_ && pass_->windows != nullptr) pass_->windows->Stop();
  return absl::OkStatus();
}

absl::Status ClipStream::StartWindows(Pass* pass) {
  const FrameIndex& index = *pass->video.index;
  const GpuStream* const gpu = options_.gpu.has_value() ? &*options_.gpu : nullptr;
  NVC_ASSIGN_OR_RETURN(pass->setup, SetUpDecoding(options_.decode, gpu, index.stream(), stopping_));
  pass->setup.options.kept_pictures = pass->room.kept_pictures;
  pass->setup.options.busy_ns = options_.busy_ns;

  WindowStream::Memory memory;
  memory.allocate = [this, pass](size_t window, const FrameShape& shape, int64_t count) {
    return AllocateClip(options_.decode, pass->clips[window], shape, count, pass->room.allocator,
                        &pass->frames[window]);
  };
  memory.new_target = pass->setup.new_target;
  std::vector<Window> windows;
  std::vector<OutputSpec> outputs;
  const Clip& first = pass->clips.front();
  const bool differ = std::any_of(pass->clips.begin(), pass->clips.end(), [&](const Clip& clip) {
    return !(clip.crop == first.crop) || clip.flip != first.flip;
  });
  for (const Clip& clip : pass->clips) {
    windows.push_back(clip.frames);
    if (differ || outputs.empty()) outputs.push_back(OutputOf(options_.decode, clip));
  }
  NVC_ASSIGN_OR_RETURN(pass->windows,
                       WindowStream::Open(index, *pass->video.source, std::move(windows),
                                          pass->room.clips, std::move(outputs), options_.on_error,
                                          pass->setup.options, std::move(memory)));
  return absl::OkStatus();
}

// Returns Aborted if the packets show that the video's index is wrong.
absl::Status ClipStream::PackOneClip(Pass* pass, const Cancelled& cancelled, Result* result) const {
  const Cancelled until = cancelled.Or(stopping_);
  const CancelScope scope(until);
  const Clip& clip = pass->clips.front();
  NVC_ASSIGN_OR_RETURN(std::string packed, PackClip(*pass->video.index, *pass->video.source, clip));
  pass->frames.front() = Tensor(::tensorflow::tstring(std::move(packed)));
  result->valid.assign(clip.frames.size(), true);
  return absl::OkStatus();
}

// Returns Aborted if decoding shows that the video's index is wrong.
absl::Status ClipStream::ReadOneClip(Pass* pass, const Cancelled& cancelled, Result* result) {
  const FrameIndex& index = *pass->video.index;
  const GpuStream* const gpu = options_.gpu.has_value() ? &*options_.gpu : nullptr;
  NVC_ASSIGN_OR_RETURN(DecodeSetup setup, SetUpDecoding(options_.decode, gpu, index.stream(),
                                                        cancelled.Or(stopping_)));
  setup.options.check_starts = index.only_sample_table();
  setup.options.busy_ns = options_.busy_ns;
  const auto target = setup.new_target();
  const Clip& clip = pass->clips.front();
  FrameCollector collected(
      OutputOf(options_.decode, clip), index.stream().orientation, clip.frames,
      [&](const FrameShape& shape, int64_t count) {
        return AllocateClip(options_.decode, clip, shape, count, pass->room.allocator,
                            &pass->frames.front());
      },
      target.get());
  DamagedFrames damaged;
  NVC_RETURN_IF_ERROR(
      ReadFrames(index, *pass->video.source, clip.frames, setup.options, &collected, &damaged));
  if (index.only_sample_table() && !damaged.empty()) {
    return absl::AbortedError(damaged.begin()->second.message());
  }
  // A clip of which no picture came is empty, but has no shape.
  if (options_.on_error == OnError::kSkip && !collected.has_shape()) return absl::OkStatus();
  NVC_ASSIGN_OR_RETURN(result->valid,
                       collected.Finish(index, damaged, options_.on_error, &result->slots));
  return absl::OkStatus();
}

}  // namespace nvc
