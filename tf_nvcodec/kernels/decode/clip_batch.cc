#include "tf_nvcodec/kernels/decode/clip_batch.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/permutation.h"
#include "tf_nvcodec/core/base/thread_budget.h"
#include "tf_nvcodec/core/clips/packed_clip.h"
#include "tf_nvcodec/core/decode/frame_collector.h"
#include "tf_nvcodec/core/decode/frame_stream.h"
#include "tf_nvcodec/core/decode/window_stream.h"
#include "tf_nvcodec/core/format/geometry.h"
#include "tf_nvcodec/nv/cuda/gpu_copy.h"

namespace nvc {
namespace {

// How many videos are read side by side where NVDEC decodes: enough to keep the engines of the
// largest GPUs busy while other videos begin and end.
constexpr size_t kVideosOnNvdec = 16;

// Returns the shape of the frames if the arguments alone tell it.
std::optional<FrameShape> KnownShape(const OutputSpec& output) {
  FrameShape shape{output.height, output.width, Channels(output.pixel_format), 0};
  if (output.height == 0 && output.short_side == 0 && output.crop.has_value()) {
    shape.height = output.crop->height;
    shape.width = output.crop->width;
  }
  if (shape.height == 0 || output.pixel_format == PixelFormat::kNative) return std::nullopt;
  const size_t pixels = static_cast<size_t>(shape.height) * static_cast<size_t>(shape.width);
  switch (output.pixel_format) {
    case PixelFormat::kNv12:
    case PixelFormat::kYuv420p:
      shape.bytes = pixels * 3 / 2;
      break;
    case PixelFormat::kYuv444p:
    case PixelFormat::kP010:
      shape.bytes = pixels * 3;
      break;
    default:
      shape.bytes = pixels * static_cast<size_t>(shape.channels) * SampleSize(output.sample_type);
  }
  return shape;
}

}  // namespace

// The cores of a batch, which its videos share.
class ClipBatch::Cores {
 public:
  explicit Cores(int threads) : all_(threads), free_(threads) {}

  int all() const { return all_; }
  // Returns the threads for one of `videos` videos that have not begun: its share of the free
  // cores, at least 1.
  int Take(size_t videos) {
    std::lock_guard<std::mutex> lock(mutex_);
    const int taken = std::max(1, free_ / static_cast<int>(videos));
    free_ -= taken;
    return taken;
  }
  void GiveBack(int threads) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_ += threads;
  }

 private:
  const int all_;
  std::mutex mutex_;
  int free_;
};

// Stops and joins the other threads on every way out. When Python ends a daemon thread, it unwinds
// the stack in the middle of a call.
struct ClipBatch::Helpers {
  explicit Helpers(ClipBatch* batch) : batch(batch) {}
  ~Helpers() {
    if (!finished) {
      std::lock_guard<std::mutex> lock(batch->mutex_);
      batch->stopped_ = true;
    }
    for (std::thread& thread : threads) thread.join();
  }
  ClipBatch* const batch;
  bool finished = false;
  std::vector<std::thread> threads;
};

ClipBatch::ClipBatch(const ClipBatchArguments& arguments, std::vector<absl::string_view> contents,
                     Allocate allocate, bool* own, double* pts)
    : arguments_(arguments),
      contents_(std::move(contents)),
      allocate_(std::move(allocate)),
      own_(own),
      pts_(pts),
      statuses_(contents_.size()) {}

size_t ClipBatch::frames_of_row() const {
  return static_cast<size_t>(arguments_.clips.clips_per_video) * length();
}

bool ClipBatch::may_use_nvdec() const {
  return arguments_.gpu != nullptr || arguments_.decode.backend == Backend::kNvdec;
}

absl::Status ClipBatch::Run() {
  if (const auto shape = KnownShape(arguments_.decode.output); shape.has_value()) {
    std::lock_guard<std::mutex> lock(mutex_);
    NVC_RETURN_IF_ERROR(AllocateNow(*shape));
  }
  if (may_use_nvdec()) {
    RunRows(nullptr);
  } else {
    const ThreadGrant grant(arguments_.decode.num_threads);
    Cores cores(grant.threads());
    RunRows(&cores);
  }
  NVC_RETURN_IF_ERROR(broken_);
  if (IsCancelled(arguments_.cancelled)) {
    return arguments_.cancelled.Error("decoding a batch of videos");
  }
  for (size_t row = 0; row < statuses_.size(); ++row) {
    const absl::Status& status = statuses_[row];
    if (status.ok()) continue;
    if (arguments_.decode.on_error == OnError::kRaise) {
      const char* const what = arguments_.packed ? "clip " : "video ";
      return absl::Status(status.code(), absl::StrCat(what, row, ": ", status.message()));
    }
    const size_t begin = row * frames_of_row();
    std::fill_n(own_ + begin, frames_of_row(), false);
    std::fill_n(pts_ + begin, frames_of_row(), 0.0);
    if (allocated_) NVC_RETURN_IF_ERROR(Zero(begin, frames_of_row()));
  }
  return absl::OkStatus();
}

// Decodes all rows, with threads from `cores`, or if it is null, as many as each read takes.
void ClipBatch::RunRows(Cores* cores) {
  const auto take_rows = [this, cores](bool alone) {
    while (true) {
      size_t row = 0, videos = 1;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (stopped_ || next_ == statuses_.size() || (alone && allocated_)) return;
        if (!alone) videos = statuses_.size() - next_;
        row = next_++;
      }
      const int threads = cores == nullptr ? arguments_.decode.num_threads : cores->Take(videos);
      const bool decoded = RunRow(row, threads);
      if (cores != nullptr) cores->GiveBack(threads);
      if (alone && !decoded) {
        // It may have failed behind its first frames, whose shape does not count then.
        std::lock_guard<std::mutex> lock(mutex_);
        allocated_ = false;
      }
    }
  };
  // The first video that can be decoded determines the shape, unless the arguments do. It is read
  // alone, so that it is always the same one.
  take_rows(/*alone=*/true);
  const size_t most = cores == nullptr ? kVideosOnNvdec : static_cast<size_t>(cores->all());
  const size_t side_by_side = std::min(statuses_.size() - next_, most);
  Helpers helpers(this);
  try {
    for (size_t i = 1; i < side_by_side; ++i) helpers.threads.emplace_back(take_rows, false);
  } catch (const std::system_error&) {
    // The system has no more threads. The existing ones take all rows.
  } catch (const std::bad_alloc&) {
  }
  take_rows(/*alone=*/false);
  helpers.finished = true;
}

// Returns whether the row was decoded.
bool ClipBatch::RunRow(size_t row, int threads) {
  absl::Status status;
  try {
    status = DecodeRow(row, threads);
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("out of memory while decoding");
  }
  if (status.ok()) return true;
  statuses_[row] = status;
  const bool ends = arguments_.decode.on_error == OnError::kRaise;
  std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = stopped_ || ends || !broken_.ok() || IsCancelled(arguments_.cancelled);
  return false;
}

absl::StatusOr<ClipBatch::Video> ClipBatch::Open(size_t row, const Cancelled& cancelled) const {
  const FrameIndex::Limits limits = arguments_.decode.index_limits();
  if (arguments_.packed) {
    NVC_ASSIGN_OR_RETURN(UnpackedClip unpacked, UnpackClip(contents_[row], limits));
    const auto frames = static_cast<int64_t>(unpacked.clip.frames.size()) + unpacked.clip.zeros;
    if (frames != arguments_.clips.length) {
      return absl::InvalidArgumentError(
          absl::StrCat("the packed clip has ", frames, " frames, but the first one of the batch ",
                       arguments_.clips.length, ": batch clips of one length"));
    }
    return Video{std::move(unpacked.index), unpacked.data, {std::move(unpacked.clip)}};
  }
  Video video;
  video.bytes = contents_[row];
  NVC_ASSIGN_OR_RETURN(video.index,
                       FrameIndex::Build(MemorySource(video.bytes), limits, cancelled));
  for (int64_t i = 0; i < arguments_.clips.clips_per_video; ++i) {
    NVC_ASSIGN_OR_RETURN(Clip clip, arguments_.clips.Select(
                                        video.index, i, HashMix(arguments_.seed, uint64_t{row})));
    video.clips.push_back(std::move(clip));
  }
  return video;
}

absl::Status ClipBatch::DecodeRow(size_t row, int threads) {
  const DecodeAttributes& decode = arguments_.decode;
  const Cancelled cancelled = arguments_.cancelled.Before(Deadline(decode.timeout));
  NVC_ASSIGN_OR_RETURN(const Video video, Open(row, cancelled));
  const FrameIndex& index = video.index;
  const MemorySource source(video.bytes);
  const std::vector<Clip>& clips = video.clips;
  OutputSpec output = decode.output;
  if (arguments_.center_crop > 0) {
    const StreamInfo& stream = index.stream();
    output.crop = CenterCrop(output, stream.codec->width, stream.codec->height, stream.orientation,
                             arguments_.center_crop);
  }
  if (!arguments_.crops.empty()) output.crop = arguments_.crops[row];
  if (!arguments_.flips.empty()) output.flip = arguments_.flips[row];
  NVC_RETURN_IF_ERROR(output.Validate());
  NVC_ASSIGN_OR_RETURN(DecodeSetup setup,
                       SetUpDecoding(decode, arguments_.gpu, index.stream(), cancelled));
  setup.options.num_threads = threads;
  setup.options.threads_are_granted = !may_use_nvdec();

  // Clips that go forward are read in one pass, so that each picture is decoded once.
  std::vector<size_t> order(clips.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return clips[a].frames.front() < clips[b].frames.front();
  });
  const bool in_order = DecodesInOrder(index);
  std::vector<size_t> together, alone;
  for (const size_t number : order) {
    const Window& window = clips[number].frames;
    const bool goes_on = in_order && IsAscending(window) &&
                         (together.empty() || Follows(clips[together.back()].frames, window));
    (goes_on ? together : alone).push_back(number);
  }
  if (!together.empty()) {
    NVC_RETURN_IF_ERROR(DecodeTogether(row, index, source, output, setup, clips, together));
  }
  for (const size_t number : alone) {
    NVC_RETURN_IF_ERROR(DecodeAlone(row, index, source, output, setup, clips[number], number));
  }
  for (size_t number = 0; number < clips.size(); ++number) {
    const size_t begin = row * frames_of_row() + number * length() + clips[number].frames.size();
    NVC_RETURN_IF_ERROR(Zero(begin, static_cast<size_t>(clips[number].zeros)));
  }
  return absl::OkStatus();
}

absl::Status ClipBatch::DecodeTogether(size_t row, const FrameIndex& index,
                                       const ByteSource& source, const OutputSpec& output,
                                       const DecodeSetup& setup, const std::vector<Clip>& clips,
                                       const std::vector<size_t>& together) {
  std::vector<Window> windows;
  for (const size_t number : together) windows.push_back(clips[number].frames);
  WindowStream::Memory memory;
  memory.allocate = [&](size_t window, const FrameShape& shape, int64_t) {
    return PlaceOf(row, together[window], shape);
  };
  memory.new_target = setup.new_target;
  NVC_ASSIGN_OR_RETURN(
      const auto stream,
      WindowStream::Open(index, source, std::move(windows), /*ahead=*/0, {output},
                         arguments_.decode.on_error_in_clip(), setup.options, std::move(memory)));
  for (size_t window = 0; window < together.size(); ++window) {
    WindowStream::Result result;
    NVC_RETURN_IF_ERROR(stream->Read(window, /*cancelled=*/nullptr, &result));
    NVC_RETURN_IF_ERROR(result.status);
    const size_t number = together[window];
    Fill(row, number, clips[number], index, result.valid);
  }
  return absl::OkStatus();
}

absl::Status ClipBatch::DecodeAlone(size_t row, const FrameIndex& index, const ByteSource& source,
                                    const OutputSpec& output, const DecodeSetup& setup,
                                    const Clip& clip, size_t number) {
  const auto target = setup.new_target();
  FrameCollector collected(
      output, index.stream().orientation, clip.frames,
      [&](const FrameShape& shape, int64_t) { return PlaceOf(row, number, shape); }, target.get());
  DamagedFrames damaged;
  NVC_RETURN_IF_ERROR(ReadFrames(index, source, clip.frames, setup.options, &collected, &damaged));
  std::vector<size_t> slots;
  NVC_ASSIGN_OR_RETURN(
      const std::vector<bool> valid,
      collected.Finish(index, damaged, arguments_.decode.on_error_in_clip(), &slots));
  Fill(row, number, clip, index, valid);
  return absl::OkStatus();
}

void ClipBatch::Fill(size_t row, size_t number, const Clip& clip, const FrameIndex& index,
                     const std::vector<bool>& valid) {
  const size_t begin = row * frames_of_row() + number * length();
  for (size_t i = 0; i < clip.frames.size(); ++i) {
    own_[begin + i] = static_cast<int64_t>(i) < clip.own && valid[i];
    pts_[begin + i] = index.frames()[static_cast<size_t>(clip.frames[i])].pts;
  }
}

// Returns the place of a clip whose frames are `shape` large.
absl::StatusOr<void*> ClipBatch::PlaceOf(size_t row, size_t clip, const FrameShape& shape) {
  std::lock_guard<std::mutex> lock(mutex_);
  NVC_RETURN_IF_ERROR(AllocateNow(shape));
  const bool same_size = shape.height == shape_.height && shape.width == shape_.width;
  if (!same_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("its frames have height ", shape.height, " and width ", shape.width,
                     ", but the first video of the batch has height ", shape_.height, " and width ",
                     shape_.width, "; pass size=(height, width) to bring all to one size"));
  }
  if (shape.bytes != shape_.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("its frames have ", shape.bytes,
                     " bytes, but those of the first video of the batch ", shape_.bytes,
                     "; pass pixel_format=\"rgb\" or another than \"native\" to bring all to one "
                     "format"));
  }
  return static_cast<uint8_t*>(memory_) + (row * frames_of_row() + clip * length()) * shape.bytes;
}

// The caller holds mutex_.
absl::Status ClipBatch::AllocateNow(const FrameShape& shape) {
  if (allocated_) return absl::OkStatus();
  const auto memory = allocate_(shape);
  if (!memory.ok()) {
    broken_ = memory.status();
    stopped_ = true;
    return broken_;
  }
  memory_ = *memory;
  shape_ = shape;
  allocated_ = true;
  return absl::OkStatus();
}

// Makes frames black: all bytes are 0. The memory is there.
absl::Status ClipBatch::Zero(size_t first_frame, size_t count) const {
  if (count == 0) return absl::OkStatus();
  auto* const begin = static_cast<uint8_t*>(memory_) + first_frame * shape_.bytes;
  if (arguments_.gpu != nullptr) {
    return ZeroOnDevice(arguments_.gpu->device, arguments_.gpu->stream,
                        reinterpret_cast<CUdeviceptr>(begin), count * shape_.bytes);
  }
  std::memset(begin, 0, count * shape_.bytes);
  return absl::OkStatus();
}

}  // namespace nvc
