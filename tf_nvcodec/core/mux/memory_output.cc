#include "tf_nvcodec/core/mux/memory_output.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "absl/status/status.h"
#include "tf_nvcodec/core/base/status.h"

extern "C" {
#include <libavutil/error.h>
#include <libavutil/mem.h>
}

namespace nvc {
namespace {

constexpr int kBlock = 64 << 10;
constexpr size_t kFirstCapacity = 64 << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<MemoryOutput>> MemoryOutput::Create(GrowingBytes* bytes) {
  std::unique_ptr<MemoryOutput> output(new MemoryOutput(bytes));
  auto* const block = static_cast<uint8_t*>(av_malloc(kBlock));
  if (block == nullptr) return absl::ResourceExhaustedError("out of memory for an output buffer");
  output->avio_ = avio_alloc_context(block, kBlock, /*write_flag=*/1, output.get(), nullptr,
                                     &MemoryOutput::Write, &MemoryOutput::Seek);
  if (output->avio_ == nullptr) {
    av_free(block);
    return absl::ResourceExhaustedError("out of memory for an output buffer");
  }
  return output;
}

MemoryOutput::~MemoryOutput() {
  if (avio_ == nullptr) return;
  av_freep(&avio_->buffer);
  avio_context_free(&avio_);
}

absl::Status MemoryOutput::Finish() {
  avio_flush(avio_);
  if (avio_->error < 0) return FfmpegError(avio_->error, "writing the container to memory");
  if (bytes_->Resize(size_) == nullptr) return absl::ResourceExhaustedError("out of memory");
  return absl::OkStatus();
}

int MemoryOutput::Write(void* opaque, AvioWrittenByte* data, int size) {
  auto* const self = static_cast<MemoryOutput*>(opaque);
  const size_t end = self->position_ + static_cast<size_t>(size);
  if (end > self->capacity_) {
    const size_t capacity = std::max({end, 2 * self->capacity_, kFirstCapacity});
    self->data_ = self->bytes_->Resize(capacity);
    if (self->data_ == nullptr) return AVERROR(ENOMEM);
    self->capacity_ = capacity;
  }
  // A seek past the end leaves a hole of zeros, as in a file.
  if (self->position_ > self->size_) {
    std::memset(self->data_ + self->size_, 0, self->position_ - self->size_);
  }
  std::memcpy(self->data_ + self->position_, data, size);
  self->position_ = end;
  self->size_ = std::max(self->size_, end);
  return size;
}

int64_t MemoryOutput::MovePosition(size_t size, size_t* position, int64_t offset, int whence) {
  int64_t base = 0;
  switch (whence & ~AVSEEK_FORCE) {
    case AVSEEK_SIZE:
      return static_cast<int64_t>(size);
    case SEEK_SET:
      break;
    case SEEK_CUR:
      base = static_cast<int64_t>(*position);
      break;
    case SEEK_END:
      base = static_cast<int64_t>(size);
      break;
    default:
      return AVERROR(EINVAL);
  }
  if (base + offset < 0) return AVERROR(EINVAL);
  *position = static_cast<size_t>(base + offset);
  return base + offset;
}

int64_t MemoryOutput::Seek(void* opaque, int64_t offset, int whence) {
  auto* const self = static_cast<MemoryOutput*>(opaque);
  return MovePosition(self->size_, &self->position_, offset, whence);
}

AVIOContext* MemoryOutput::OpenReader() {
  auto* const block = static_cast<uint8_t*>(av_malloc(kBlock));
  auto* const reader = new Reader{this, 0};
  AVIOContext* const avio =
      block == nullptr
          ? nullptr
          : avio_alloc_context(block, kBlock, /*write_flag=*/0, reader, &MemoryOutput::Read,
                               nullptr, &MemoryOutput::SeekReader);
  if (avio == nullptr) {
    av_free(block);
    delete reader;
  }
  return avio;
}

void MemoryOutput::CloseReader(AVIOContext* reader) {
  delete static_cast<Reader*>(reader->opaque);
  av_freep(&reader->buffer);
  avio_context_free(&reader);
}

int MemoryOutput::Read(void* opaque, uint8_t* data, int size) {
  auto* const reader = static_cast<Reader*>(opaque);
  const MemoryOutput& output = *reader->output;
  if (reader->position >= output.size_) return AVERROR_EOF;
  const size_t count = std::min(static_cast<size_t>(size), output.size_ - reader->position);
  std::memcpy(data, output.data_ + reader->position, count);
  reader->position += count;
  return static_cast<int>(count);
}

int64_t MemoryOutput::SeekReader(void* opaque, int64_t offset, int whence) {
  auto* const reader = static_cast<Reader*>(opaque);
  return MovePosition(reader->output->size_, &reader->position, offset, whence);
}

}  // namespace nvc
