// Loads RGB, BGR or gray frames as planar YUV, gray or RGB frames, in bands of two rows.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/frame_loader.h"
#include "tf_nvcodec/core/encode/rgb_weights.h"
#include "tf_nvcodec/core/format/color.h"
#include "tf_nvcodec/core/rows/rgb_rows.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

class RgbFrameLoader : public FrameLoader {
 public:
  RgbFrameLoader(const FrameBatch& frames, const StreamSpec& stream)
      : FrameLoader(frames, stream),
        kernels_(GetRgbRowKernels(BestSimd())),
        format_(*av_pix_fmt_desc_get(stream.encoder_format)),
        channels_(Channels(frames.pixel_format)),
        depth_(format_.comp[0].depth),
        rgb_((format_.flags & AV_PIX_FMT_FLAG_RGB) != 0),
        planar_(format_.comp[0].step == (depth_ > 8 ? 2 : 1)),
        halve_x_(format_.log2_chroma_w == 1),
        halve_y_(format_.log2_chroma_h == 1),
        fixed_(!rgb_ && depth_ == 8 && channels_ == 3 && frames.sample_type == SampleType::kUint8) {
    const RgbToYuv matrix = MakeRgbToYuv(stream.color_space, stream.color_range, depth_);
    const float peak = WhiteOf(frames.sample_type);
    for (int i = 0; i < 3; ++i) weights_[i] = MakeFloatWeights(matrix, i, peak, depth_);
    luma_ = MakeFixedLuma(matrix);
    for (int i = 0; i < 2; ++i) chroma_[i] = MakeFixedChroma(matrix, i + 1);
    gray_ = MakeGrayWeights(matrix, peak, depth_);
    identity_ = MakeIdentityWeights(peak, depth_);
    // One sample more than the width, so that the last column of an odd width has a partner.
    const size_t row = static_cast<size_t>(stream.width) + 1;
    for (int y = 0; y < 2; ++y) {
      for (int c = 0; c < 3; ++c) {
        if (fixed_) {
          bytes_[y][c].resize(row);
        } else {
          floats_[y][c].resize(row);
        }
      }
    }
    for (int c = 0; c < 3; ++c) {
      if (fixed_) {
        block_sums_[c].resize(row);
      } else {
        block_means_[c].resize(row);
      }
      if (!planar_) unpacked_[c].resize(row);
    }
  }

 private:
  absl::StatusOr<AvFramePtr> Fill(int64_t index) override {
    NVC_ASSIGN_OR_RETURN(AvFramePtr frame, NewFrame());
    const bool chroma = !rgb_ && format_.nb_components == 3;
    if (chroma && channels_ == 1) FillNeutralChroma(frame.get());
    const int band = halve_y_ ? 2 : 1;
    for (int y = 0; y < stream().height; y += band) {
      const int rows = std::min(band, stream().height - y);
      for (int i = 0; i < rows; ++i) {
        if (!ReadRow(index, y + i, i)) return FloatsOutOfRange(index);
        WriteRow(y + i, i, frame.get());
      }
      if (chroma && channels_ == 3) WriteChroma(y / band, rows - 1, frame.get());
    }
    return frame;
  }

  // Reads one row into the buffers, with the channels in R, G, B order. Returns false if a float is
  // out of range.
  bool ReadRow(int64_t index, int y, int slot) {
    const int width = stream().width;
    const size_t row_bytes = frames().frame_bytes / stream().height;
    const uint8_t* const row = static_cast<const uint8_t*>(frames().Frame(index)) + y * row_bytes;
    const int first = frames().pixel_format == PixelFormat::kBgr ? 2 : 0;
    if (fixed_) {
      uint8_t* const planes[3] = {bytes_[slot][first].data(), bytes_[slot][1].data(),
                                  bytes_[slot][2 - first].data()};
      kernels_.split8(row, width, planes);
      for (uint8_t* plane : planes) plane[width] = plane[width - 1];
      return true;
    }
    float* const planes[3] = {floats_[slot][first].data(), floats_[slot][1].data(),
                              floats_[slot][2 - first].data()};
    bool in_range = true;
    switch (frames().sample_type) {
      case SampleType::kUint8:
        kernels_.widen8(row, channels_, width, planes);
        break;
      case SampleType::kUint16:
        kernels_.widen16(reinterpret_cast<const uint16_t*>(row), channels_, width, planes);
        break;
      case SampleType::kFloat16:
        in_range =
            kernels_.widen_half(reinterpret_cast<const uint16_t*>(row), channels_, width, planes);
        break;
      case SampleType::kFloat32:
        in_range =
            kernels_.widen_float(reinterpret_cast<const float*>(row), channels_, width, planes);
        break;
    }
    for (int c = 0; c < channels_; ++c) planes[c][width] = planes[c][width - 1];
    return in_range;
  }

  // Writes a row of luma, or of all three channels of an RGB stream.
  void WriteRow(int y, int slot, AVFrame* frame) {
    if (rgb_) {
      WriteRgbRow(y, slot, frame);
    } else if (fixed_) {
      const uint8_t* const planes[3] = {bytes_[slot][0].data(), bytes_[slot][1].data(),
                                        bytes_[slot][2].data()};
      kernels_.luma8(luma_, planes, stream().width, Row(frame, 0, y));
    } else if (channels_ == 1) {
      Scale(gray_, floats_[slot][0].data(), Row(frame, 0, y));
    } else {
      const float* const planes[3] = {floats_[slot][0].data(), floats_[slot][1].data(),
                                      floats_[slot][2].data()};
      Weigh(weights_[0], planes, stream().width, Row(frame, 0, y));
    }
  }

  void WriteRgbRow(int y, int slot, AVFrame* frame) {
    for (int c = 0; c < 3; ++c) {
      const float* const channel = floats_[slot][channels_ == 1 ? 0 : c].data();
      Scale(identity_, channel,
            planar_ ? Row(frame, format_.comp[c].plane, y) : unpacked_[c].data());
    }
    if (planar_) return;
    // RGB24, BGR24 and BGR0 are interleaved.
    uint8_t* const out = Row(frame, 0, y);
    const int step = format_.comp[0].step;
    if (step == 4) std::memset(out, 0, 4 * static_cast<size_t>(stream().width));
    for (int c = 0; c < 3; ++c) {
      uint8_t* const samples = out + format_.comp[c].offset;
      const uint8_t* const channel = unpacked_[c].data();
      for (int x = 0; x < stream().width; ++x) samples[x * step] = channel[x];
    }
  }

  void WriteChroma(int y, int last, AVFrame* frame) {
    const int width = ChromaWidth();
    if (fixed_) {
      const uint16_t* sums[3];
      for (int c = 0; c < 3; ++c) {
        kernels_.block8(bytes_[0][c].data(), bytes_[last][c].data(), width, halve_x_,
                        block_sums_[c].data());
        sums[c] = block_sums_[c].data();
      }
      for (int i = 0; i < 2; ++i) kernels_.chroma8(chroma_[i], sums, width, Row(frame, i + 1, y));
      return;
    }
    const float* means[3];
    for (int c = 0; c < 3; ++c) {
      kernels_.block(floats_[0][c].data(), floats_[last][c].data(), width, halve_x_,
                     block_means_[c].data());
      means[c] = block_means_[c].data();
    }
    for (int i = 0; i < 2; ++i) Weigh(weights_[i + 1], means, width, Row(frame, i + 1, y));
  }

  void FillNeutralChroma(AVFrame* frame) {
    const int height = AV_CEIL_RSHIFT(stream().height, format_.log2_chroma_h);
    const int width = ChromaWidth();
    for (int plane = 1; plane < 3; ++plane) {
      for (int y = 0; y < height; ++y) {
        uint8_t* const row = Row(frame, plane, y);
        if (depth_ == 8) {
          std::memset(row, 128, width);
        } else {
          std::fill_n(reinterpret_cast<uint16_t*>(row), width,
                      static_cast<uint16_t>(1 << (depth_ - 1)));
        }
      }
    }
  }

  void Scale(const FloatWeights& weights, const float* plane, uint8_t* out) {
    if (depth_ > 8) {
      kernels_.scale_to16(weights, plane, stream().width, reinterpret_cast<uint16_t*>(out));
    } else {
      kernels_.scale_to8(weights, plane, stream().width, out);
    }
  }

  void Weigh(const FloatWeights& weights, const float* const planes[3], int width, uint8_t* out) {
    if (depth_ > 8) {
      kernels_.weigh_to16(weights, planes, width, reinterpret_cast<uint16_t*>(out));
    } else {
      kernels_.weigh_to8(weights, planes, width, out);
    }
  }

  int ChromaWidth() const { return AV_CEIL_RSHIFT(stream().width, format_.log2_chroma_w); }
  static uint8_t* Row(AVFrame* frame, int plane, int y) {
    return frame->data[plane] + static_cast<ptrdiff_t>(y) * frame->linesize[plane];
  }

  const RgbRowKernels& kernels_;
  const AVPixFmtDescriptor& format_;
  const int channels_, depth_;
  const bool rgb_, planar_, halve_x_, halve_y_;
  const bool fixed_;  // 8-bit RGB to 8-bit YUV, in integers throughout
  FloatWeights weights_[3], gray_, identity_;
  FixedLuma luma_;
  FixedChroma chroma_[2];
  std::vector<uint8_t> bytes_[2][3], unpacked_[3];
  std::vector<float> floats_[2][3], block_means_[3];
  std::vector<uint16_t> block_sums_[3];
};

}  // namespace

std::unique_ptr<FrameLoader> NewRgbFrameLoader(const FrameBatch& frames, const StreamSpec& stream) {
  return std::make_unique<RgbFrameLoader>(frames, stream);
}

}  // namespace nvc
