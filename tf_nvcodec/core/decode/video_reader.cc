#include "tf_nvcodec/core/decode/video_reader.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/base/thread_budget.h"
#include "tf_nvcodec/core/decode/decode_plan.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"

namespace nvc {
namespace {

// True for errors that no single packet caused. The decoder can't be used any more after one.
bool EndsDecoding(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsInternal(status) ||
         absl::IsFailedPrecondition(status) || absl::IsCancelled(status);
}

// Decodes one segment and keeps account of which pictures are broken.
class SegmentRun {
 public:
  SegmentRun(const FrameIndex& index, const Segment& segment, Decoder* decoder,
             const EmitFrame& emit)
      : index_(index), segment_(segment), decoder_(decoder), emit_(emit), frame_(av_frame_alloc()) {
    for (const int frame : segment.frames) missing_.insert({Packet(frame), frame});
  }

  bool has_memory() const { return frame_ != nullptr; }

  // Sends `data`, which holds `picture` of packet `i`, and takes all frames that come out. It skips
  // a picture that refers to a broken one, because the decoder would use whatever picture is left
  // in that reference slot. A frame that shows a key frame again would even copy it into all other
  // slots.
  absl::Status Decode(const AVPacket& data, int i, int picture) {
    if (RefersToBroken(picture)) {
      broken_pictures_.insert(picture);
      return absl::OkStatus();
    }
    return Feed(&data, [&](const absl::Status& status) { Blame(i, picture, status); });
  }

  absl::Status Drain() {
    return Feed(nullptr, [](const absl::Status&) {});
  }

  void Finish(DamagedFrames* damaged) {
    for (const auto& [packet, frame] : missing_) {
      Blame(packet, ShownPicture(packet),
            absl::DataLossError("the decoder gave no picture for it"));
    }
    const bool refused = std::any_of(broken_.begin(), broken_.end(), [](const auto& broken) {
      return absl::IsUnimplemented(broken.second);
    });
    for (const int frame : segment_.frames) {
      const auto cause = CauseOf(frame, refused);
      if (cause != broken_.end()) {
        damaged->insert({frame, Describe(cause->first.first, cause->second)});
      }
    }
  }

 private:
  int Packet(int frame) const { return index_.frames()[static_cast<size_t>(frame)].packet; }

  int ShownPicture(int packet) const {
    const PacketEntry& entry = index_.packets()[static_cast<size_t>(packet)];
    for (int p = entry.first_picture; p < entry.first_picture + entry.num_pictures; ++p) {
      if (index_.pictures()[static_cast<size_t>(p)].shown) return p;
    }
    return -1;
  }

  using Broken = std::map<std::pair<int, int>, absl::Status>;  // by packet and picture

  // Returns the first error that damages `frame`, or end() if there is none. If the decoder
  // `refused` the stream (Unimplemented), it prefers that error: it also explains missing pictures
  // of earlier packets.
  Broken::const_iterator CauseOf(int frame, bool refused) const {
    auto first = broken_.end();
    for (auto it = broken_.begin(); it != broken_.end(); ++it) {
      const auto [packet, picture] = it->first;
      if (!DependsOn(index_, segment_, frame, packet, picture)) continue;
      if (!refused || absl::IsUnimplemented(it->second)) return it;
      if (first == broken_.end()) first = it;
    }
    return first;
  }

  void Blame(int packet, int picture, const absl::Status& status) {
    // A frame of two fields is known by the packet of its first field.
    if (index_.packets()[static_cast<size_t>(packet)].second_field) --packet;
    if (IsUnreachable(index_, segment_, packet)) return;
    broken_.insert({{packet, picture}, status});
    if (picture >= 0) broken_pictures_.insert(picture);
  }

  bool RefersToBroken(int picture) const {
    if (picture < 0 || broken_pictures_.empty()) return false;
    const auto& references = index_.pictures()[static_cast<size_t>(picture)].references;
    return std::any_of(references.begin(), references.end(),
                       [this](int i) { return broken_pictures_.count(i) != 0; });
  }

  template <typename OnError>
  absl::Status Feed(const AVPacket* data, const OnError& on_error) {
    const absl::Status sent = decoder_->Send(data);
    if (EndsDecoding(sent)) return sent;
    if (!sent.ok()) on_error(sent);
    while (true) {
      const auto received = decoder_->Receive(frame_.get());
      if (EndsDecoding(received.status())) return received.status();
      if (!received.ok()) on_error(received.status());
      if (!received.ok() || !*received) return absl::OkStatus();
      NVC_RETURN_IF_ERROR(Take(*frame_));
      av_frame_unref(frame_.get());
    }
  }

  absl::Status Take(const AVFrame& picture) {
    const int packet = static_cast<int>(picture.pkt_pos);
    if (IsDamaged(picture)) {
      Blame(packet, ShownPicture(packet),
            absl::DataLossError("the decoder had to conceal damaged data"));
    }
    const auto wanted = missing_.find(packet);
    if (wanted == missing_.end()) return absl::OkStatus();
    const int frame = wanted->second;
    missing_.erase(wanted);
    return emit_(frame, picture);
  }

  absl::Status Describe(int packet, const absl::Status& status) const {
    const PacketEntry& entry = index_.packets()[static_cast<size_t>(packet)];
    const std::string where =
        entry.offset >= 0 ? absl::StrCat(" at byte ", entry.offset) : std::string();
    return absl::Status(status.code(), absl::StrCat("packet ", packet, where, " (", entry.size,
                                                    " bytes): ", status.message()));
  }

  const FrameIndex& index_;
  const Segment& segment_;
  Decoder* const decoder_;
  const EmitFrame& emit_;
  AvFramePtr frame_;
  std::map<int, int> missing_;  // packet -> wanted frame that has not come yet
  Broken broken_;
  std::set<int> broken_pictures_;  // including those that refer to broken ones
};

}  // namespace

absl::Status DecodeSegment(const FrameIndex& index, const ByteSource& source,
                           const Segment& segment, Decoder* decoder, const Cancelled& cancelled,
                           const EmitFrame& emit, DamagedFrames* damaged) {
  SegmentRun run(index, segment, decoder, emit);
  AvPacketPtr packet(av_packet_alloc());
  if (packet == nullptr || !run.has_memory()) {
    return absl::ResourceExhaustedError("out of memory decoding");
  }
  for (int i = segment.first_packet; i <= segment.last_packet; ++i) {
    if (IsCancelled(cancelled)) return absl::CancelledError("decoding was cancelled");
    if (!IsNeeded(index, segment, i)) continue;
    NVC_RETURN_IF_ERROR(index.ReadPacket(source, i, packet.get()));
    uint8_t* const bytes = packet->data;
    for (const PacketPart& part : PartsToSend(index, segment, i)) {
      packet->data = bytes + part.begin;
      packet->size = part.end - part.begin;
      NVC_RETURN_IF_ERROR(run.Decode(*packet, i, part.picture));
    }
  }
  if (IsCancelled(cancelled)) return absl::CancelledError("decoding was cancelled");
  NVC_RETURN_IF_ERROR(run.Drain());
  decoder->Reset();
  run.Finish(damaged);
  return absl::OkStatus();
}

namespace {

// Opening a decoder takes about as long as decoding this number of pictures.
constexpr int kPicturesWorthAWorker = 8;

int PlanWorkers(const std::vector<Segment>& segments, int max_workers) {
  int cost = 0;
  for (const Segment& segment : segments) cost += segment.cost;
  const int useful = std::max(1, cost / kPicturesWorthAWorker);
  return std::max(1, std::min({max_workers, static_cast<int>(segments.size()), useful}));
}

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
        todo_(segments.size()) {
    std::iota(todo_.begin(), todo_.end(), size_t{0});
  }

  absl::Status Run(const ThreadPlan& plan) {
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
      // There was not enough memory for these segments while several decoders were open. Now only
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
      }
      for (std::thread& thread : threads) thread.join();
    }
    ReadRun* const run;
    bool finished = false;
    std::vector<std::thread> threads;
  };

  void Work(int worker, int decoder_threads) {
    try {
      TakeSegments(worker, decoder_threads);
    } catch (const std::bad_alloc&) {
      Fail(absl::ResourceExhaustedError("out of memory while decoding"));
    }
    sink_->Leave(worker);
  }

  void TakeSegments(int worker, int decoder_threads) {
    DecoderLease lease(options_.factory.quota);
    std::unique_ptr<Decoder> decoder;          // destroyed before `lease` gives it back
    const AVCodecParameters* codec = nullptr;  // the decoder was opened with these
    const auto enough = [this] { return failed_ || next_ >= todo_.size(); };
    const EmitFrame emit = [this, worker](int frame, const AVFrame& picture) {
      return sink_->Write(worker, frame, picture);
    };
    const Cancelled cancelled = [this] { return failed_ || IsCancelled(options_.cancelled); };
    const auto decode = [&](const Segment& segment, DamagedFrames* damaged) {
      return DecodeSegment(index_, source_, segment, decoder.get(), cancelled, emit, damaged);
    };
    const bool software = options_.factory.open == nullptr;
    bool careful = software && decoder_threads == 1;
    while (!failed_) {
      if (lease.IsOver()) {
        decoder.reset();
        lease.End();
        sink_->Leave(worker);
      }
      if (!lease.Begin(enough)) return;
      const size_t next = next_++;
      if (next >= todo_.size()) return;
      if (next + 1 == todo_.size()) WakeWaiting();
      const Segment& segment = segments_[todo_[next]];
      DamagedFrames damaged;
      absl::Status status;
      if (codec != &index_.CodecAt(segment.first_packet)) {
        codec = &index_.CodecAt(segment.first_packet);
        decoder.reset();
      }
      if (decoder == nullptr) {
        auto opened = careful ? OpenSoftware(*codec, 1) : Open(*codec, decoder_threads);
        status = opened.status();
        if (opened.ok()) decoder = std::move(opened).value();
      }
      if (status.ok()) status = decode(segment, &damaged);
      if (!software && !last_try_ && absl::IsResourceExhausted(status)) {
        std::lock_guard<std::mutex> lock(mutex_);
        put_back_.push_back(todo_[next]);
        return;  // this also closes the worker's decoder
      }
      if (!status.ok()) return Fail(status);
      // Frame threads report errors, but not always together with the frame. The error may also
      // concern only pictures that can't be reached from a start in the middle of the stream.
      const bool suspicious = !damaged.empty() || (software && !careful && decoder->TakeErrors());
      if (!careful && suspicious) {
        if (options_.factory.before_decoding_again != nullptr) {
          status = options_.factory.before_decoding_again(damaged);
          if (!status.ok()) return Fail(status);
        }
        // Only a software decoder of one thread tells which packet is to blame. Frame threads
        // report errors late, and hardware may only report that there are some.
        damaged.clear();
        if (!software) {
          decoder.reset();
          lease.End();
        }
        auto opened = OpenSoftware(*codec, 1);
        if (!opened.ok()) return Fail(opened.status());
        decoder = std::move(opened).value();
        status = decode(segment, &damaged);
        if (software) {
          careful = true;
        } else {
          decoder.reset();
        }
      }
      if (!status.ok()) return Fail(status);
      std::lock_guard<std::mutex> lock(mutex_);
      damaged_->merge(damaged);
    }
  }

  DecoderOptions Options(int threads) const {
    DecoderOptions options;
    options.num_threads = threads;
    options.reorder_depth = index_.reorder_depth();
    options.max_pixels = options_.max_pixels;
    options.output_unreachable = true;
    return options;
  }

  absl::StatusOr<std::unique_ptr<Decoder>> Open(const AVCodecParameters& codec, int threads) const {
    if (options_.factory.open == nullptr) return OpenSoftware(codec, threads);
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
  std::vector<size_t> todo_;  // indices of segments
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  bool last_try_ = false;
  std::mutex mutex_;
  std::vector<size_t> put_back_;
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
    return run.Run({PlanWorkers(segments, options.factory.max_workers), 1});
  }
  const ThreadGrant grant(options.num_threads);
  return run.Run(PlanThreads(segments, grant.threads()));
}

}  // namespace nvc
