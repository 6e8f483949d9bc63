#include "tf_nvcodec/core/ffmpeg/decoder_cache.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tf_nvcodec/core/base/fork_lock.h"

extern "C" {
#include <libavutil/imgutils.h>
}

namespace nvc {
namespace {

// Four decoders of one thread at 1080p, or two of several.
constexpr size_t kIdleBytes = size_t{128} << 20;
constexpr auto kIdleTime = std::chrono::seconds(10);

bool SameOptions(const DecoderOptions& a, const DecoderOptions& b) {
  return a.num_threads == b.num_threads && a.reorder_depth == b.reorder_depth &&
         a.max_pixels == b.max_pixels && a.output_unreachable == b.output_unreachable;
}

}  // namespace

class DecoderCache::Lent : public Decoder {
 public:
  Lent(DecoderCache* cache, std::unique_ptr<OpenDecoder> open)
      : cache_(cache), open_(std::move(open)) {}
  ~Lent() override {
    if (open_->decoder->IsAsNew()) cache_->Give(std::move(open_));
  }

  absl::Status Send(const AVPacket* packet) override { return open_->decoder->Send(packet); }
  absl::StatusOr<bool> Receive(AVFrame* frame) override { return open_->decoder->Receive(frame); }
  bool TakeErrors() override { return open_->decoder->TakeErrors(); }
  void Reset() override { open_->decoder->Reset(); }

 private:
  DecoderCache* const cache_;
  std::unique_ptr<OpenDecoder> open_;
};

// dav1d's, as measured: its pictures, and as much again when threads decode several at a time.
size_t DecoderCache::OpenDecoder::Bytes() const {
  const auto format = static_cast<AVPixelFormat>(codec->format);
  const int picture = av_image_get_buffer_size(format, codec->width, codec->height, 64);
  return static_cast<size_t>(std::max(picture, 1 << 16)) * (options.num_threads > 1 ? 20 : 10);
}

DecoderCache::~DecoderCache() = default;

DecoderCache& DecoderCache::Shared() {
  static auto* const cache = new DecoderCache(kIdleBytes, kIdleTime);
  static const bool held_in_forks = HoldInForks(&cache->mutex_);
  static_cast<void>(held_in_forks);
  return *cache;
}

namespace {
// As soon as the library is opened: see block_cache.cc.
[[maybe_unused]] const DecoderCache& made = DecoderCache::Shared();
}  // namespace

absl::StatusOr<std::unique_ptr<Decoder>> DecoderCache::Open(const AVCodecParameters& codec,
                                                            AVRational time_base,
                                                            const DecoderOptions& options) {
  std::unique_ptr<OpenDecoder> open = Take(codec, time_base, options);
  if (open == nullptr) {
    auto decoder = OpenSoftwareDecoder(codec, time_base, options);
    if (!decoder.ok() || !(*decoder)->IsAsNew()) return decoder;
    open = std::make_unique<OpenDecoder>();
    open->decoder = std::move(decoder).value();
    open->codec.reset(avcodec_parameters_alloc());
    if (open->codec == nullptr || avcodec_parameters_copy(open->codec.get(), &codec) < 0) {
      return absl::ResourceExhaustedError("out of memory opening a decoder");
    }
    open->time_base = time_base;
    open->options = options;
  }
  return std::make_unique<Lent>(this, std::move(open));
}

std::unique_ptr<DecoderCache::OpenDecoder> DecoderCache::Take(const AVCodecParameters& codec,
                                                              AVRational time_base,
                                                              const DecoderOptions& options) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (process_ != getpid()) {
    // This is a fork without the threads: not even to be closed.
    for (auto& open : idle_) open.release();
    idle_.clear();
    idle_bytes_ = 0;
    process_ = getpid();
  }
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const auto& open) {
    return SameParameters(*open->codec, codec) && av_cmp_q(open->time_base, time_base) == 0 &&
           SameOptions(open->options, options);
  });
  if (found == idle_.rend()) return nullptr;
  std::unique_ptr<OpenDecoder> open = std::move(*found);
  idle_.erase(std::next(found).base());
  idle_bytes_ -= open->Bytes();
  return open;
}

void DecoderCache::Give(std::unique_ptr<OpenDecoder> decoder) {
  const size_t bytes = decoder->Bytes();
  if (bytes > max_idle_bytes_) return;
  const Clock::time_point now = decoder->idle_since = Clock::now();
  std::vector<std::unique_ptr<OpenDecoder>> dropped;  // closed without the lock
  std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(decoder));
  idle_bytes_ += bytes;
  auto kept = idle_.begin();
  while (kept != idle_.end() &&
         (idle_bytes_ > max_idle_bytes_ || now - (*kept)->idle_since > max_idle_time_)) {
    idle_bytes_ -= (*kept)->Bytes();
    dropped.push_back(std::move(*kept++));
  }
  idle_.erase(idle_.begin(), kept);
}

int DecoderCache::num_idle() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(idle_.size());
}

}  // namespace nvc
