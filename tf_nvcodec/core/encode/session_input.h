// The frames of an encoding session as its caller has them in memory.
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

// NVENC's buffer formats, rows without padding. kYuv444Wide: three planes of 16-bit words whose
// upper 10 bits count, as in P010. kArgb and kAbgr name the word, so that bytes come as B, G, R, A
// and R, G, B, A; alpha is dropped.
enum class InputFormat { kNv12, kYuv420, kYuv444, kP010, kYuv444Wide, kArgb, kAbgr };

// "NV12", "YUV420" (also "IYUV"), "YUV444", "P010" (also "YUV420_10BIT"), "YUV444_16BIT" (also
// "YUV444_10BIT"), "ARGB" or "ABGR", in any case. InvalidArgument lists them.
absl::StatusOr<InputFormat> ParseInputFormat(absl::string_view name);
bool IsRgb(InputFormat format);

// One frame without memory: what ChooseStream chooses by. InvalidArgument for sizes that no frame
// of the format has.
absl::StatusOr<FrameBatch> DescribeInput(InputFormat format, int width, int height);
// FFmpeg's pixel format of the stream that keeps these frames as they are; RGB loses chroma.
const char* StreamFormatName(InputFormat format);

class SessionInput {
 public:
  SessionInput(InputFormat format, const FrameBatch& shape, const StreamSpec& stream);

  // Of a frame in memory.
  size_t frame_bytes() const;
  // A frame that owns its samples. InvalidArgument unless `size` is frame_bytes().
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
