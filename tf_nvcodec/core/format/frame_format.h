// Describes the layout of frames in memory: of decoded frames that a caller wants, and of frames
// that an encoder gets.
#ifndef TF_NVCODEC_CORE_FORMAT_FRAME_FORMAT_H_
#define TF_NVCODEC_CORE_FORMAT_FRAME_FORMAT_H_

#include <array>
#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nvc {

// How a frame's samples are arranged. kNative, kNv12, kYuv420p, kYuv444p and kP010 are packed byte
// strings [frame_bytes], as FFmpeg's rawvideo writes them. The others are [H, W, C].
enum class PixelFormat { kNative, kRgb, kBgr, kGray, kNv12, kYuv420p, kYuv444p, kP010 };
// The element type of a frame tensor. Floats are in [0, 1] before mean and std.
enum class SampleType { kUint8, kUint16, kFloat16, kFloat32 };
enum class Layout { kThwc, kTchw };
// As in tf.image.resize with antialias=False and half-pixel centres. kArea is the mean of the
// source's area under each output pixel.
enum class ResizeMethod { kNearest, kBilinear, kBicubic, kArea };
enum class ChromaUpsampling { kNearest, kBilinear };
// What happens to frames that are marked as interlaced; core/convert/deinterlace.h has the rule.
enum class Deinterlace { kNone, kBob };
enum class ColorSpace { kBt601, kBt709, kBt2020 };
enum class ColorRange { kLimited, kFull };

// The parsers take the lower-case names of the Python API ("rgb", "thwc", "bt709", "limited", ...).
// For other names they return InvalidArgument, which lists the allowed ones.
absl::StatusOr<PixelFormat> ParsePixelFormat(absl::string_view name);
absl::StatusOr<Layout> ParseLayout(absl::string_view name);
absl::StatusOr<ResizeMethod> ParseResizeMethod(absl::string_view name);
absl::StatusOr<ChromaUpsampling> ParseChromaUpsampling(absl::string_view name);
absl::StatusOr<Deinterlace> ParseDeinterlace(absl::string_view name);
absl::StatusOr<ColorSpace> ParseColorSpace(absl::string_view name);
absl::StatusOr<ColorRange> ParseColorRange(absl::string_view name);

absl::string_view Name(PixelFormat format);
absl::string_view Name(SampleType type);
absl::string_view Name(ColorSpace space);
absl::string_view Name(ColorRange range);

// Returns the bytes of one element.
size_t SampleSize(SampleType type);
// Returns the channels of the [H, W, C] formats (3 or 1), and 0 for the packed ones.
int Channels(PixelFormat format);

// How the planes of a YUV format are laid out.
struct YuvLayout {
  int log2_chroma_w, log2_chroma_h;  // of the subsampling
  bool interleaved;                  // Cb and Cr share a plane
  int depth;
  int shift;  // of a code value in its element, in bits
};
// Returns the layout of a packed format.
YuvLayout YuvLayoutOf(PixelFormat format);

// A rectangle in pixels of the frame as shown.
struct Crop {
  int top = 0, left = 0, height = 0, width = 0;
};

// The longest side of a resize. It keeps every byte count well inside size_t.
constexpr int kMaxSide = 65536;

// What a decoded frame becomes.
struct OutputSpec {
  PixelFormat pixel_format = PixelFormat::kRgb;
  SampleType sample_type = SampleType::kUint8;
  Layout layout = Layout::kThwc;
  std::optional<Crop> crop;   // before the resize
  int height = 0, width = 0;  // 0: keep the (cropped) size
  ResizeMethod resize_method = ResizeMethod::kBilinear;
  ChromaUpsampling chroma_upsampling = ChromaUpsampling::kNearest;
  bool apply_rotation = true;  // and mirror: show frames in the stream's Orientation
  bool flip = false;           // mirror the result left to right; the crop is that of the frame
                               // before
  Deinterlace deinterlace = Deinterlace::kNone;  // before all else, also for native
  // Read the source with these instead of its tags. Packed YUV outputs keep them.
  std::optional<ColorSpace> color_space;
  std::optional<ColorRange> color_range;
  // Float outputs are (x - mean) / std with x in [0, 1]; one value per channel.
  std::array<float, 3> mean = {0, 0, 0}, std_dev = {1, 1, 1};

  // Returns InvalidArgument for what no frame can satisfy: uint16 yuv420p, mean for integers,
  // negative sizes, a crop or size of native, odd crops and sizes of nv12, yuv420p and p010, ...
  absl::Status Validate() const;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FORMAT_FRAME_FORMAT_H_
