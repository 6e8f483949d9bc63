#include "tf_nvcodec/kernels/dataset/video_dataset_iterator.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/data/dataset_utils.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/model.h"
#include "tensorflow/core/platform/mutex.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/clips/clip_cursor.h"
#include "tf_nvcodec/kernels/dataset/clip_reader.h"
#include "tf_nvcodec/kernels/dataset/iterator_position.h"
#include "tf_nvcodec/kernels/stream/clip_stream.h"
#include "tf_nvcodec/kernels/tensors/frame_allocator.h"

namespace nvc {
namespace {

using ::tensorflow::condition_variable;
using ::tensorflow::mutex;
using ::tensorflow::mutex_lock;
using ::tensorflow::Tensor;
using ::tensorflow::data::DatasetIterator;
using ::tensorflow::data::IteratorBase;
using ::tensorflow::data::IteratorContext;
using ::tensorflow::data::IteratorStateReader;
using ::tensorflow::data::IteratorStateWriter;
using ::tensorflow::data::SerializationContext;
using ::tensorflow::data::SplitProvider;
namespace model = ::tensorflow::data::model;

constexpr char kSplits[] = "splits";

int64_t NanosSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
}

// Clips that follow each other in a video. The consumer pulls them from the stream.
struct VideoPass {
  std::vector<SeededClip> clips;
  std::unique_ptr<ClipStream> stream;
  size_t asked = 0;    // the clips before this place have a request, or were skipped
  size_t waiting = 0;  // requests in the queue

  bool HasMore() const { return asked < clips.size(); }
  // Goes on to the clip and returns its place, unless the pass does not have it.
  std::optional<size_t> GoTo(const SeededClip& clip) {
    const auto found = std::find_if(clips.begin() + static_cast<int64_t>(asked), clips.end(),
                                    [&](const SeededClip& each) { return each.id == clip.id; });
    if (found == clips.end() || found->seed != clip.seed) return std::nullopt;
    asked = static_cast<size_t>(found - clips.begin()) + 1;
    return asked - 1;
  }
};

// A clip between the cursor and the consumer: waiting, being decoded or finished.
struct Request {
  SeededClip clip;
  std::shared_ptr<VideoPass> pass;    // null: the clip is read by itself
  size_t place = 0;                   // in the pass
  std::atomic<bool> unwanted{false};  // skipped after decoding began
  bool done = false;
  ClipResult result;
};

// Why the clips of a video could not be counted.
struct Uncounted {
  absl::Status status;
  const char* stage = "";
};

// Videos whose clips several threads count together.
struct Counting {
  explicit Counting(const std::vector<int64_t>& which) : videos(which), counts(which.size()) {}

  const std::vector<int64_t> videos;
  std::vector<int64_t> counts;
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::condition_variable changed;
  size_t done = 0;
};

class Iterator : public DatasetIterator<VideoDataset> {
 public:
  explicit Iterator(const Params& params)
      : DatasetIterator<VideoDataset>(params),
        mutex_(std::make_shared<mutex>()),
        changed_(std::make_shared<condition_variable>()),
        parallelism_(std::make_shared<model::SharedState>(
            params.dataset->arguments().num_parallel_calls, mutex_, changed_)),
        cursor_(&params.dataset->order()) {}

  ~Iterator() override {
    Stop();
    deregister_cancellation_();
    runner_.reset();  // joins the thread
    {
      mutex_lock lock(*mutex_);
      while (num_closures_ > 0) changed_->wait(lock);
    }
    requests_.clear();
    passes_.clear();  // joins their workers
    memory_->Close();
  }

  absl::Status Initialize(IteratorContext* context) override {
    if (parallelism_->value == model::kAutotune) {
      parallelism_->value = std::max(1, context->runner_threadpool_size());
    }
    TF_RETURN_IF_ERROR(tsl::RegisterCancellationCallback(
        context->cancellation_manager(), [this] { Stop(); }, &deregister_cancellation_));
    if (context->split_providers().size() > 1) {
      return absl::InternalError(absl::StrCat("a VideoDataset takes one split provider, got ",
                                              context->split_providers().size()));
    }
    if (!context->split_providers().empty()) splits_ = context->split_providers()[0];
    const auto& options = context->options();
    deterministic_ =
        dataset()->arguments().deterministic != "false" &&
        !(dataset()->arguments().deterministic == "default" && options != nullptr &&
          options->optional_deterministic_case() == ::tensorflow::data::Options::kDeterministic &&
          !options->deterministic());
    IteratorContext::Params without_splits(context);
    without_splits.split_providers.clear();
    return dataset()->seeds()->MakeIterator(IteratorContext(std::move(without_splits)), this,
                                            prefix(), &seeds_);
  }

  // A save tells how to make the clips that are decoded ahead, and holds no element.
  bool SymbolicCheckpointCompatible() const override { return true; }

 protected:
  absl::Status GetNextInternal(IteratorContext* context, std::vector<Tensor>* out,
                               bool* end_of_sequence) override {
    const auto begin = std::chrono::steady_clock::now();
    std::shared_ptr<Request> request;
    do {
      TF_RETURN_IF_ERROR(Take(context, &request));
    } while (request != nullptr && request->result.status.ok() && request->result.element.empty());
    DatasetStatistics& statistics = *dataset()->statistics();
    statistics.wait_ns += NanosSince(begin);
    CountActiveTime(begin);
    *end_of_sequence = request == nullptr;
    if (*end_of_sequence) return absl::OkStatus();
    ClipResult& result = request->result;
    if (!result.status.ok()) return result.status;
    RecordBufferDequeue(context, result.element);
    *out = std::move(result.element);
    ++statistics.clips;
    statistics.frames += result.num_decoded;
    return absl::OkStatus();
  }

  absl::Status SkipInternal(IteratorContext* context, int num_to_skip, bool* end_of_sequence,
                            int* num_skipped) override {
    // Only decoding such a clip shows whether it becomes an element.
    if (dataset()->may_leave_out()) {
      return DatasetIterator<VideoDataset>::SkipInternal(context, num_to_skip, end_of_sequence,
                                                         num_skipped);
    }
    ForgetPasses();
    mutex_lock lock(*mutex_);
    to_skip_ = num_to_skip;
    for (; to_skip_ > 0 && !requests_.empty(); --to_skip_) {
      const std::shared_ptr<Request> request = requests_.front();
      request->unwanted = true;
      if (request->done && IsBuffered(*request)) {
        RecordBufferDequeue(context, request->result.element);
      }
      Remove(requests_.begin());
    }
    TF_RETURN_IF_ERROR(Start(context));
    changed_->notify_all();
    while (to_skip_ > 0 && !stopped_ && !IsWalkedThrough()) WaitForChange(context, &lock);
    *num_skipped = num_to_skip - static_cast<int>(to_skip_);
    const bool ended = to_skip_ > 0;
    to_skip_ = 0;
    if (stopped_) return Stopped();
    if (ended) TF_RETURN_IF_ERROR(walk_error_);
    *end_of_sequence = ended;
    return absl::OkStatus();
  }

  std::shared_ptr<model::Node> CreateNode(IteratorContext* context,
                                          model::Node::Args args) const override {
    std::shared_ptr<model::Parameter> parallelism =
        dataset()->arguments().num_parallel_calls == model::kAutotune
            ? model::MakeParameter(model::kParallelism, parallelism_, /*min=*/1,
                                   /*max=*/context->runner_threadpool_size())
            : model::MakeNonTunableParameter(
                  model::kParallelism,
                  static_cast<double>(dataset()->arguments().num_parallel_calls));
    // A ratio of 0 marks a source: the seed dataset costs nothing.
    return model::MakeAsyncKnownRatioNode(std::move(args), /*ratio=*/0, {parallelism});
  }

  absl::Status SaveInternal(SerializationContext* context, IteratorStateWriter* writer) override {
    mutex_lock taking(taking_);
    mutex_lock save(saving_);
    IteratorPosition position;
    {
      mutex_lock lock(*mutex_);
      position.started = started_;
      position.epoch_seed = epoch_seed_;
      position.cursor = cursor_.state();
      position.exhausted = exhausted_;
      for (const auto& request : requests_) {
        if (!IsNoClip(*request)) position.pending.push_back(request->clip);
      }
      position.pending.insert(position.pending.end(), again_.begin(), again_.end());
    }
    TF_RETURN_IF_ERROR(position.Write(prefix(), OrderShape(), writer));
    if (splits_ != nullptr) TF_RETURN_IF_ERROR(splits_->Save(SplitKey(), writer));
    return SaveInput(context, writer, seeds_);
  }

  absl::Status RestoreInternal(IteratorContext* context, IteratorStateReader* reader) override {
    IteratorPosition position;
    TF_RETURN_IF_ERROR(
        position.Read(prefix(), OrderShape(), dataset()->arguments().counts.num_videos, reader));
    mutex_lock lock(*mutex_);
    TF_RETURN_IF_ERROR(cursor_.Restore(position.cursor));
    started_ = position.started;
    epoch_seed_ = position.epoch_seed;
    exhausted_ = position.exhausted;
    again_.assign(position.pending.begin(), position.pending.end());
    if (splits_ != nullptr) TF_RETURN_IF_ERROR(splits_->Restore(SplitKey(), reader));
    return RestoreInput(context, reader, seeds_);
  }

 private:
  // Whether the finished request holds an element, which tf.data's model counts as buffered.
  static bool IsBuffered(const Request& request) {
    return request.result.status.ok() && !request.result.element.empty();
  }

  void Finish(IteratorContext* context, Request* request, ClipResult result)
      TF_EXCLUSIVE_LOCKS_REQUIRED(*mutex_) {
    request->result = std::move(result);
    request->done = true;
    if (IsBuffered(*request) && !request->unwanted) {
      RecordBufferEnqueue(context, request->result.element);
    }
  }

  // Returns whether `request` is a step of the walk that failed before it knew its clip.
  static bool IsNoClip(const Request& request) { return request.clip.id.video < 0; }

  // Counts time from the first request on, including the time in which the consumer does other
  // work.
  void CountActiveTime(std::chrono::steady_clock::time_point begin) {
    mutex_lock lock(*mutex_);
    if (!active_since_) active_since_ = begin;
    dataset()->statistics()->active_ns += NanosSince(*active_since_);
    active_since_ = std::chrono::steady_clock::now();
  }

  std::function<std::string(std::string)> SplitKey() const {
    return [this](const std::string& key) { return full_name(absl::StrCat(kSplits, key)); };
  }

  // Returns what decides which clip comes when, and which frames it has.
  std::vector<int64_t> OrderShape() const {
    const VideoDatasetArguments& arguments = dataset()->arguments();
    const ClipSpec& clips = arguments.clip.clips;
    return {arguments.counts.num_videos,
            arguments.counts.per_video,
            dataset()->order().num_units(),
            arguments.order.shuffle,
            arguments.order.shuffle ? arguments.order.group : 0,
            arguments.order.num_shards,
            arguments.order.shard,
            clips.length,
            clips.stride,
            clips.step,
            absl::bit_cast<int64_t>(clips.period),
            static_cast<int64_t>(clips.sampling),
            static_cast<int64_t>(clips.pad),
            static_cast<int64_t>(dataset()->reader().SegmentsHash())};
  }

  void Stop() {
    stopped_ = true;
    mutex_lock lock(*mutex_);
    for (const auto& pass : passes_) pass->stream->Stop();
    changed_->notify_all();
  }

  absl::Status Start(IteratorContext* context) TF_EXCLUSIVE_LOCKS_REQUIRED(*mutex_) {
    if (runner_ != nullptr) return absl::OkStatus();
    if (!started_) {
      std::vector<Tensor> seed;
      bool end = false;
      TF_RETURN_IF_ERROR(seeds_->GetNext(context, &seed, &end));
      if (end || seed.size() != 1 || seed[0].dtype() != ::tensorflow::DT_INT64) {
        return absl::InvalidArgumentError("seed_dataset must begin with an int64");
      }
      epoch_seed_ = static_cast<uint64_t>(seed[0].scalar<int64_t>()());
      started_ = true;
    }
    auto shared = std::make_shared<IteratorContext>(*context);
    runner_ = context->StartThread("tf_nvcodec_video_dataset", [this, shared] { Walk(shared); });
    return absl::OkStatus();
  }

  static absl::Status Stopped() {
    return absl::CancelledError("the VideoDataset's iterator was cancelled");
  }

  void WaitForChange(IteratorContext* context, mutex_lock* lock) {
    RecordStop(context);
    changed_->wait(*lock);
    RecordStart(context);
  }

  // Removes a request from the queue.
  void Remove(std::deque<std::shared_ptr<Request>>::iterator request)
      TF_EXCLUSIVE_LOCKS_REQUIRED(*mutex_) {
    if ((*request)->pass != nullptr) --(*request)->pass->waiting;
    requests_.erase(request);
    changed_->notify_all();
  }

  // Removes and returns the next request: the first in order, or any finished one if the order does
  // not matter. Waits until it is finished. Sets `request` to null at the end.
  absl::Status Take(IteratorContext* context, std::shared_ptr<Request>* request) {
    mutex_lock taking(taking_);
    TF_RETURN_IF_ERROR(RemoveNext(context, request));
    if (*request != nullptr && !(*request)->done) Pull(context, request->get());
    ForgetPasses();
    return absl::OkStatus();
  }

  // As Take, but a request of a pass may not be finished.
  absl::Status RemoveNext(IteratorContext* context, std::shared_ptr<Request>* request) {
    const auto can_take = [](const auto& each) { return each->done || each->pass != nullptr; };
    mutex_lock lock(*mutex_);
    TF_RETURN_IF_ERROR(Start(context));
    while (true) {
      if (stopped_) return Stopped();
      auto found = requests_.begin();
      if (!deterministic_) found = std::find_if(found, requests_.end(), can_take);
      if (found != requests_.end() && can_take(*found)) {
        *request = *found;
        Remove(found);
        return absl::OkStatus();
      }
      if (IsWalkedThrough() && requests_.empty()) {
        *request = nullptr;
        return absl::OkStatus();
      }
      WaitForChange(context, &lock);
    }
  }

  // Reads a clip from its pass, which has decoded it ahead.
  void Pull(IteratorContext* context, Request* request) {
    RecordStop(context);
    ClipResult result = dataset()->reader().Read(request->pass->stream.get(), request->place,
                                                 request->clip, [this] { return stopped_.load(); });
    RecordStart(context);
    request->pass.reset();  // whoever drops the last reference joins the workers: not with the lock
    mutex_lock lock(*mutex_);
    Finish(context, request, std::move(result));
    changed_->notify_all();  // the pass may have ended, which makes room for another one
  }

  // Closes the passes that nobody reads from any more.
  void ForgetPasses() {
    std::list<std::shared_ptr<VideoPass>> over;  // joins their workers without the lock
    mutex_lock lock(*mutex_);
    for (auto pass = passes_.begin(); pass != passes_.end();) {
      const auto next = std::next(pass);
      if (*pass != latest_ && (*pass)->waiting == 0) over.splice(over.end(), passes_, pass);
      pass = next;
    }
  }

  // Takes clips from the cursor and starts to decode them, as far ahead as there is room.
  void Walk(const std::shared_ptr<IteratorContext>& context) {
    RecordStart(context.get());
    while (true) {
      {
        mutex_lock lock(*mutex_);
        while (!stopped_ && !IsWalkedThrough() && !HasRoom() && to_skip_ == 0) {
          WaitForChange(context.get(), &lock);
        }
        if (stopped_ || IsWalkedThrough()) break;
      }
      Step(context);
    }
    RecordStop(context.get());
  }

  bool IsWalkedThrough() const TF_EXCLUSIVE_LOCKS_REQUIRED(*mutex_) {
    return (exhausted_ || !walk_error_.ok()) && again_.empty();
  }

  bool HasRoom() const TF_EXCLUSIVE_LOCKS_REQUIRED(*mutex_) {
    // The time that a clip takes depends on its place in the GOP. So as many finished clips again
    // may wait behind a slow one.
    const int64_t most = 2 * static_cast<int64_t>(parallelism_->value);
    const auto waiting = static_cast<int64_t>(requests_.size());
    // The latest pass has workers of its own, so that its next clips need no closure.
    if (latest_ != nullptr && latest_->HasMore()) {
      return waiting < std::max(most, AheadInPass()) &&
             static_cast<int64_t>(latest_->waiting) < AheadInPass();
    }
    // A pass without requests has ended or soon will.
    const auto decoding = std::count_if(passes_.begin(), passes_.end(), [](const auto& pass) {
      return pass->waiting > 0 && pass->stream->IsDecoding();
    });
    return waiting < most && num_closures_ + decoding < parallelism_->value;
  }

  // Returns how many clips of a pass may be decoded ahead of the consumer. Long clips need fewer to
  // keep the decoder busy.
  int64_t AheadInPass() const TF_EXCLUSIVE_LOCKS_REQUIRED(*mutex_) {
    constexpr int64_t kFramesAhead = 32;  // for each of the clips that may be decoded at once
    const int64_t frames = kFramesAhead * static_cast<int64_t>(parallelism_->value);
    return std::max<int64_t>(2, frames / dataset()->arguments().clip.clips.length + 1);
  }

  void Step(const std::shared_ptr<IteratorContext>& context) {
    // A save must see the cursor and the request taken from it together, or neither of them.
    mutex_lock save(saving_);
    auto request = std::make_shared<Request>();
    ClipCursor cursor = cursor_;
    bool found = true, restored = false;
    absl::Status status;
    std::optional<Uncounted> uncounted;
    {
      mutex_lock lock(*mutex_);
      restored = !again_.empty();
      if (restored) {
        request->clip = again_.front();
      }
    }
    if (!restored) {
      auto next = cursor.Next(epoch_seed_, splits_ == nullptr ? NextUnit() : SplitUnits(),
                              CountsOf(context), &request->clip);
      status = next.status();
      found = next.ok() && *next;
    }
    {
      mutex_lock lock(*mutex_);
      if (restored) {
        again_.pop_front();
      } else {
        cursor_ = cursor;
      }
      changed_->notify_all();
      if (!status.ok()) {
        request->clip.id.video = -1;
        request->result.status = status;
        request->done = true;
        requests_.push_back(request);
      }
      if (!found) {
        // After an error the epoch has not ended: a checkpoint says where it goes on.
        exhausted_ = status.ok();
        walk_error_ = status;
        latest_ = nullptr;  // it gets no more requests
        return;
      }
      const auto failed = restored ? uncounted_.end() : uncounted_.find(request->clip.id.video);
      if (failed != uncounted_.end()) {
        uncounted = failed->second;
        uncounted_.erase(failed);
      }
      if (to_skip_ > 0) {
        --to_skip_;
        if (latest_ != nullptr) latest_->GoTo(request->clip);
        return;
      }
      requests_.push_back(request);
    }
    if (uncounted.has_value()) {
      // The file may open by now, but its other clips are lost.
      ClipResult failed = dataset()->reader().Failed(
          request->clip, uncounted->status, uncounted->stage, [this] { return stopped_.load(); });
      mutex_lock lock(*mutex_);
      Finish(context.get(), request.get(), std::move(failed));
      changed_->notify_all();
      return;
    }
    if (!dataset()->in_order() || !GiveToLatestPass(request)) StartRead(context, request);
  }

  // Gives the request to the latest pass. Returns false if its clip does not come there.
  bool GiveToLatestPass(const std::shared_ptr<Request>& request) {
    mutex_lock lock(*mutex_);
    if (latest_ == nullptr) return false;
    const std::optional<size_t> place = latest_->GoTo(request->clip);
    if (!place.has_value()) return false;
    if (request->unwanted) return true;
    request->place = *place;
    request->pass = latest_;
    ++latest_->waiting;
    changed_->notify_all();
    return true;
  }

  // Begins a pass with this clip, or reads it by itself if it would be alone in the pass.
  void StartRead(const std::shared_ptr<IteratorContext>& context,
                 const std::shared_ptr<Request>& request) {
    std::vector<SeededClip> clips = ClipsOfPass(context, request->clip);
    std::shared_ptr<VideoPass> pass;
    {
      mutex_lock lock(*mutex_);
      latest_ = nullptr;
      ++num_closures_;
      if (clips.size() > 1) {
        pass = std::make_shared<VideoPass>();
        pass->stream =
            dataset()->reader().Open(clips, static_cast<size_t>(AheadInPass()), memory_.get());
        pass->clips = std::move(clips);
        if (stopped_) pass->stream->Stop();
        passes_.push_back(pass);
        latest_ = pass;
      }
    }
    ForgetPasses();
    if (pass != nullptr) GiveToLatestPass(request);
    // Runs without the lock, because a thread pool with full queues does the work in this call.
    (*context->runner())([this, context, request = request, pass]() mutable {
      if (pass == nullptr) {
        Work(context.get(), request);
      } else {
        // Reading the clip tells of an error.
        pass->stream->Begin([this] { return stopped_.load(); }).IgnoreError();
      }
      // The iterator may be destroyed as soon as num_closures_ is 0, while this thread still
      // unlocks. It joins the workers of passes that nobody else holds.
      pass.reset();
      request.reset();
      const auto mutex_kept = mutex_;
      const auto changed_kept = changed_;
      mutex_lock lock(*mutex_kept);
      --num_closures_;
      changed_kept->notify_all();
    });
  }

  // Returns the clips of a pass that begins with `first`: those that the walk gives next, as long
  // as they are of the same video and do not go back in it. If they soon go back, it is `first`
  // alone: clips in no order have little in common, and are read side by side.
  std::vector<SeededClip> ClipsOfPass(const std::shared_ptr<IteratorContext>& context,
                                      const SeededClip& first) {
    constexpr size_t kSoon = 8;
    std::vector<SeededClip> clips = {first};
    if (!dataset()->in_order()) return clips;
    bool goes_back = false;
    const auto take = [&](const SeededClip& clip) {
      if (clip.id.video != first.id.video) return false;
      goes_back = dataset()->reader().GoesBack(clips.back().id, clip.id);
      if (!goes_back) clips.push_back(clip);
      return !goes_back;
    };
    bool goes_on = true;
    {
      mutex_lock lock(*mutex_);
      goes_on = std::all_of(again_.begin(), again_.end(), take);
    }
    if (goes_on) cursor_.LookAhead(epoch_seed_, splits_ != nullptr, CountsOf(context), take);
    if (goes_back && clips.size() < kSoon) clips.resize(1);
    return clips;
  }

  // Reads the clip by itself.
  void Work(IteratorContext* context, const std::shared_ptr<Request>& request) {
    RecordStart(context);
    const Cancelled cancelled = [this, request] { return stopped_ || request->unwanted; };
    ClipResult result;
    if (cancelled()) {
      result.status = absl::CancelledError("nobody waits for this clip");
    } else {
      const auto stream = dataset()->reader().Open({request->clip}, /*ahead=*/1, memory_.get());
      result = dataset()->reader().Read(stream.get(), 0, request->clip, cancelled);
    }
    RecordStop(context);
    mutex_lock lock(*mutex_);
    Finish(context, request.get(), std::move(result));
    changed_->notify_all();
  }

  NextUnit SplitUnits() const {
    return [this](int64_t* unit, uint64_t* seed) -> absl::StatusOr<bool> {
      Tensor split;
      bool end = false;
      TF_RETURN_IF_ERROR(splits_->GetNext(&split, &end));
      if (end) return false;
      if (split.dtype() != ::tensorflow::DT_INT64 || split.NumElements() != 2) {
        return absl::InternalError(
            absl::StrCat("not a split of a VideoDataset: ", split.DebugString()));
      }
      *unit = split.vec<int64_t>()(0);
      *seed = static_cast<uint64_t>(split.vec<int64_t>()(1));
      return true;
    };
  }

  // Returns -1 if the video cannot be opened, and keeps why.
  int64_t CountOf(int64_t video, const Cancelled& cancelled) {
    const char* stage = "";
    const auto count = dataset()->reader().Count(video, cancelled, &stage);
    mutex_lock lock(*mutex_);
    uncounted_.erase(video);
    if (count.ok()) return *count;
    uncounted_[video] = {count.status(), stage};
    return -1;
  }

  // Counts the clips of several videos in parallel: a shuffle needs the counts of all videos of a
  // unit before its first clip.
  CountClips CountsOf(const std::shared_ptr<IteratorContext>& context) {
    return [this,
            context](const std::vector<int64_t>& videos) -> absl::StatusOr<std::vector<int64_t>> {
      auto shared = std::make_shared<Counting>(videos);
      const auto count = [this, shared] {
        const Cancelled cancelled = [this] { return stopped_.load(); };
        // A closure that starts after all videos are counted must not use `this`, which may be
        // gone.
        for (size_t i = shared->next++; i < shared->videos.size(); i = shared->next++) {
          shared->counts[i] = stopped_ ? 0 : CountOf(shared->videos[i], cancelled);
          std::lock_guard<std::mutex> lock(shared->mutex);
          ++shared->done;
          shared->changed.notify_all();
        }
      };
      const int others =
          std::min(static_cast<int>(videos.size()), context->runner_threadpool_size()) - 1;
      for (int i = 0; i < others; ++i) (*context->runner())(count);
      count();
      std::unique_lock<std::mutex> lock(shared->mutex);
      while (shared->done < videos.size()) shared->changed.wait(lock);
      if (stopped_) return Stopped();
      return shared->counts;
    };
  }

  const std::shared_ptr<mutex> mutex_;
  const std::shared_ptr<condition_variable> changed_;
  const std::shared_ptr<model::SharedState> parallelism_;
  bool deterministic_ = true;
  std::shared_ptr<SplitProvider> splits_;
  std::unique_ptr<IteratorBase> seeds_;
  std::function<void()> deregister_cancellation_ = [] {};
  std::atomic<bool> stopped_{false};

  // Held while a clip is taken and pulled. A pass gives its clips in order.
  mutex taking_ TF_ACQUIRED_BEFORE(saving_);
  mutex saving_ TF_ACQUIRED_BEFORE(*mutex_);  // held by a step of the walk and by a save
  ClipCursor cursor_;                         // changed only under both mutexes
  bool started_ = false;
  uint64_t epoch_seed_ = 0;
  bool exhausted_ = false;
  absl::Status walk_error_;  // the walk ends with it, after a request that hands it out
  std::map<int64_t, Uncounted> uncounted_;  // by video, until its one clip is due
  std::deque<SeededClip> again_;            // clips that were pending when the checkpoint was made
  std::deque<std::shared_ptr<Request>> requests_;
  int64_t num_closures_ = 0;  // that read a lone clip or begin a pass
  int64_t to_skip_ = 0;       // clips that the walk still has to skip
  std::optional<std::chrono::steady_clock::time_point> active_since_;
  const std::shared_ptr<FrameAllocator> memory_ = FrameAllocator::Create(/*patient_from=*/0);
  std::list<std::shared_ptr<VideoPass>> passes_;
  std::shared_ptr<VideoPass> latest_;  // the only pass that may have the next clip
  std::unique_ptr<::tensorflow::Thread> runner_;
};

}  // namespace

std::unique_ptr<IteratorBase> MakeVideoDatasetIterator(const VideoDataset* dataset,
                                                       const std::string& prefix) {
  return std::make_unique<Iterator>(Iterator::Params{dataset, prefix});
}

}  // namespace nvc
