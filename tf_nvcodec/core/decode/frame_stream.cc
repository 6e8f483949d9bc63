#include "tf_nvcodec/core/decode/frame_stream.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace nvc {
namespace {

using Clock = std::chrono::steady_clock;

// How often a reader that waits looks whether it is cancelled, which wakes nobody.
constexpr auto kPollInterval = std::chrono::milliseconds(100);

int64_t NanosSince(Clock::time_point begin) {
  return std::chrono::nanoseconds(Clock::now() - begin).count();
}

absl::Status Stopped() { return absl::CancelledError("the stream of frames was stopped"); }

// Whether all frames of a segment are shown before those of the next one.
bool AreInOrder(const std::vector<Segment>& segments) {
  int last = -1;
  for (const Segment& segment : segments) {
    const auto [first, end] = std::minmax_element(segment.frames.begin(), segment.frames.end());
    if (*first < last) return false;
    last = *end;
  }
  return true;
}

}  // namespace

FrameStream::FrameStream(const FrameIndex& index, const ByteSource& source,
                         const std::vector<int64_t>& frames, const ReadOptions& options,
                         FrameSink* sink)
    : index_(index),
      source_(source),
      options_(options),
      sink_(sink),
      segments_(PlanSegments(index, frames)),
      is_bounded_(options.lookahead > 0 && AreInOrder(segments_)),
      wanted_(frames.begin(), frames.end()),
      done_(index.frames().size()),
      limit_(is_bounded_ ? -1 : std::numeric_limits<int>::max()) {
  std::sort(wanted_.begin(), wanted_.end());
  wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
  if (!IsSoftware()) {
    plan_.workers = PlanWorkers(segments_, options.factory.max_workers, options.lookahead);
  } else {
    if (!options.threads_are_granted) grant_.emplace(options.num_threads);
    const int threads = grant_.has_value() ? grant_->threads() : options.num_threads;
    const int64_t ahead = is_bounded_ ? options.lookahead + options.kept_pictures : 0;
    plan_ = PlanThreads(segments_, threads, ahead);
    const int cores = AvailableCores();
    const bool may_grow = options.in_threads && grant_.has_value() && options.num_threads == 0 &&
                          plan_.threads_per_decoder == 1 && threads < cores;
    if (may_grow) most_workers_ = PlanThreads(segments_, cores, ahead).workers;
  }
  most_workers_ = std::max(most_workers_, plan_.workers);
  PlanStretches();
  sink_->Start(most_workers_);
}

absl::StatusOr<std::unique_ptr<FrameStream>> FrameStream::Open(const FrameIndex& index,
                                                               const ByteSource& source,
                                                               const std::vector<int64_t>& frames,
                                                               const ReadOptions& options,
                                                               FrameSink* sink) {
  std::unique_ptr<FrameStream> stream(new FrameStream(index, source, frames, options, sink));
  if (stream->options_.in_threads && stream->StartThreads(0) == 0) {
    return absl::ResourceExhaustedError(
        "there is no thread to decode the video with; close other iterators or raise the limit of "
        "threads");
  }
  return stream;
}

// Joins the workers on every way out. When Python ends a daemon thread, it unwinds the stack in the
// middle of a read.
FrameStream::~FrameStream() {
  Stop();
  for (std::thread& thread : threads_) thread.join();
}

// A lone worker need not start anew where one segment follows another. Several workers take a
// segment each.
void FrameStream::PlanStretches() {
  for (size_t i = 0; i < segments_.size(); ++i) {
    if (most_workers_ == 1 && i > 0 && Continues(index_, segments_[i - 1], segments_[i])) {
      todo_.back().end = i + 1;
    } else {
      todo_.push_back({i, i + 1});
    }
  }
}

// Returns how many threads work. If the system has no more of them, these take all segments.
int FrameStream::StartThreads(int first_worker) {
  int worker = first_worker;
  {
    std::lock_guard<std::mutex> lock(mutex_);  // a worker that has begun may Grow
    working_ = next_worker_ = plan_.workers;
    try {
      for (; worker < plan_.workers; ++worker) {
        threads_.emplace_back([this, worker] { Work(worker); });
      }
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
  }
  if (worker < plan_.workers) EndWork(plan_.workers - worker);
  return worker - first_worker;
}

// Takes another worker for a core that another decode has given back.
void FrameStream::Grow() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (ended_ || next_worker_ >= most_workers_ || next_stretch_ >= todo_.size()) return;
  std::shared_ptr<ThreadGrant> core = ThreadGrant::OfAFreeCore();
  if (core == nullptr) return;
  try {
    threads_.emplace_back([this, worker = next_worker_.load(), core] { Work(worker); });
    ++next_worker_;
    ++working_;
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
}

absl::StatusOr<std::optional<FrameStream::Frame>> FrameStream::Next(const Cancelled& cancelled) {
  if (!options_.in_threads && !has_worked_) {
    has_worked_ = true;
    StartThreads(1);
    Work(0);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  if (next_ == wanted_.size()) return std::nullopt;
  const int frame = wanted_[next_];
  if (limit_ < frame) {
    limit_ = frame;
    has_room_.notify_all();
  }
  while (true) {
    const bool over = working_ == 0;
    if (done_[static_cast<size_t>(frame)]) break;
    if (stopped_) return Stopped();
    NVC_RETURN_IF_ERROR(status_);
    if (IsCancelled(cancelled)) {
      return cancelled.Error(absl::StrCat("decoding contents, at frame ", frame));
    }
    if (over) return absl::InternalError(absl::StrCat("nobody decodes frame ", frame));
    has_frame_.wait_for(lock, kPollInterval);
  }
  ++next_;
  Frame result{frame, absl::OkStatus()};
  if (const auto damaged = damaged_.find(frame); damaged != damaged_.end()) {
    result.damage = std::move(damaged->second);
    damaged_.erase(damaged);
  }
  return result;
}

void FrameStream::Allow(int frame) {
  std::lock_guard<std::mutex> lock(mutex_);
  limit_ = std::max(limit_, frame);
  has_room_.notify_all();
}

void FrameStream::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  Fail(Stopped());
}

void FrameStream::Fail(const absl::Status& status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (status_.ok()) status_ = status;
    ended_ = true;
    has_room_.notify_all();
    has_frame_.notify_all();
  }
  WakeWaiting();
}

// Makes workers that wait for a decoder check again whether the stream needs more of them.
void FrameStream::WakeWaiting() const {
  if (options_.factory.quota != nullptr) options_.factory.quota->AskAgain();
}

bool FrameStream::HasRoom(int frame) {
  std::lock_guard<std::mutex> lock(mutex_);
  return frame <= limit_;
}

absl::Status FrameStream::WaitForRoom(int frame, int64_t* waited_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (frame > limit_) {
    const auto begin = Clock::now();
    while (frame > limit_ && !ended_) has_room_.wait(lock);
    *waited_ns += NanosSince(begin);
  }
  return ended_ ? Stopped() : absl::OkStatus();
}

void FrameStream::Settle(int frame, const absl::Status& damage) {
  std::lock_guard<std::mutex> lock(mutex_);
  done_[static_cast<size_t>(frame)] = true;
  if (!damage.ok()) damaged_.insert({frame, damage});
  has_frame_.notify_all();
}

void FrameStream::Work(int worker) {
  const auto begin = Clock::now();
  WorkerState state{worker, plan_.threads_per_decoder, DecoderLease(options_.factory.quota)};
  try {
    TakeStretches(&state);
  } catch (const std::bad_alloc&) {
    Fail(absl::ResourceExhaustedError("out of memory while decoding"));
  }
  state.decoder.reset();
  state.lease.End();
  try {
    sink_->Leave(worker);
  } catch (const std::bad_alloc&) {
    Fail(absl::ResourceExhaustedError("out of memory while decoding"));
  }
  if (options_.busy_ns != nullptr) *options_.busy_ns += NanosSince(begin) - state.waited_ns;
  // A core that nobody here uses any more is for other decodes. The last one goes with the grant.
  if (grant_.has_value() && worker < plan_.workers) grant_->GiveBackACore();
  EndWork(1);
}

void FrameStream::EndWork(int workers) {
  bool over = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (working_ > workers) {
      working_ -= workers;
      return;
    }
    over = ended_ || put_back_.empty();
    working_ = over ? 0 : 1;
    has_frame_.notify_all();
  }
  if (over) return grant_.reset();
  // There was not enough memory for these stretches while several decoders were open. Now only one
  // is.
  todo_.swap(put_back_);
  put_back_.clear();
  next_stretch_ = 0;
  last_try_ = true;
  Work(0);
}

void FrameStream::TakeStretches(WorkerState* state) {
  const auto enough = [this] { return ended_ || next_stretch_ >= todo_.size(); };
  while (!ended_) {
    if (state->lease.IsOver()) {
      state->decoder.reset();
      state->lease.End();
      sink_->Leave(state->worker);
    }
    if (!state->lease.Begin(enough)) return;
    const size_t next = next_stretch_++;
    if (next >= todo_.size()) return;
    if (next + 1 == todo_.size()) WakeWaiting();
    const absl::Status status = DecodeStretch(todo_[next], state);
    // A reader of a stream with little room waits for these very frames: they can't be put back.
    if (absl::IsResourceExhausted(status) && !IsSoftware() && !is_bounded_ && !last_try_) {
      std::lock_guard<std::mutex> lock(mutex_);
      put_back_.push_back(todo_[next]);
      return;  // this also closes the worker's decoder
    }
    if (!status.ok()) return Fail(status);
    if (next_worker_ < most_workers_) Grow();
  }
}

absl::Status FrameStream::DecodeStretch(const Stretch& stretch, WorkerState* state) {
  const Cancelled cancelled = options_.cancelled.Or([this] { return ended_.load(); });
  const CancelScope scope(cancelled);
  size_t at = stretch.begin;
  size_t run = stretch.end - stretch.begin;  // segments to decode without a new start
  while (at < stretch.end) {
    const size_t end = std::min(at + run, stretch.end);
    Segment joined;
    const bool is_whole = end == at + 1 && !last_try_ && !IsPartlyDone(segments_[at]);
    if (!is_whole)
      joined = JoinSegments(index_, &segments_[at], &segments_[at] + (end - at), done_);
    const Segment& segment = is_whole ? segments_[at] : joined;
    if (segment.frames.empty()) {
      at = end;
      continue;
    }
    AnnounceSegment(index_, source_, segment);
    if (options_.check_starts) {
      NVC_RETURN_IF_ERROR(CheckSyncSamples(index_, source_, {segment.frames[0]}));
    }
    // In one segment, a decoder of one thread can go on behind an error and tell what it damages.
    const ErrorReports reports = !IsSoftware()                     ? ErrorReports::kLate
                                 : state->threads == 1 && is_whole ? ErrorReports::kByPacket
                                                                   : ErrorReports::kByFlag;
    DamagedFrames causes;
    const auto decoded = DecodeFast(segment, state, reports, &causes);
    const bool no_memory =
        !IsSoftware() && is_bounded_ && absl::IsResourceExhausted(decoded.status());
    if (!decoded.ok() && !no_memory) return decoded.status();
    if (decoded.ok() && *decoded) {
      at = end;
      run *= 2;
      continue;
    }
    state->decoder.reset();
    if (!no_memory && options_.factory.before_decoding_again != nullptr) {
      NVC_RETURN_IF_ERROR(options_.factory.before_decoding_again(causes));
    }
    state->lease.End();
    NVC_RETURN_IF_ERROR(DecodeFirstAgain(end, state, &at));
    // More errors may follow soon. Each would end a long run.
    run = 1;
    if (at < stretch.end && !state->lease.Begin([this] { return ended_.load(); })) break;
  }
  return absl::OkStatus();
}

bool FrameStream::IsPartlyDone(const Segment& segment) const {
  return std::any_of(segment.frames.begin(), segment.frames.end(),
                     [this](int frame) { return done_[static_cast<size_t>(frame)]; });
}

// Decodes the first segment from `at` on that is not done, with a software decoder of one thread:
// only that tells which packet is to blame. Sets `at` to the segment behind it, `end` at most.
absl::Status FrameStream::DecodeFirstAgain(size_t end, WorkerState* state, size_t* at) {
  Segment undone;
  while (*at < end && undone.frames.empty()) {
    undone = JoinSegments(index_, &segments_[*at], &segments_[*at] + 1, done_);
    ++*at;
  }
  if (undone.frames.empty()) return absl::OkStatus();
  NVC_ASSIGN_OR_RETURN(const auto careful, OpenSoftware(index_.CodecAt(undone.first_packet), 1));
  DamagedFrames causes;
  return Decode(undone, careful.get(), ErrorReports::kByPacket, state, &causes).status();
}

// Decodes with the decoder that the plan chose. See DecodeSegment for the result.
absl::StatusOr<bool> FrameStream::DecodeFast(const Segment& segment, WorkerState* state,
                                             ErrorReports reports, DamagedFrames* causes) {
  const AVCodecParameters& codec = index_.CodecAt(segment.first_packet);
  if (state->codec != &codec) state->decoder.reset();
  state->codec = &codec;
  if (state->decoder == nullptr) {
    NVC_ASSIGN_OR_RETURN(state->decoder, OpenFast(codec, state->threads));
  }
  return Decode(segment, state->decoder.get(), reports, state, causes);
}

absl::StatusOr<bool> FrameStream::Decode(const Segment& segment, Decoder* decoder,
                                         ErrorReports reports, WorkerState* state,
                                         DamagedFrames* causes) {
  const Cancelled cancelled = options_.cancelled.Or([this] { return ended_.load(); });
  FrameEvents events;
  events.give_up_overdue = options_.in_threads;
  events.write = [&](int frame, const AVFrame& picture, bool may_wait) {
    if (may_wait) NVC_RETURN_IF_ERROR(WaitForRoom(frame, &state->waited_ns));
    return sink_->Write(state->worker, frame, picture);
  };
  // A GPU's decoder has few surfaces for pictures that are kept.
  if (IsSoftware()) {
    events.has_room = [&](int frame) { return HasRoom(frame); };
    if (plan_.workers > 1) {
      events.most_kept = static_cast<size_t>(options_.kept_pictures / plan_.workers);
    }
  }
  events.settle = [&](int frame, const absl::Status& damage) { Settle(frame, damage); };
  return DecodeSegment(index_, source_, segment, decoder, reports, cancelled, events, causes);
}

absl::StatusOr<std::unique_ptr<Decoder>> FrameStream::OpenFast(const AVCodecParameters& codec,
                                                               int threads) const {
  if (IsSoftware()) return OpenSoftware(codec, threads);
  return options_.factory.open(codec, index_.stream().time_base, Options(1));
}

absl::StatusOr<std::unique_ptr<Decoder>> FrameStream::OpenSoftware(const AVCodecParameters& codec,
                                                                   int threads) const {
  return DecoderCache::Shared().Open(codec, index_.stream().time_base, Options(threads));
}

DecoderOptions FrameStream::Options(int threads) const {
  DecoderOptions options;
  options.num_threads = threads;
  options.reorder_depth = index_.reorder_depth();
  options.max_pixels = options_.max_pixels;
  options.output_unreachable = true;
  return options;
}

absl::Status ReadFrames(const FrameIndex& index, const ByteSource& source,
                        const std::vector<int64_t>& frames, const ReadOptions& options,
                        FrameSink* sink, DamagedFrames* damaged) {
  if (frames.empty()) return absl::OkStatus();
  NVC_ASSIGN_OR_RETURN(const auto stream, FrameStream::Open(index, source, frames, options, sink));
  while (true) {
    NVC_ASSIGN_OR_RETURN(auto frame, stream->Next(/*cancelled=*/nullptr));
    if (!frame.has_value()) return absl::OkStatus();
    if (!frame->damage.ok()) damaged->insert({frame->number, std::move(frame->damage)});
  }
}

}  // namespace nvc
