// Lets FFmpeg's muxers write to memory that grows, as if it were a file.
#ifndef TF_NVCODEC_CORE_MUX_MEMORY_OUTPUT_H_
#define TF_NVCODEC_CORE_MUX_MEMORY_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"

extern "C" {
#include <libavformat/avio.h>
}

namespace nvc {

// A block of bytes that the caller owns, such as a std::string or a tensor's element.
class GrowingBytes {
 public:
  virtual ~GrowingBytes() = default;
  // Changes the size and returns the bytes. Those that were there stay; new ones may be anything.
  // Returns null when there is no memory.
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

  // FFmpeg's interface for writing and seeking. This object owns it.
  AVIOContext* avio() const { return avio_; }
  // Opens a second view, which reads what was written so far. Free it with CloseReader. Returns
  // null when there is no memory.
  AVIOContext* OpenReader();
  static void CloseReader(AVIOContext* reader);

  // Flushes, and cuts the bytes to their size.
  absl::Status Finish();

 private:
  struct Reader {
    MemoryOutput* output;
    size_t position;
  };

  explicit MemoryOutput(GrowingBytes* bytes) : bytes_(bytes) {}
  static int Write(void* opaque, AvioWrittenByte* data, int size);
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
