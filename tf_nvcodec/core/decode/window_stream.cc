#include "tf_nvcodec/core/decode/window_stream.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "tf_nvcodec/core/base/status.h"

namespace nvc {

bool DecodesInOrder(const FrameIndex& index) {
  const auto& frames = index.frames();
  return std::is_sorted(frames.begin(), frames.end(), [](const FrameEntry& a, const FrameEntry& b) {
    return a.start_packet < b.start_packet;
  });
}

bool IsAscending(const Window& window) { return std::is_sorted(window.begin(), window.end()); }

bool Follows(const Window& a, const Window& b) {
  return a.front() <= b.front() && a.back() <= b.back();
}

// A window from its first frame in memory until it is read.
struct WindowStream::Begun {
  Begun(const WindowStream& stream, size_t window)
      : own_target(stream.shared_target_ == nullptr ? stream.memory_.new_target() : nullptr),
        collector(
            stream.outputs_[stream.outputs_.size() == 1 ? 0 : window],
            stream.index_.stream().orientation, stream.windows_[window],
            [&stream, window](const FrameShape& shape, int64_t count) {
              return stream.memory_.allocate(window, shape, count);
            },
            own_target == nullptr ? stream.shared_target_.get() : own_target.get()) {
    if (own_target != nullptr) collector.Start(stream.workers_);
  }

  void Fail(const absl::Status& error) {
    std::lock_guard<std::mutex> lock(mutex);
    if (status.ok()) status = error;
  }
  void Discard() {
    std::lock_guard<std::mutex> lock(mutex);
    finished = true;
    collector.Discard();
  }

  const std::unique_ptr<FrameTarget> own_target;
  FrameCollector collector;
  std::mutex mutex;  // guards what follows, and that no worker leaves while the window is finished
  bool finished = false;
  absl::Status status;
};

WindowStream::WindowStream(const FrameIndex& index, std::vector<Window> windows, size_t ahead,
                           std::vector<OutputSpec> outputs, OnError on_error, Memory memory)
    : index_(index),
      windows_(std::move(windows)),
      ahead_(ahead),
      outputs_(std::move(outputs)),
      on_error_(on_error),
      memory_(std::move(memory)),
      shared_target_(memory_.new_target()),
      begun_(windows_.size()) {
  if (!shared_target_->IsImmediate() || outputs_.size() > 1) {
    shared_target_.reset();
  } else {
    shared_converters_ = std::make_unique<FrameConverters>(
        outputs_.front(), index_.stream().orientation, shared_target_.get());
  }
}

absl::StatusOr<std::unique_ptr<WindowStream>> WindowStream::Open(
    const FrameIndex& index, const ByteSource& source, std::vector<Window> windows, size_t ahead,
    std::vector<OutputSpec> outputs, OnError on_error, ReadOptions options, Memory memory) {
  std::unique_ptr<WindowStream> stream(new WindowStream(
      index, std::move(windows), ahead, std::move(outputs), on_error, std::move(memory)));
  std::vector<int64_t> frames;
  std::set<int64_t> ahead_of_reader;
  for (const Window& window : stream->windows_) {
    frames.insert(frames.end(), window.begin(), window.end());
    if (&window < stream->windows_.data() + ahead) {
      ahead_of_reader.insert(window.begin(), window.end());
    }
  }
  options.check_starts = index.only_sample_table();
  options.in_threads = ahead > 0;
  options.lookahead =
      ahead < stream->windows_.size() ? static_cast<int64_t>(ahead_of_reader.size()) : 0;
  NVC_ASSIGN_OR_RETURN(stream->frames_,
                       FrameStream::Open(index, source, frames, options, stream.get()));
  if (ahead > 0) stream->AllowUpTo(ahead - 1);
  return stream;
}

// The workers end before what they use.
WindowStream::~WindowStream() { frames_.reset(); }

void WindowStream::AllowUpTo(size_t window) {
  frames_->Allow(static_cast<int>(windows_[std::min(window, windows_.size() - 1)].back()));
}

absl::Status WindowStream::Read(size_t window, const Cancelled& cancelled, Result* result) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    wanted_ = window;
  }
  if (ahead_ > 0) AllowUpTo(window + ahead_ - 1);
  while (pulled_ < windows_[window].back()) {
    NVC_ASSIGN_OR_RETURN(auto frame, frames_->Next(cancelled));
    if (!frame.has_value()) break;
    pulled_ = frame->number;
    if (frame->damage.ok()) continue;
    if (index_.only_sample_table()) return absl::AbortedError(frame->damage.message());
    damaged_.insert({frame->number, std::move(frame->damage)});
  }
  // Those that had begun before they were skipped are complete now.
  while (next_ < window) {
    const auto skipped = TakeNext();
    if (skipped != nullptr) skipped->Discard();
  }
  *result = Finish(window);
  AllowUpTo(window + ahead_);
  return absl::OkStatus();
}

std::shared_ptr<WindowStream::Begun> WindowStream::TakeNext() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::move(begun_[next_++]);
}

WindowStream::Result WindowStream::Finish(size_t number) {
  std::shared_ptr<Begun> window = TakeNext();
  // Of a window without pictures there is only its damage.
  if (window == nullptr) window = std::make_shared<Begun>(*this, number);
  // No later window has frames from before this one.
  damaged_.erase(damaged_.begin(),
                 damaged_.lower_bound(static_cast<int>(windows_[number].front())));
  std::lock_guard<std::mutex> lock(window->mutex);
  window->finished = true;
  Result result;
  result.status = window->status;
  // A window of which no picture came is empty, but has no shape.
  const bool is_empty = on_error_ == OnError::kSkip && !window->collector.has_shape();
  if (result.status.ok() && !is_empty) {
    auto valid = window->collector.Finish(index_, damaged_, on_error_, &result.slots);
    result.status = valid.status();
    if (valid.ok()) result.valid = std::move(valid).value();
  } else {
    window->collector.Discard();
  }
  return result;
}

void WindowStream::Start(int workers) {
  workers_ = workers;
  if (shared_converters_ != nullptr) shared_converters_->Start(workers);
}

void WindowStream::Leave(int worker) {
  if (shared_converters_ != nullptr) return shared_converters_->Leave(worker);
  std::vector<std::shared_ptr<Begun>> begun;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::copy_if(begun_.begin() + static_cast<int64_t>(next_), begun_.end(),
                 std::back_inserter(begun), [](const auto& window) { return window != nullptr; });
  }
  for (const auto& window : begun) {
    std::lock_guard<std::mutex> lock(window->mutex);
    if (!window->finished) window->collector.Leave(worker);
  }
}

// Returns the windows that have the frame and can still be read. Begins those that are new.
std::vector<std::shared_ptr<WindowStream::Begun>> WindowStream::WindowsWith(int frame) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<Begun>> found;
  for (size_t i = next_; i < windows_.size() && windows_[i].front() <= frame; ++i) {
    if (i < wanted_ && begun_[i] == nullptr) continue;
    if (!std::binary_search(windows_[i].begin(), windows_[i].end(), frame)) continue;
    if (begun_[i] == nullptr) begun_[i] = std::make_shared<Begun>(*this, i);
    found.push_back(begun_[i]);
  }
  return found;
}

// Converts the frame once if the windows share a converter, and copies it to the other windows.
absl::Status WindowStream::Write(int worker, int frame, const AVFrame& picture) {
  const auto windows = WindowsWith(frame);
  if (shared_converters_ == nullptr) {
    for (const auto& window : windows) {
      const absl::Status written = window->collector.Write(worker, frame, picture);
      if (!written.ok()) window->Fail(written);
    }
    return absl::OkStatus();
  }
  const auto converter = shared_converters_->For(worker, picture);
  const void* from = nullptr;
  const auto write = [&](FrameCollector* collector) -> absl::Status {
    NVC_RETURN_IF_ERROR(converter.status());
    NVC_ASSIGN_OR_RETURN(void* to, collector->Place(frame, picture, (*converter)->shape()));
    if (to == nullptr) return absl::OkStatus();
    if (from == nullptr) {
      NVC_RETURN_IF_ERROR((*converter)->Convert(picture, to));
      from = to;
    } else {
      NVC_RETURN_IF_ERROR(shared_target_->Copy(to, from, (*converter)->shape().bytes));
    }
    return collector->Repeat(frame);
  };
  for (const auto& window : windows) {
    const absl::Status written = write(&window->collector);
    if (!written.ok()) window->Fail(written);
  }
  return absl::OkStatus();
}

}  // namespace nvc
