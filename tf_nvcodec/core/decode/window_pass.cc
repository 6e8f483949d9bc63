#include "tf_nvcodec/core/decode/window_pass.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

int64_t NowNs() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

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

// A window between its first frame and its last.
struct WindowPass::Open {
  Open(const WindowPass& pass, size_t window)
      : number(window),
        own_target(pass.shared_target_ == nullptr ? pass.callbacks_.new_target() : nullptr),
        collector(
            pass.output_, pass.index_.stream().orientation, pass.windows_[window],
            [&pass, window](const FrameShape& shape, int64_t count) {
              return pass.callbacks_.allocate(window, shape, count);
            },
            own_target == nullptr ? pass.shared_target_.get() : own_target.get()) {
    if (own_target != nullptr) collector.Start(pass.workers_);
    int64_t last = -1;
    for (const int64_t frame : pass.windows_[window]) {
      remaining += frame != last ? 1 : 0;
      last = frame;
    }
  }

  void Fail(const absl::Status& error) {
    std::lock_guard<std::mutex> lock(mutex);
    if (status.ok()) status = error;
  }

  const size_t number;
  const std::unique_ptr<FrameTarget> own_target;
  FrameCollector collector;
  std::mutex mutex;      // guards what follows, and that nobody uses the collector once it finishes
  size_t remaining = 0;  // distinct frames that are not settled
  DamagedFrames damaged;
  absl::Status status;
};

WindowPass::WindowPass(const FrameIndex& index, const ByteSource& source,
                       std::vector<Window> windows, size_t ahead, const OutputSpec& output,
                       OnError on_error, ReadOptions options, Callbacks callbacks)
    : index_(index),
      source_(source),
      windows_(std::move(windows)),
      ahead_(ahead),
      output_(output),
      on_error_(on_error),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      shared_target_(callbacks_.new_target()),
      open_(windows_.size()),
      over_(windows_.size()) {
  if (!shared_target_->IsImmediate()) {
    shared_target_.reset();
  } else {
    shared_converters_ = std::make_unique<FrameConverters>(output_, index_.stream().orientation,
                                                           shared_target_.get());
  }
  options_.cancelled = options_.cancelled.Or([this] { return stopped_ || IsOverdue(); });
}

WindowPass::~WindowPass() = default;

void WindowPass::Allow(size_t count) {
  std::lock_guard<std::mutex> lock(mutex_);
  allowed_ = std::max(allowed_, std::min(count, windows_.size()));
  changed_.notify_all();
}

void WindowPass::Drop(size_t window) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (window >= windows_.size()) return;
  if (open_[window] == nullptr && !over_[window]) SetOver(window);
}

void WindowPass::Stop() {
  std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

size_t WindowPass::num_finished() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return num_finished_;
}

int64_t WindowPass::waited_ns() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return waited_ns_ / workers_;
}

absl::Status WindowPass::Run() {
  std::vector<char> wanted(index_.frames().size());
  for (const Window& window : windows_) {
    for (const int64_t frame : window) wanted[static_cast<size_t>(frame)] = true;
  }
  std::vector<int64_t> frames;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) frames.push_back(static_cast<int64_t>(i));
  }
  if (frames.empty()) return absl::OkStatus();
  bool all_allowed = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    all_allowed = allowed_ == windows_.size();
  }
  if (!all_allowed) {
    const int64_t reach = windows_[std::min(ahead_, windows_.size()) - 1].back();
    options_.lookahead = std::upper_bound(frames.begin(), frames.end(), reach) - frames.begin();
  }
  options_.check_starts = index_.only_sample_table();
  RestartClock();
  DamagedFrames damaged;
  const absl::Status status = ReadFrames(index_, source_, frames, options_, this, &damaged);
  if (!absl::IsCancelled(status) || !overdue_) return status;
  return TimeoutError(seconds_per_window_, absl::StrCat("decoding contents, after ", num_finished(),
                                                        " of ", windows_.size(), " clips"));
}

void WindowPass::RestartClock() { clock_began_ns_ = NowNs(); }

// Stays true once it is.
bool WindowPass::IsOverdue() {
  if (seconds_per_window_ <= 0) return false;
  const double passed = 1e-9 * static_cast<double>(NowNs() - clock_began_ns_);
  if (passed >= seconds_per_window_) overdue_ = true;
  return overdue_;
}

void WindowPass::Start(int workers) {
  workers_ = workers;
  if (shared_converters_ != nullptr) shared_converters_->Start(workers);
}

void WindowPass::Leave(int worker) {
  if (shared_converters_ != nullptr) return shared_converters_->Leave(worker);
  std::vector<std::shared_ptr<Open>> open;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = num_finished_; i < open_.size(); ++i) {
      if (open_[i] != nullptr) open.push_back(open_[i]);
    }
  }
  for (const auto& window : open) {
    std::lock_guard<std::mutex> lock(window->mutex);
    // A complete window is being finished, which destroys all of its converters.
    if (window->remaining > 0) window->collector.Leave(worker);
  }
}

bool WindowPass::IsAllowed(int frame) const {
  return stopped_ || (allowed_ > 0 && frame <= windows_[allowed_ - 1].back());
}

bool WindowPass::HasRoom(int frame) {
  std::lock_guard<std::mutex> lock(mutex_);
  return IsAllowed(frame);
}

absl::Status WindowPass::WaitForRoom(int frame) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!IsAllowed(frame)) {
    const auto begin = std::chrono::steady_clock::now();
    while (!IsAllowed(frame)) changed_.wait(lock);
    waited_ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
    RestartClock();
  }
  return stopped_ ? absl::CancelledError("the pass was stopped") : absl::OkStatus();
}

// Returns the unfinished windows that have the frame. Begins those that are new.
std::vector<std::shared_ptr<WindowPass::Open>> WindowPass::WindowsWith(int frame) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<Open>> found;
  for (size_t i = num_finished_; i < windows_.size() && windows_[i].front() <= frame; ++i) {
    if (over_[i] || !std::binary_search(windows_[i].begin(), windows_[i].end(), frame)) continue;
    if (open_[i] == nullptr) open_[i] = std::make_shared<Open>(*this, i);
    found.push_back(open_[i]);
  }
  return found;
}

// Converts the frame once if the windows share a converter, and copies it to the other windows.
absl::Status WindowPass::Write(int worker, int frame, const AVFrame& picture) {
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

absl::Status WindowPass::Settle(int frame, const absl::Status& damage) {
  if (!damage.ok() && index_.only_sample_table()) return absl::AbortedError(damage.message());
  for (const auto& window : WindowsWith(frame)) {
    {
      std::lock_guard<std::mutex> lock(window->mutex);
      if (!damage.ok()) window->damaged.insert({frame, damage});
      if (--window->remaining > 0) continue;
    }
    Finish(window.get());
  }
  return absl::OkStatus();
}

void WindowPass::Finish(Open* window) {
  Result result;
  result.status = window->status;
  // A window of which no picture came is empty, but has no shape.
  const bool is_empty = on_error_ == OnError::kSkip && !window->collector.has_shape();
  if (result.status.ok() && !is_empty) {
    auto valid = window->collector.Finish(index_, window->damaged, on_error_, &result.slots);
    result.status = valid.status();
    if (valid.ok()) result.valid = std::move(valid).value();
  } else {
    window->collector.Discard();
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    SetOver(window->number);
  }
  RestartClock();
  callbacks_.finished(window->number, std::move(result));
}

// The caller holds mutex_.
void WindowPass::SetOver(size_t window) {
  over_[window] = true;
  open_[window].reset();
  while (num_finished_ < over_.size() && over_[num_finished_]) ++num_finished_;
}

}  // namespace nvc
