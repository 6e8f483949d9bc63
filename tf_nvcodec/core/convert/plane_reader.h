// Reads one component (Y, Cb, Cr, R, G, B) of a decoded frame as rows of plain samples, however the
// pixel format packs it.
#ifndef TF_NVCODEC_CORE_CONVERT_PLANE_READER_H_
#define TF_NVCODEC_CORE_CONVERT_PLANE_READER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "tf_nvcodec/core/rows/pack_rows.h"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {

enum class ColorModel { kYuv, kRgb, kGray };

// Returns OK when PlaneReader can read `format`. Returns Unimplemented, with the format's name, for
// hardware, Bayer, XYZ and floating-point formats.
absl::Status CheckReadable(AVPixelFormat format);

// Returns the model of a readable format. Palettes count as RGB.
ColorModel ColorModelOf(AVPixelFormat format);

class PlaneReader {
 public:
  // `component` is 0 to 2 (0 for gray) of a readable format; `width` and `height` are the frame's.
  // Alpha is never read.
  PlaneReader(AVPixelFormat format, int width, int height, int component);

  // The size of this component's own grid: chroma is ceil(size / 2^log2).
  int width() const { return width_; }
  int height() const { return height_; }
  int log2_width() const { return log2_width_; }
  int log2_height() const { return log2_height_; }
  int depth() const { return depth_; }
  // True if samples are uint16_t, false if they are uint8_t.
  bool wide() const { return wide_; }

  // Returns samples [left, left + count) of row y, as code values of depth() bits. They lie in the
  // frame, or in this reader's buffer number `buffer` until that is used again.
  const void* Row(const AVFrame& frame, int y, int left, int count, int buffer = 0);
  // Makes room for this number of buffers. Without this call there is one.
  void ReserveBuffers(int buffers);

 private:
  // Where samples lie: side by side, apart from one another as in RGB24 and P010, or in a rare
  // format (palettes, single bits, the other byte order), which FFmpeg's own functions unpack.
  enum class Storage { kTogether, kApart, kRare };

  void UnpackRare(const AVFrame& frame, int y, int left, int count, uint16_t* samples) const;

  const PackKernels* kernels_;
  AVPixelFormat format_;
  const AVPixFmtDescriptor* descriptor_;
  int component_;
  bool palette_;
  int width_, height_, log2_width_, log2_height_;
  int depth_;
  Storage storage_;
  bool wide_;
  std::vector<uint16_t> buffers_;  // rows of width_; hold bytes if samples are not wide
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_PLANE_READER_H_
