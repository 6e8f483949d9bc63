#include "tf_nvcodec/core/video_reader.h"

#include <atomic>
#include <mutex>
#include <thread>

#include "tf_nvcodec/core/decode_plan.h"
#include "tf_nvcodec/core/decoder_cache.h"
#include "tf_nvcodec/core/status.h"
#include "tf_nvcodec/core/thread_budget.h"

namespace nvc {
namespace {

class ReadRun {
 public:
  ReadRun(const FrameIndex& index, const ByteSource& source, const ReadOptions& options,
          const std::vector<Segment>& segments, FrameSink* sink, DamagedFrames* damaged)
      : index_(index),
        source_(source),
        options_(options),
        segments_(segments),
        sink_(sink),
        damaged_(damaged) {}

  absl::Status Run(const ThreadPlan& plan) {
    sink_->Start(plan.workers);
    std::vector<std::thread> others;
    for (int worker = 1; worker < plan.workers; ++worker) {
      others.emplace_back([this, worker, &plan] { Work(worker, plan.threads_per_decoder); });
    }
    Work(0, plan.threads_per_decoder);
    for (std::thread& thread : others) thread.join();
    return status_;
  }

 private:
  void Work(int worker, int decoder_threads) {
    auto decoder = Open(decoder_threads);
    if (!decoder.ok()) return Fail(decoder.status());
    const EmitFrame emit = [this, worker](int frame, const AVFrame& picture) {
      return sink_->Write(worker, frame, picture);
    };
    const Cancelled cancelled = [this] { return failed_ || IsCancelled(options_.cancelled); };
    while (!failed_) {
      const size_t next = next_segment_++;
      if (next >= segments_.size()) return;
      const Segment& segment = segments_[next];
      DamagedFrames damaged;
      absl::Status status =
          DecodeSegment(index_, source_, segment, decoder->get(), cancelled, emit, &damaged);
      if (status.ok() && decoder_threads > 1 && ((*decoder)->TakeErrors() || !damaged.empty())) {
        // Frame threads report errors late: only one thread tells which packet is to blame.
        damaged.clear();
        decoder = Open(1);
        if (!decoder.ok()) return Fail(decoder.status());
        decoder_threads = 1;
        status = DecodeSegment(index_, source_, segment, decoder->get(), cancelled, emit, &damaged);
      }
      if (!status.ok()) return Fail(status);
      std::lock_guard<std::mutex> lock(mutex_);
      damaged_->merge(damaged);
    }
  }

  absl::StatusOr<std::unique_ptr<Decoder>> Open(int threads) const {
    DecoderOptions options;
    options.num_threads = threads;
    options.reorder_depth = index_.reorder_depth();
    options.max_pixels = options_.max_pixels;
    options.output_unreachable = true;
    return DecoderCache::Shared().Open(*index_.stream().codec, index_.stream().time_base, options);
  }

  void Fail(const absl::Status& status) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (status_.ok()) status_ = status;
    failed_ = true;
  }

  const FrameIndex& index_;
  const ByteSource& source_;
  const ReadOptions& options_;
  const std::vector<Segment>& segments_;
  FrameSink* const sink_;
  DamagedFrames* const damaged_;
  std::atomic<size_t> next_segment_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  absl::Status status_;  // the first failure
};

}  // namespace

absl::Status ReadFrames(const FrameIndex& index, const ByteSource& source,
                        const std::vector<int64_t>& frames, const ReadOptions& options,
                        FrameSink* sink, DamagedFrames* damaged) {
  if (frames.empty()) return absl::OkStatus();
  const std::vector<Segment> segments = PlanSegments(index, frames);
  const ThreadGrant grant(options.num_threads);
  return ReadRun(index, source, options, segments, sink, damaged)
      .Run(PlanThreads(segments, grant.threads()));
}

}  // namespace nvc
