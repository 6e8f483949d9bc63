#include "tf_nvcodec/kernels/video_iterator.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/base/utf8_text.h"
#include "tf_nvcodec/kernels/batch_shape.h"

namespace nvc {
namespace {

using ::tensorflow::Allocator;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

// What may be decoded ahead of the consumer, unless one chunk is more: so many frames that two GOPs
// of usual length can be decoded side by side. What chunks leave of it, pictures of the decoder may
// take, which are smaller than frames.
constexpr int64_t kFramesAhead = 96, kBytesAhead = int64_t{512} << 20;
// One chunk more is decoded ahead if it is this small.
constexpr int64_t kSmallChunkBytes = int64_t{32} << 20;
// A chunk whose size nobody has chosen. The time for a call is little beside the decoding of so
// many bytes, and larger chunks only take longer to touch new memory.
constexpr int64_t kChunkFrames = 64, kChunkBytes = int64_t{64} << 20;
constexpr double kPollInterval = 0.1;  // seconds

}  // namespace

VideoIterator::VideoIterator(Arguments arguments)
    : arguments_(std::move(arguments)), chunk_(arguments_.chunk) {
  const DecodeAttributes& decode = arguments_.decode;
  store_ = arguments_.is_file
               ? MakeFileStore(arguments_.video, arguments_.cache_directory, decode.index_limits())
               : MakeMemoryStore(arguments_.video, decode.index_limits());
}

absl::StatusOr<std::unique_ptr<VideoIterator>> VideoIterator::Open(Arguments arguments,
                                                                   const Cancelled& cancelled) {
  std::unique_ptr<VideoIterator> iterator(new VideoIterator(std::move(arguments)));
  const absl::Status opened = iterator->OpenVideo(/*wrong=*/nullptr, cancelled);
  if (!opened.ok()) return iterator->Named(opened);
  const int64_t bytes = iterator->FrameBytes();
  const int64_t ahead = std::min(kFramesAhead, kBytesAhead / bytes);
  const int64_t chunk = iterator->chunk_;
  const bool is_small = chunk <= kSmallChunkBytes / bytes;
  iterator->ahead_ =
      static_cast<size_t>(std::max<int64_t>(1, (is_small ? ahead + chunk - 1 : ahead) / chunk));
  // A GPU's decoders keep no pictures: with a lone large chunk, only one of them would work.
  if (iterator->arguments_.gpu.has_value())
    iterator->ahead_ = std::max(iterator->ahead_, size_t{2});
  iterator->memory_ = FrameAllocator::Create(iterator->ahead_ + 1);
  try {
    iterator->thread_ = std::thread([it = iterator.get()] { it->Run(); });
  } catch (const std::system_error& error) {
    return iterator->Named(absl::ResourceExhaustedError(
        absl::StrCat("there is no thread to decode the video with: ", error.what(),
                     "; close other iterators or raise the limit of threads")));
  }
  return iterator;
}

VideoIterator::~VideoIterator() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

absl::Status VideoIterator::Named(const absl::Status& status) const {
  const tstring& name = arguments_.video.vec<tstring>()(0);
  // The file system's errors name the file themselves.
  if (!arguments_.is_file || absl::StrContains(status.message(), absl::string_view(name))) {
    return status;
  }
  return absl::Status(status.code(),
                      Utf8Text(absl::StrCat(absl::string_view(name), ": ", status.message())));
}

int64_t VideoIterator::FrameBytes() const {
  return std::max<int64_t>(1, FrameBytesAtMost(arguments_.decode, *video_.index->stream().codec));
}

// Opens the video and divides the range into chunks.
absl::Status VideoIterator::OpenVideo(const FrameIndex* wrong, const Cancelled& cancelled) {
  const char* stage = "";
  NVC_ASSIGN_OR_RETURN(IndexedVideo video, store_->Open(0, cancelled, &statistics_, &stage, wrong));
  NVC_ASSIGN_OR_RETURN(const std::vector<int64_t> frames,
                       FramesInSlice(arguments_.start, arguments_.stop, arguments_.stride,
                                     video.index->num_frames()));
  const auto total = static_cast<int64_t>(frames.size());
  const int64_t most = arguments_.decode.max_frames;
  if (most > 0 && total > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the iterator decodes ", total, " frames, but max_frames is ", most,
                     "; choose a smaller range or raise max_frames"));
  }
  std::lock_guard<std::mutex> lock(mutex_);
  video_ = std::move(video);
  if (chunk_ == 0) chunk_ = std::clamp<int64_t>(kChunkBytes / FrameBytes(), 1, kChunkFrames);
  std::vector<Window> windows;
  for (int64_t i = 0; i < total; i += chunk_) {
    windows.emplace_back(frames.begin() + i, frames.begin() + std::min(i + chunk_, total));
  }
  windows_ = std::move(windows);
  total_ = total;
  return absl::OkStatus();
}

void VideoIterator::Run() {
  size_t first = 0;
  bool alone = false;  // the next chunk may be the cause of an error
  absl::Status status;
  while (!stopped_ && first < windows_.size()) {
    size_t finished = 0;
    const bool was_alone = alone || !DecodesInOrder(*video_.index);
    status = RunFrom(first, was_alone, &finished);
    first += finished;
    alone = !status.ok();
    if (status.ok()) continue;
    if (absl::IsAborted(status) && video_.index->only_sample_table()) {
      // Decoding shows that the file's own table of frames is wrong.
      const auto wrong = video_.index;
      status = OpenVideo(wrong.get(), [this] { return stopped_.load(); });
      std::lock_guard<std::mutex> lock(mutex_);
      ready_.erase(ready_.lower_bound(first), ready_.end());
      if (!status.ok()) break;
    } else if (was_alone) {
      break;
    }
  }
  std::lock_guard<std::mutex> lock(mutex_);
  end_ = status;
  changed_.notify_all();
}

// Decodes chunks from `first` on, or only that one. Sets `finished` to how many are ready.
absl::Status VideoIterator::RunFrom(size_t first, bool alone, size_t* finished) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopped_ && first >= next_ + ahead_) changed_.wait(lock);
    if (stopped_) return absl::CancelledError("the iterator over the video was closed");
  }
  const DecodeAttributes& decode = arguments_.decode;
  const FrameIndex& index = *video_.index;
  const GpuStream* const gpu = arguments_.gpu.has_value() ? &*arguments_.gpu : nullptr;
  NVC_ASSIGN_OR_RETURN(DecodeSetup setup, SetUpDecoding(decode, gpu, index.stream(),
                                                        [this] { return stopped_.load(); }));
  // A lone chunk leaves no room at its end, until the consumer takes it.
  const int64_t least = ahead_ == 1 ? kFramesAhead / 3 : 0;
  const int64_t in_chunks = static_cast<int64_t>(ahead_) * chunk_;
  setup.options.kept_pictures = std::max(least, kFramesAhead - in_chunks);
  Allocator* const allocator = gpu == nullptr ? memory_.get() : arguments_.gpu_allocator;
  const auto begin = windows_.begin() + static_cast<int64_t>(first);
  const std::vector<Window> windows(begin, alone ? begin + 1 : windows_.end());
  std::vector<Tensor> frames(windows.size());
  WindowPass::Callbacks callbacks;
  callbacks.allocate = [&](size_t window, const FrameShape& shape,
                           int64_t count) -> absl::StatusOr<void*> {
    NVC_RETURN_IF_ERROR(CheckBatchBytes(shape, count, decode.max_bytes));
    frames[window] = Tensor(allocator, decode.dtype, BatchShape(decode.output, shape, count));
    if (!frames[window].IsInitialized()) {
      return absl::ResourceExhaustedError(absl::StrCat("out of memory for ", count, " frames of ",
                                                       shape.bytes,
                                                       " bytes each; read fewer frames at a time"));
    }
    return frames[window].data();
  };
  callbacks.new_target = setup.new_target;
  callbacks.finished = [&](size_t window, const WindowPass::Result& result) {
    Put(first + window, result, std::move(frames[window]));
  };
  WindowPass pass(index, *video_.source, windows, ahead_, decode.output, decode.on_error,
                  setup.options, std::move(callbacks));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    first_ = first;
    pass_ = &pass;
    // After an error, chunks behind it may be there.
    for (const auto& [number, chunk] : ready_) {
      if (number >= first) pass.Drop(number - first);
    }
    pass.Allow(next_ + ahead_ - first);
    if (stopped_) pass.Stop();
  }
  const absl::Status status = pass.Run();
  std::lock_guard<std::mutex> lock(mutex_);
  pass_ = nullptr;
  *finished = pass.num_finished();
  return status;
}

void VideoIterator::Put(size_t number, const WindowPass::Result& result, Tensor frames) {
  absl::StatusOr<Chunk> chunk = Chunk();
  if (!result.status.ok()) {
    chunk = Named(result.status);
  } else {
    const auto count = static_cast<int64_t>(result.slots.size());
    // With on_error="skip", damaged frames have made room at the end.
    chunk->frames = count == frames.dim_size(0) ? std::move(frames) : frames.Slice(0, count);
    for (const size_t slot : result.slots) {
      const auto frame = static_cast<size_t>(windows_[number][slot]);
      chunk->pts.push_back(video_.index->frames()[frame].pts);
    }
    chunk->valid = result.valid;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  ready_.emplace(number, std::move(chunk));
  changed_.notify_all();
}

absl::StatusOr<VideoIterator::Chunk> VideoIterator::Next(const Cancelled& cancelled) {
  const Deadline deadline(arguments_.decode.timeout);
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    if (stopped_ || IsCancelled(cancelled)) {
      return absl::CancelledError("the iterator over the video was closed");
    }
    const auto found = ready_.find(next_);
    if (found != ready_.end()) {
      absl::StatusOr<Chunk> chunk = std::move(found->second);
      ready_.erase(found);
      ++next_;
      memory_->SetAwaited(false);
      changed_.notify_all();
      if (!chunk.ok()) {
        StopLocked();
      } else if (pass_ != nullptr) {
        pass_->Allow(next_ + ahead_ - first_);
      }
      // Every frame of the chunk was damaged and left out.
      if (chunk.ok() && chunk->pts.empty()) continue;
      return chunk;
    }
    if (end_.has_value()) {
      if (!end_->ok()) return Named(*end_);
      return Chunk{Tensor(arguments_.decode.dtype, TensorShape({0})), {}, {}};
    }
    if (deadline.IsOver()) {
      StopLocked();
      return Named(TimeoutError(deadline.seconds(),
                                absl::StrCat("decoding chunk ", next_, " of ", windows_.size())));
    }
    memory_->SetAwaited(true);
    // TensorFlow's cancellation wakes nobody.
    changed_.wait_for(lock, std::chrono::duration<double>(deadline.SecondsLeft(kPollInterval)));
  }
}

void VideoIterator::Stop() {
  std::lock_guard<std::mutex> lock(mutex_);
  StopLocked();
}

void VideoIterator::StopLocked() {
  stopped_ = true;
  if (pass_ != nullptr) pass_->Stop();
  if (memory_ != nullptr) memory_->Close();  // the pass may wait for memory
  changed_.notify_all();
}

}  // namespace nvc
