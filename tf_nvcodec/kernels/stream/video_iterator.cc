#include "tf_nvcodec/kernels/stream/video_iterator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/base/utf8_text.h"
#include "tf_nvcodec/core/remote/remote_file.h"

namespace nvc {
namespace {

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
  VideoIterator* const it = iterator.get();
  ClipSource source;
  source.open = [it](const Cancelled& cancelled, const char** stage, const FrameIndex* wrong) {
    return it->OpenVideo(cancelled, stage, wrong);
  };
  source.room = [it](const FrameIndex& index) { return it->Room(index); };
  source.select = [it](const FrameIndex&, size_t place) { return it->ChunkAt(place); };
  ClipStream::Options options;
  options.decode = it->arguments_.decode;
  options.on_error = it->arguments_.decode.on_error;
  options.gpu = it->arguments_.gpu;
  it->chunks_ = std::make_unique<ClipStream>(std::move(source), std::move(options));
  const absl::Status begun = it->chunks_->Begin(cancelled);
  if (!begun.ok() && it->total_ != 0) return it->Named(begun);
  return iterator;
}

VideoIterator::~VideoIterator() { Stop(); }

absl::Status VideoIterator::Named(const absl::Status& status) const {
  if (!arguments_.is_file) return status;
  const std::string name = ShownName(arguments_.video.vec<tstring>()(0));
  // The file system's errors name the file themselves.
  if (absl::StrContains(status.message(), name)) return status;
  return absl::Status(status.code(), Utf8Text(absl::StrCat(name, ": ", status.message())));
}

// Opens the video and divides the range into chunks.
absl::StatusOr<IndexedVideo> VideoIterator::OpenVideo(const Cancelled& cancelled,
                                                      const char** stage, const FrameIndex* wrong) {
  NVC_ASSIGN_OR_RETURN(IndexedVideo video, store_->Open(0, cancelled, &statistics_, stage, wrong));
  NVC_ASSIGN_OR_RETURN(frames_, FramesInSlice(arguments_.start, arguments_.stop, arguments_.stride,
                                              video.index->num_frames()));
  const auto total = static_cast<int64_t>(frames_.size());
  const int64_t most = arguments_.decode.max_frames;
  if (most > 0 && total > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the iterator decodes ", total, " frames, but max_frames is ", most,
                     "; choose a smaller range or raise max_frames"));
  }
  total_ = total;
  return video;
}

ClipSource::Room VideoIterator::Room(const FrameIndex& index) {
  const int64_t bytes =
      std::max<int64_t>(1, FrameBytesAtMost(arguments_.decode, *index.stream().codec));
  if (chunk_ == 0) chunk_ = std::clamp<int64_t>(kChunkBytes / bytes, 1, kChunkFrames);
  const int64_t ahead = std::min(kFramesAhead, kBytesAhead / bytes);
  const bool is_small = chunk_ <= kSmallChunkBytes / bytes;
  int64_t chunks = std::max<int64_t>(1, (is_small ? ahead + chunk_ - 1 : ahead) / chunk_);
  // A GPU's decoders keep no pictures: with a lone large chunk, only one of them would work.
  if (arguments_.gpu.has_value()) chunks = std::max<int64_t>(chunks, 2);
  ClipSource::Room room;
  room.clips = static_cast<size_t>(chunks);
  // A lone chunk leaves no room at its end, until the consumer takes it.
  room.kept_pictures = std::max(chunks == 1 ? kFramesAhead / 3 : 0, kFramesAhead - chunks * chunk_);
  if (memory_ == nullptr) memory_ = FrameAllocator::Create(room.clips + 1);
  room.allocator = arguments_.gpu.has_value() ? arguments_.gpu_allocator : memory_.get();
  return room;
}

absl::StatusOr<std::optional<Clip>> VideoIterator::ChunkAt(size_t place) const {
  const size_t begin = place * static_cast<size_t>(chunk_);
  if (begin >= frames_.size()) return std::nullopt;
  const size_t end = std::min(begin + static_cast<size_t>(chunk_), frames_.size());
  Clip clip;
  clip.frames.assign(frames_.begin() + static_cast<int64_t>(begin),
                     frames_.begin() + static_cast<int64_t>(end));
  clip.own = static_cast<int64_t>(end - begin);
  return clip;
}

absl::StatusOr<VideoIterator::Chunk> VideoIterator::Next(const Cancelled& cancelled) {
  std::lock_guard<std::mutex> lock(mutex_);
  while (true) {
    if (stopped_ || IsCancelled(cancelled)) {
      return absl::CancelledError("the iterator over the video was closed");
    }
    if (next_ * static_cast<size_t>(chunk_) >= frames_.size()) {
      return Chunk{Tensor(arguments_.decode.dtype, TensorShape({0})), {}, {}};
    }
    memory_->SetAwaited(true);
    ClipStream::Result read = chunks_->Read(next_++, cancelled);
    memory_->SetAwaited(false);
    if (stopped_) continue;
    if (absl::IsOutOfRange(read.status)) continue;  // a new index has fewer frames
    if (!read.status.ok()) {
      Stop();
      return Named(read.status);
    }
    // Every frame of the chunk was damaged and left out.
    if (read.slots.empty()) continue;
    Chunk chunk;
    const auto count = static_cast<int64_t>(read.slots.size());
    // With on_error="skip", damaged frames have made room at the end.
    chunk.frames =
        count == read.frames.dim_size(0) ? std::move(read.frames) : read.frames.Slice(0, count);
    for (const size_t slot : read.slots) {
      chunk.pts.push_back(read.index->frames()[static_cast<size_t>(read.clip.frames[slot])].pts);
    }
    chunk.valid = std::move(read.valid);
    return chunk;
  }
}

void VideoIterator::Stop() {
  stopped_ = true;
  if (chunks_ != nullptr) chunks_->Stop();
  if (memory_ != nullptr) memory_->Close();  // a worker may wait for memory
}

}  // namespace nvc
