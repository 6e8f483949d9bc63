#include "tf_nvcodec/kernels/clip_pass.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/kernels/decode_setup.h"

namespace nvc {

using ::tensorflow::Tensor;

ClipPass::ClipPass(const ClipReader* reader, std::vector<SeededClip> clips, size_t ahead,
                   FrameAllocator* memory)
    : reader_(*reader),
      clips_(std::move(clips)),
      ahead_(ahead),
      memory_(*memory),
      cancelled_([this] { return stopped_.load(); }),
      deliver_(clips_.size()),
      over_(clips_.size()) {}

std::optional<size_t> ClipPass::Ask(const SeededClip& clip, Deliver deliver) {
  std::optional<ClipResult> ready;
  size_t place = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    place = asked_;
    while (place < clips_.size() && !(clips_[place].id == clip.id)) ++place;
    if (place == clips_.size() || clips_[place].seed != clip.seed) return std::nullopt;
    for (size_t i = asked_; i < place; ++i) {
      waiting_.erase(i);
      SetOver(i);
    }
    asked_ = place + 1;
    if (!over_[place]) ++due_;
    if (const auto found = waiting_.find(place); found != waiting_.end()) {
      ready = std::move(found->second);
      waiting_.erase(found);
    } else {
      deliver_[place] = std::move(deliver);
    }
    if (windows_ != nullptr) windows_->Allow(asked_ - first_);
    changed_.notify_all();
  }
  if (ready.has_value()) deliver(*std::move(ready));
  return place;
}

bool ClipPass::has_more() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return asked_ < clips_.size();
}

void ClipPass::Drop(size_t place) {
  std::lock_guard<std::mutex> lock(mutex_);
  deliver_[place] = nullptr;
  SetOver(place);
}

void ClipPass::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  if (due_ == 0) StopNow();
}

void ClipPass::Stop() {
  std::lock_guard<std::mutex> lock(mutex_);
  StopNow();
}

// The caller holds mutex_, here and in SetOver.
void ClipPass::StopNow() {
  stopped_ = true;
  if (windows_ != nullptr) windows_->Stop();
  changed_.notify_all();
}

void ClipPass::SetOver(size_t place) {
  if (over_[place]) return;
  over_[place] = true;
  if (windows_ != nullptr && place >= first_) windows_->Drop(place - first_);
  if (place < asked_ && --due_ == 0 && closed_) StopNow();
}

// Returns false if the pass was stopped.
bool ClipPass::WaitForAsked(size_t place) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (asked_ <= place && !stopped_) changed_.wait(lock);
  return !stopped_;
}

bool ClipPass::IsOver(size_t place) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return over_[place];
}

void ClipPass::Put(size_t place, ClipResult result) {
  Deliver deliver;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    SetOver(place);
    if (place < asked_) {
      deliver = std::move(deliver_[place]);  // null if the clip was dropped
    } else {
      waiting_[place] = std::move(result);
    }
  }
  if (deliver) deliver(std::move(result));
}

// Returns how many clips may be in memory because they overlap.
size_t ClipPass::MostOpen(const AVCodecParameters& codec) const {
  constexpr int64_t kMostBytes = int64_t{2} << 30;
  const int64_t clip = reader_.clip_length() * FrameBytesAtMost(reader_.decode(), codec);
  return std::max(ahead_, static_cast<size_t>(kMostBytes / std::max<int64_t>(clip, 1)));
}

// Clips that nobody has got are read again with another index.
void ClipPass::ForgetFrom(size_t place) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto found = waiting_.lower_bound(place); found != waiting_.end();) {
    over_[found->first] = false;
    found = waiting_.erase(found);
  }
}

void ClipPass::Run() {
  size_t place = 0;
  while (place < clips_.size() && WaitForAsked(place)) {
    place = IsOver(place) ? place + 1 : RunFrom(place);
  }
}

// Reads clips from `first` on, until there is a clip that this pass over the video can't read.
// Returns its place.
size_t ClipPass::RunFrom(size_t first) {
  const auto begin = std::chrono::steady_clock::now();
  const auto fail = [&](size_t place, const absl::Status& status, const char* stage) {
    has_failed_ = true;
    Put(place, reader_.Failed(clips_[place], status, stage, cancelled_));
    return place + 1;
  };
  const char* stage = "";
  const auto video = reader_.Open(clips_[first], cancelled_, &stage, wrong_index_.get());
  if (!video.ok()) return fail(first, video.status(), stage);
  const FrameIndex& index = *video->index;

  // A clip that may be the cause of an error is read alone.
  const bool alone = has_failed_ || !DecodesInOrder(index);
  const size_t end = alone ? first + 1 : clips_.size();
  const size_t most_open = MostOpen(*index.stream().codec);
  size_t oldest = 0;  // the first window that reaches to the latest
  std::vector<Clip> selected;
  std::vector<Window> windows;
  for (size_t place = first; place < end; ++place) {
    auto clip = reader_.Select(index, clips_[place]);
    if (!clip.ok() && place == first) return fail(first, clip.status(), "short");
    const bool goes_on = clip.ok() && IsAscending(clip->frames) &&
                         (windows.empty() || Follows(windows.back(), clip->frames));
    if (!goes_on) break;
    while (oldest < windows.size() && windows[oldest].back() < clip->frames.front()) ++oldest;
    if (windows.size() - oldest >= most_open) break;
    windows.push_back(clip->frames);
    selected.push_back(*std::move(clip));
  }
  if (windows.empty()) {  // a clip that goes back to the video's beginning
    Put(first, reader_.Read(clips_[first], &memory_, cancelled_));
    return first + 1;
  }

  const DecodeAttributes& decode = reader_.decode();
  const auto setup = SetUpDecoding(decode, /*gpu=*/nullptr, index.stream(), cancelled_);
  if (!setup.ok()) return fail(first, setup.status(), "decode");
  std::vector<Tensor> frames(windows.size());
  WindowPass::Callbacks callbacks;
  callbacks.allocate = [&](size_t window, const FrameShape& shape, int64_t count) {
    return AllocateClip(decode, selected[window], shape, count, &memory_, &frames[window]);
  };
  callbacks.new_target = setup->new_target;
  callbacks.finished = [&](size_t window, const WindowPass::Result& result) {
    const size_t place = first + window;
    Tensor batch = std::move(frames[window]);
    if (!result.status.ok()) {
      Put(place, reader_.Failed(clips_[place], result.status, "decode", cancelled_));
    } else {
      Put(place, reader_.Succeeded(clips_[place], selected[window], index, std::move(batch),
                                   result.valid));
    }
  };
  WindowPass pass(index, *video->source, std::move(windows), ahead_, decode.output,
                  decode.on_error_in_clip(), setup->options, std::move(callbacks));
  pass.LimitWindows(decode.timeout);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < selected.size(); ++i) {
      if (over_[first + i]) pass.Drop(i);
    }
    pass.Allow(asked_ - first);
    if (stopped_) pass.Stop();
    windows_ = &pass;
    first_ = first;
  }
  const absl::Status status = pass.Run();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    windows_ = nullptr;
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  reader_.CountDecodeTime(std::chrono::nanoseconds(took).count() - pass.waited_ns());
  const size_t failed = first + pass.num_finished();
  has_failed_ = !status.ok();
  if (status.ok() || failed == first + selected.size()) return first + selected.size();
  if (index.only_sample_table() && absl::IsAborted(status)) {
    wrong_index_ = video->index;
    ForgetFrom(failed);
    return failed;
  }
  // The error may be another clip's, further ahead. So the clip is tried again alone.
  if (selected.size() > 1) return failed;
  return WaitForAsked(failed) ? fail(failed, status, "decode") : clips_.size();
}

}  // namespace nvc
