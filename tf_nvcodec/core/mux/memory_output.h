// Where a muxer writes: memory that grows, behind FFmpeg's file interface.
#ifndef TF_NVCODEC_CORE_MUX_MEMORY_OUTPUT_H_
#define TF_NVCODEC_CORE_MUX_MEMORY_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

extern "C" {
#include <libavformat/avio.h>
}

namespace nvc {

// The caller's own block of bytes, such as a std::string or a tensor's element.
class GrowingBytes {
 public:
  virtual ~GrowingBytes() = default;
  // Keeps the first bytes; the rest may be anything. Null when there is no memory.
  virtual char* Resize(size_t size) = 0;
};

class StringBytes : public GrowingBytes {
 public:
  explicit StringBytes(std::string* bytes) : bytes_(bytes) {}
  char* Resize(size_t size) override {
    bytes_->resize(size);
    return &(*bytes_)[0];
  }

 private:
  std::string* bytes_;
};

class MemoryOutput {
 public:
  // `bytes` must outlive the output.
  static absl::StatusOr<std::unique_ptr<MemoryOutput>> Create(GrowingBytes* bytes);
  ~MemoryOutput();
  MemoryOutput(const MemoryOutput&) = delete;
  MemoryOutput& operator=(const MemoryOutput&) = delete;

  // For writing and seeking; owned by this.
  AVIOContext* avio() const { return avio_; }
  // A second view that reads what was written so far; the caller frees it with CloseReader. Null
  // when there is no memory.
  AVIOContext* OpenReader();
  static void CloseReader(AVIOContext* reader);

  // Flushes and cuts the bytes to their size.
  absl::Status Finish();

 private:
  struct Reader {
    MemoryOutput* output;
    size_t position;
  };

  explicit MemoryOutput(GrowingBytes* bytes) : bytes_(bytes) {}
  static int Write(void* opaque, uint8_t* data, int size);
  static int64_t Seek(void* opaque, int64_t offset, int whence);
  static int Read(void* opaque, uint8_t* data, int size);
  static int64_t SeekReader(void* opaque, int64_t offset, int whence);
  static int64_t MovePosition(size_t size, size_t* position, int64_t offset, int whence);

  GrowingBytes* bytes_;
  AVIOContext* avio_ = nullptr;
  char* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0, position_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_MUX_MEMORY_OUTPUT_H_
