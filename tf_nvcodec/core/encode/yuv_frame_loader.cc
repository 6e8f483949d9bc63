// Loads packed YUV frames as frames with another arrangement, depth or chroma size of planes.
#include <vector>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/frame_loader.h"
#include "tf_nvcodec/core/encode/rgb_weights.h"
#include "tf_nvcodec/core/rows/rgb_rows.h"

extern "C" {
#include <libavutil/common.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

class YuvFrameLoader : public FrameLoader {
 public:
  YuvFrameLoader(const FrameBatch& frames, const StreamSpec& stream)
      : FrameLoader(frames, stream),
        kernels_(RgbRows(BestSimd())),
        format_(*av_pix_fmt_desc_get(stream.encoder_format)),
        layout_(LayoutOf(frames.pixel_format)),
        depth_(format_.comp[0].depth),
        luma_(MakeDepthWeights(stream.color_range, false, layout_.depth, depth_)),
        chroma_(MakeDepthWeights(stream.color_range, true, layout_.depth, depth_)) {
    for (std::vector<float>& row : rows_) row.resize(static_cast<size_t>(stream.width) + 2);
    resized_.resize(static_cast<size_t>(stream.width) + 2);
  }

 private:
  absl::StatusOr<AvFramePtr> Fill(int64_t index) override {
    NVC_ASSIGN_OR_RETURN(AvFramePtr frame, NewFrame());
    const auto* const source = static_cast<const uint8_t*>(frames().Frame(index));
    for (int y = 0; y < stream().height; ++y) {
      ReadRow(source, 0, y, rows_[0].data());
      WriteRow(luma_, rows_[0].data(), 0, y, frame.get());
    }
    for (int component = 1; component < format_.nb_components; ++component) {
      for (int y = 0; y < PlaneHeight(format_.log2_chroma_h); ++y) {
        WriteRow(chroma_, ResizedChromaRow(source, component, y), component, y, frame.get());
      }
    }
    return frame;
  }

  // Returns row y of the stream's chroma. A sample is the mean of the block that it covers, or the
  // nearest sample.
  const float* ResizedChromaRow(const uint8_t* source, int component, int y) {
    const int last_row = PlaneHeight(layout_.log2_chroma) - 1;
    const int width = PlaneWidth(layout_.log2_chroma);
    const bool narrower = format_.log2_chroma_w > layout_.log2_chroma;
    const bool lower = format_.log2_chroma_h > layout_.log2_chroma;
    const bool higher = format_.log2_chroma_h < layout_.log2_chroma;
    const int top = lower ? 2 * y : higher ? y / 2 : y;
    float* const row = rows_[0].data();
    ReadRow(source, component, top, row);
    if (narrower || lower) {
      const bool pair = lower && top < last_row;
      if (pair) ReadRow(source, component, top + 1, rows_[1].data());
      row[width] = row[width - 1];
      rows_[1][width] = rows_[1][width - 1];
      kernels_.block(row, pair ? rows_[1].data() : row, PlaneWidth(format_.log2_chroma_w), narrower,
                     resized_.data());
      return resized_.data();
    }
    if (format_.log2_chroma_w == layout_.log2_chroma) return row;
    for (int x = 0; x < stream().width; ++x) resized_[x] = row[x / 2];
    return resized_.data();
  }

  void ReadRow(const uint8_t* source, int component, int y, float* out) const {
    const size_t sample_bytes = layout_.depth > 8 ? 2 : 1;
    const size_t luma_samples = static_cast<size_t>(stream().width) * stream().height;
    const size_t width = component == 0 ? stream().width : PlaneWidth(layout_.log2_chroma);
    const size_t chroma_samples = width * PlaneHeight(layout_.log2_chroma);
    const bool interleaved = component > 0 && layout_.interleaved;
    size_t first = y * width * (interleaved ? 2 : 1);
    if (component > 0) first += luma_samples;
    if (component == 2) first += interleaved ? 1 : chroma_samples;
    const uint8_t* const row = source + first * sample_bytes;
    const size_t step = interleaved ? 2 : 1;
    if (sample_bytes == 2) {
      // P010 keeps its ten bits at the top.
      const auto* const words = reinterpret_cast<const uint16_t*>(row);
      for (size_t x = 0; x < width; ++x) out[x] = static_cast<float>(words[x * step] >> 6);
    } else if (interleaved) {
      for (size_t x = 0; x < width; ++x) out[x] = static_cast<float>(row[x * 2]);
    } else {
      float* const planes[3] = {out, nullptr, nullptr};
      kernels_.widen8(row, 1, static_cast<int>(width), planes);
    }
  }

  void WriteRow(const FloatWeights& weights, const float* row, int component, int y,
                AVFrame* frame) const {
    const int width = component == 0 ? stream().width : PlaneWidth(format_.log2_chroma_w);
    uint8_t* const out =
        frame->data[component] + static_cast<ptrdiff_t>(y) * frame->linesize[component];
    if (depth_ > 8) {
      kernels_.scale_to16(weights, row, width, reinterpret_cast<uint16_t*>(out));
    } else {
      kernels_.scale_to8(weights, row, width, out);
    }
  }

  int PlaneWidth(int log2) const { return AV_CEIL_RSHIFT(stream().width, log2); }
  int PlaneHeight(int log2) const { return AV_CEIL_RSHIFT(stream().height, log2); }

  const RgbRowKernels& kernels_;
  const AVPixFmtDescriptor& format_;
  const PackedLayout layout_;
  const int depth_;
  const FloatWeights luma_, chroma_;
  std::vector<float> rows_[2], resized_;
};

}  // namespace

std::unique_ptr<FrameLoader> NewYuvFrameLoader(const FrameBatch& frames, const StreamSpec& stream) {
  return std::make_unique<YuvFrameLoader>(frames, stream);
}

}  // namespace nvc
