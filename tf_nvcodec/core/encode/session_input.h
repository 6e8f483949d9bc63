// Turns the frames that an encoding session's caller has in memory into the encoder's frames.
#ifndef TF_NVCODEC_CORE_ENCODE_SESSION_INPUT_H_
#define TF_NVCODEC_CORE_ENCODE_SESSION_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/encode/frame_loader.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {

// NVENC's buffer formats, with rows without padding. kYuv444Wide has three planes of 16-bit words
// whose upper 10 bits count, as in P010. The names of kArgb and kAbgr describe a 32-bit word, so
// their bytes are B, G, R, A and R, G, B, A. Alpha is dropped.
enum class InputFormat { kNv12, kYuv420, kYuv444, kP010, kYuv444Wide, kArgb, kAbgr };

// Parses "NV12", "YUV420" (or "IYUV"), "YUV444", "P010" (or "YUV420_10BIT"), "YUV444_16BIT" (or
// "YUV444_10BIT"), "ARGB" or "ABGR", in upper or lower case. Returns InvalidArgument, which lists
// them, for other names.
absl::StatusOr<InputFormat> ParseInputFormat(absl::string_view name);
bool IsRgb(InputFormat format);

// Returns the description of one frame, without memory, for ChooseStream. Returns InvalidArgument
// for a size that frames of the format can't have.
absl::StatusOr<FrameBatch> DescribeInput(InputFormat format, int width, int height);
// Returns FFmpeg's name of the stream format that keeps these frames unchanged. RGB loses chroma.
const char* StreamFormatName(InputFormat format);

class SessionInput {
 public:
  SessionInput(InputFormat format, const FrameBatch& shape, const StreamSpec& stream);

  // Bytes of a frame in the caller's memory.
  size_t frame_bytes() const;
  // Returns a frame that owns its samples. Returns InvalidArgument unless `size` is frame_bytes().
  absl::StatusOr<AvFramePtr> Load(const void* data, size_t size);

 private:
  absl::StatusOr<AvFramePtr> LoadWide(const uint8_t* data);
  const void* WithoutAlpha(const uint8_t* data);

  const InputFormat format_;
  FrameBatch shape_;
  const StreamSpec stream_;
  std::vector<uint8_t> colors_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_SESSION_INPUT_H_
