#include "tf_nvcodec/core/decode/video_reader.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/base/thread_budget.h"
#include "tf_nvcodec/core/decode/decode_plan.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"

namespace nvc {
namespace {

// Decodes the segments of one read with several workers.
class ReadRun {
 public:
  ReadRun(const FrameIndex& index, const ByteSource& source, const ReadOptions& options,
          const std::vector<Segment>& segments, FrameSink* sink, DamagedFrames* damaged)
      : index_(index),
        source_(source),
        options_(options),
        segments_(segments),
        sink_(sink),
        damaged_(damaged),
        done_(index.frames().size()) {}

  absl::Status Run(const ThreadPlan& plan) {
    workers_ = plan.workers;
    PlanStretches(/*join=*/plan.workers == 1);
    sink_->Start(plan.workers);
    {
      Others others(this);
      try {
        for (int worker = 1; worker < plan.workers; ++worker) {
          others.threads.emplace_back(
              [this, worker, &plan] { Work(worker, plan.threads_per_decoder); });
        }
      } catch (const std::system_error&) {
        // The system has no more threads. The existing ones take all segments.
      } catch (const std::bad_alloc&) {
      }
      Work(0, plan.threads_per_decoder);
      others.finished = true;
    }
    if (!failed_ && !put_back_.empty()) {
      // There was not enough memory for these stretches while several decoders were open. Now only
      // one is.
      todo_.swap(put_back_);
      next_ = 0;
      last_try_ = true;
      Work(0, plan.threads_per_decoder);
    }
    return status_;
  }

 private:
  // Joins the other threads on every way out. When Python ends a daemon thread, it unwinds the
  // stack in the middle of a read.
  struct Others {
    explicit Others(ReadRun* run) : run(run) {}
    ~Others() {
      if (!finished) {
        run->failed_ = true;
        run->WakeWaiting();
        run->sink_->Abandon();
      }
      for (std::thread& thread : threads) thread.join();
    }
    ReadRun* const run;
    bool finished = false;
    std::vector<std::thread> threads;
  };

  // Segments that one decoder decodes without a new start in between.
  struct Stretch {
    size_t begin = 0, end = 0;
  };

  // What a worker holds. The decoder is destroyed before `lease` gives it back.
  struct WorkerState {
    const int worker;
    const int threads;  // of a software decoder
    DecoderLease lease;
    std::unique_ptr<Decoder> decoder;
    const AVCodecParameters* codec = nullptr;  // the decoder was opened with these
  };

  // A lone worker need not start anew where one segment follows another. Several workers take a
  // segment each.
  void PlanStretches(bool join) {
    for (size_t i = 0; i < segments_.size(); ++i) {
      if (join && i > 0 && Continues(index_, segments_[i - 1], segments_[i])) {
        todo_.back().end = i + 1;
      } else {
        todo_.push_back({i, i + 1});
      }
    }
  }

  void Work(int worker, int decoder_threads) {
    try {
      WorkerState state{worker, decoder_threads, DecoderLease(options_.factory.quota), nullptr};
      TakeStretches(&state);
    } catch (const std::bad_alloc&) {
      Fail(absl::ResourceExhaustedError("out of memory while decoding"));
    }
    sink_->Leave(worker);
  }

  void TakeStretches(WorkerState* state) {
    const auto enough = [this] { return failed_ || next_ >= todo_.size(); };
    while (!failed_) {
      if (state->lease.IsOver()) {
        state->decoder.reset();
        state->lease.End();
        sink_->Leave(state->worker);
      }
      if (!state->lease.Begin(enough)) return;
      const size_t next = next_++;
      if (next >= todo_.size()) return;
      if (next + 1 == todo_.size()) WakeWaiting();
      const absl::Status status = DecodeStretch(todo_[next], state);
      // A sink with little room may wait for these very frames, so that they can't be put back.
      const bool can_wait = options_.lookahead == 0 && !last_try_;
      if (!IsSoftware() && can_wait && absl::IsResourceExhausted(status)) {
        std::lock_guard<std::mutex> lock(mutex_);
        put_back_.push_back(todo_[next]);
        return;  // this also closes the worker's decoder
      }
      if (!status.ok()) return Fail(status);
    }
  }

  absl::Status DecodeStretch(const Stretch& stretch, WorkerState* state) {
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
          !IsSoftware() && options_.lookahead > 0 && absl::IsResourceExhausted(decoded.status());
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
      NVC_RETURN_IF_ERROR(DecodeFirstAgain(end, *state, &at));
      // More errors may follow soon. Each would end a long run.
      run = 1;
      if (at < stretch.end && !state->lease.Begin([this] { return failed_.load(); })) break;
    }
    return absl::OkStatus();
  }

  bool IsPartlyDone(const Segment& segment) const {
    return std::any_of(segment.frames.begin(), segment.frames.end(),
                       [this](int frame) { return done_[static_cast<size_t>(frame)]; });
  }

  // Decodes the first segment from `at` on that is not done, with a software decoder of one thread:
  // only that tells which packet is to blame. Sets `at` to the segment behind it, `end` at most.
  absl::Status DecodeFirstAgain(size_t end, const WorkerState& state, size_t* at) {
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
  absl::StatusOr<bool> DecodeFast(const Segment& segment, WorkerState* state, ErrorReports reports,
                                  DamagedFrames* causes) {
    const AVCodecParameters& codec = index_.CodecAt(segment.first_packet);
    if (state->codec != &codec) state->decoder.reset();
    state->codec = &codec;
    if (state->decoder == nullptr) {
      NVC_ASSIGN_OR_RETURN(state->decoder, Open(codec, state->threads));
    }
    return Decode(segment, state->decoder.get(), reports, *state, causes);
  }

  absl::StatusOr<bool> Decode(const Segment& segment, Decoder* decoder, ErrorReports reports,
                              const WorkerState& state, DamagedFrames* causes) {
    const Cancelled cancelled = options_.cancelled.Or([this] { return failed_.load(); });
    FrameEvents events;
    events.give_up_overdue = options_.lookahead > 0;
    events.write = [&](int frame, const AVFrame& picture, bool may_wait) {
      if (may_wait) NVC_RETURN_IF_ERROR(sink_->WaitForRoom(frame));
      return sink_->Write(state.worker, frame, picture);
    };
    // A GPU's decoder has few surfaces for pictures that are kept.
    if (IsSoftware()) {
      events.has_room = [&](int frame) { return sink_->HasRoom(frame); };
      if (workers_ > 1) events.most_kept = static_cast<size_t>(options_.kept_pictures / workers_);
    }
    events.settle = [&](int frame, const absl::Status& damage) {
      done_[static_cast<size_t>(frame)] = true;
      if (!damage.ok()) {
        std::lock_guard<std::mutex> lock(mutex_);
        damaged_->insert({frame, damage});
      }
      return sink_->Settle(frame, damage);
    };
    return DecodeSegment(index_, source_, segment, decoder, reports, cancelled, events, causes);
  }

  bool IsSoftware() const { return options_.factory.open == nullptr; }

  DecoderOptions Options(int threads) const {
    DecoderOptions options;
    options.num_threads = threads;
    options.reorder_depth = index_.reorder_depth();
    options.max_pixels = options_.max_pixels;
    options.output_unreachable = true;
    return options;
  }

  absl::StatusOr<std::unique_ptr<Decoder>> Open(const AVCodecParameters& codec, int threads) const {
    if (IsSoftware()) return OpenSoftware(codec, threads);
    return options_.factory.open(codec, index_.stream().time_base, Options(1));
  }

  absl::StatusOr<std::unique_ptr<Decoder>> OpenSoftware(const AVCodecParameters& codec,
                                                        int threads) const {
    return DecoderCache::Shared().Open(codec, index_.stream().time_base, Options(threads));
  }

  void Fail(const absl::Status& status) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (status_.ok()) status_ = status;
      failed_ = true;
    }
    WakeWaiting();
    sink_->Abandon();
  }

  // Makes waiting workers check again whether the read needs more decoders.
  void WakeWaiting() const {
    if (options_.factory.quota != nullptr) options_.factory.quota->AskAgain();
  }

  const FrameIndex& index_;
  const ByteSource& source_;
  const ReadOptions& options_;
  const std::vector<Segment>& segments_;
  FrameSink* const sink_;
  DamagedFrames* const damaged_;
  std::vector<char> done_;  // by display index: the frame is settled
  int workers_ = 1;
  std::vector<Stretch> todo_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  bool last_try_ = false;
  std::mutex mutex_;
  std::vector<Stretch> put_back_;
  absl::Status status_;  // the first failure
};

}  // namespace

absl::Status ReadFrames(const FrameIndex& index, const ByteSource& source,
                        const std::vector<int64_t>& frames, const ReadOptions& options,
                        FrameSink* sink, DamagedFrames* damaged) {
  if (frames.empty()) return absl::OkStatus();
  const std::vector<Segment> segments = PlanSegments(index, frames);
  ReadRun run(index, source, options, segments, sink, damaged);
  if (options.factory.open != nullptr) {
    return run.Run({PlanWorkers(segments, options.factory.max_workers, options.lookahead), 1});
  }
  std::optional<ThreadGrant> grant;
  if (!options.threads_are_granted) grant.emplace(options.num_threads);
  const int threads = grant.has_value() ? grant->threads() : options.num_threads;
  const int64_t ahead = options.lookahead > 0 ? options.lookahead + options.kept_pictures : 0;
  return run.Run(PlanThreads(segments, threads, ahead));
}

}  // namespace nvc
