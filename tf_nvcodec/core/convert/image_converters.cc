#include "tf_nvcodec/core/convert/image_converters.h"

#include <cstring>
#include <utility>
#include <vector>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/convert/chroma_upsampler.h"
#include "tf_nvcodec/core/convert/component_axis.h"
#include "tf_nvcodec/core/convert/conversion_maps.h"
#include "tf_nvcodec/core/convert/row_sink.h"
#include "tf_nvcodec/core/convert/yuv_planes.h"
#include "tf_nvcodec/core/rows/yuv_rgb_rows.h"

namespace nvc {
namespace {

// Converts any source to rgb, bgr or gray frames of any element type. It resamples each component
// in floats and maps the components to the output's channels.
class ImageConverter : public FrameConverter {
 public:
  ImageConverter(const ConversionPlan& plan, const FrameShape& shape)
      : FrameConverter(plan.source, shape),
        type_(plan.output.sample_type),
        maps_(MakeImageMaps(plan)),
        stream_(plan.geometry.orientation.keeps_rows() && shape.bytes >= kStreamedBytes) {
    const Geometry& geometry = plan.geometry;
    const int channels = shape.channels;
    for (int k = 0; k < maps_.components; ++k) {
      resamplers_.push_back(MakeResampler(plan.output, plan.source, geometry, k, 0));
    }
    const bool planar = plan.output.layout == Layout::kTchw;
    const size_t element = SampleSize(type_);
    channels_of_sink_ = planar ? 1 : channels;
    for (int s = 0; s < (planar ? channels : 1); ++s) {
      sinks_.emplace_back(geometry.orientation, geometry.stored_width, geometry.stored_height,
                          element * channels_of_sink_);
    }
    rows_.resize(static_cast<size_t>(channels) * geometry.stored_width);
  }

  absl::Status Convert(const AVFrame& frame, void* out) override {
    NVC_RETURN_IF_ERROR(CheckFrame(frame, source()));
    const size_t sink_bytes = shape().bytes / sinks_.size();
    for (size_t s = 0; s < sinks_.size(); ++s) {
      sinks_[s].Begin(static_cast<uint8_t*>(out) + s * sink_bytes);
    }
    for (PlaneResampler& resampler : resamplers_) resampler.Begin(frame);
    const int height = resamplers_[0].height(), width = resamplers_[0].width();
    for (int y = 0; y < height; ++y) {
      const float* inputs[3] = {nullptr, nullptr, nullptr};
      for (int k = 0; k < maps_.components; ++k) inputs[k] = resamplers_[k].Row(y);
      const float* outputs[3] = {nullptr, nullptr, nullptr};
      for (size_t c = 0; c < maps_.channels.size(); ++c) {
        float* row = rows_.data() + c * width;
        kernels_.map(maps_.channels[c], inputs, maps_.components, width, row);
        outputs[c] = row;
      }
      for (size_t s = 0; s < sinks_.size(); ++s) {
        kernels_.pack(outputs + s, channels_of_sink_, width, type_, 0, stream_, sinks_[s].Row(y));
        sinks_[s].Commit(y);
      }
    }
    if (stream_) kernels_.fence();
    return absl::OkStatus();
  }

 private:
  const PackKernels& kernels_ = GetPackKernels(BestSimd());
  SampleType type_;
  ImageMaps maps_;
  bool stream_;
  int channels_of_sink_;
  std::vector<PlaneResampler> resamplers_;
  std::vector<RowSink> sinks_;
  std::vector<float> rows_;
};

// Repeats each sample `factor` times.
template <typename T>
void Repeat(const T* from, int factor, int count, T* to) {
  for (int i = 0; i < count; ++i) to[i] = from[i / factor];
}

// Whether the source has subsampled chroma that the output takes bilinearly upsampled.
bool IsUpsampledLinearly(const OutputSpec& output, const PlaneReader& chroma) {
  return output.chroma_upsampling == ChromaUpsampling::kBilinear &&
         chroma.log2_width() + chroma.log2_height() > 0;
}

// Converts Y'CbCr and gray sources to 8-bit frames in fixed point, without resampling.
class Rgb8Converter : public FrameConverter {
 public:
  Rgb8Converter(const ConversionPlan& plan, const FrameShape& shape)
      : FrameConverter(plan.source, shape),
        kernels_(GetYuvRgbKernels(BestSimd())),
        crop_(plan.geometry.crop),
        luma_(plan.source.format, plan.source.width, plan.source.height, 0),
        factors_(MakeYuvRgbFactors(MakeYuvToRgb(plan.weights, plan.range, luma_.depth()),
                                   luma_.depth())),
        fraction_factors_(factors_),
        terms_(plan.geometry.crop.width + kMaxRepeat) {
    if (plan.model == ColorModel::kYuv && shape.channels == 3) {
      for (int k = 1; k < 3; ++k) {
        chroma_.emplace_back(plan.source.format, plan.source.width, plan.source.height, k);
      }
    }
    bgr_ = plan.output.pixel_format == PixelFormat::kBgr;
    planar_ = plan.output.layout == Layout::kTchw;
    // Rows begin at a whole chroma sample. Pixels before the crop are converted and dropped.
    lead_ = chroma_.empty() ? 0 : crop_.left % (1 << chroma_[0].log2_width());
    stream_ = lead_ == 0 && plan.geometry.orientation.keeps_rows() && shape.bytes >= kStreamedBytes;
    const int sinks = planar_ ? shape.channels : 1;
    for (int s = 0; s < sinks; ++s) {
      sinks_.emplace_back(plan.geometry.orientation, crop_.width, crop_.height,
                          planar_ ? 1 : shape.channels);
    }
    if (!chroma_.empty() && IsUpsampledLinearly(plan.output, chroma_[0])) {
      // Upsampled chroma comes as fractions already.
      fraction_factors_.left = fraction_factors_.right = 0;
      for (const PlaneReader& reader : chroma_) {
        upsamplers_.emplace_back(reader, SitingOf(plan.source.chroma_location), left(), width());
      }
    }
    if (lead_ > 0) led_row_.resize(static_cast<size_t>(crop_.width + lead_) * shape.channels);
    if (!chroma_.empty() && chroma_[0].log2_width() > 1) {
      for (auto& row : repeated_) row.resize(crop_.width + 2 * kMaxRepeat);
    }
  }

  absl::Status Convert(const AVFrame& frame, void* out) override {
    NVC_RETURN_IF_ERROR(CheckFrame(frame, source()));
    const size_t sink_bytes = shape().bytes / sinks_.size();
    for (size_t s = 0; s < sinks_.size(); ++s) {
      sinks_[s].Begin(static_cast<uint8_t*>(out) + s * sink_bytes);
    }
    for (ChromaUpsampler& upsampler : upsamplers_) upsampler.Begin();
    int chroma_row = -1;
    for (int y = 0; y < crop_.height; ++y) {
      if (!upsamplers_.empty()) {
        kernels_.chroma16(fraction_factors_, upsamplers_[0].Row(frame, crop_.top + y),
                          upsamplers_[1].Row(frame, crop_.top + y), 0, width(), &terms_);
      } else if (!chroma_.empty() && (crop_.top + y) >> chroma_[0].log2_height() != chroma_row) {
        chroma_row = (crop_.top + y) >> chroma_[0].log2_height();
        ReadChroma(frame, chroma_row);
      }
      ConvertRow(frame, y);
    }
    if (stream_) kernels_.fence();
    return absl::OkStatus();
  }

 private:
  static constexpr int kMaxRepeat = 16;

  int left() const { return crop_.left - lead_; }
  int width() const { return crop_.width + lead_; }

  void ReadChroma(const AVFrame& frame, int row) {
    const int log2 = chroma_[0].log2_width();
    const int count = (width() + (1 << log2) - 1) >> log2;
    const void* cb = chroma_[0].Row(frame, row, left() >> log2, count);
    const void* cr = chroma_[1].Row(frame, row, left() >> log2, count);
    int kernel_log2 = log2;
    if (log2 > 1) {
      kernel_log2 = 0;
      cb = RepeatRow(cb, log2, repeated_[0].data());
      cr = RepeatRow(cr, log2, repeated_[1].data());
    }
    if (luma_.wide()) {
      kernels_.chroma16(factors_, static_cast<const uint16_t*>(cb),
                        static_cast<const uint16_t*>(cr), kernel_log2, width(), &terms_);
    } else {
      kernels_.chroma8(factors_, static_cast<const uint8_t*>(cb), static_cast<const uint8_t*>(cr),
                       kernel_log2, width(), &terms_);
    }
  }

  const void* RepeatRow(const void* from, int log2, uint16_t* to) {
    if (luma_.wide()) {
      Repeat(static_cast<const uint16_t*>(from), 1 << log2, width(), to);
    } else {
      Repeat(static_cast<const uint8_t*>(from), 1 << log2, width(), reinterpret_cast<uint8_t*>(to));
    }
    return to;
  }

  void ConvertRow(const AVFrame& frame, int y) {
    const void* luma = luma_.Row(frame, crop_.top + y, left(), width());
    const int channels = shape().channels;
    const size_t pixel = planar_ ? 1 : channels;
    uint8_t* rows[3];
    for (size_t s = 0; s < sinks_.size(); ++s) {
      rows[s] = lead_ > 0 ? led_row_.data() + s * width() : sinks_[s].Row(y);
    }
    if (luma_.wide()) {
      const uint16_t* from = static_cast<const uint16_t*>(luma);
      if (channels == 1) {
        kernels_.gray16(factors_, from, width(), rows[0]);
      } else if (planar_) {
        uint8_t* const rgb[3] = {rows[bgr_ ? 2 : 0], rows[1], rows[bgr_ ? 0 : 2]};
        kernels_.planar16(factors_, from, terms_, width(), stream_, rgb);
      } else {
        kernels_.packed16(factors_, from, terms_, width(), bgr_, stream_, rows[0]);
      }
    } else {
      const uint8_t* from = static_cast<const uint8_t*>(luma);
      if (channels == 1) {
        kernels_.gray8(factors_, from, width(), rows[0]);
      } else if (planar_) {
        uint8_t* const rgb[3] = {rows[bgr_ ? 2 : 0], rows[1], rows[bgr_ ? 0 : 2]};
        kernels_.planar8(factors_, from, terms_, width(), stream_, rgb);
      } else {
        kernels_.packed8(factors_, from, terms_, width(), bgr_, stream_, rows[0]);
      }
    }
    for (size_t s = 0; s < sinks_.size(); ++s) {
      if (lead_ > 0) memcpy(sinks_[s].Row(y), rows[s] + lead_ * pixel, crop_.width * pixel);
      sinks_[s].Commit(y);
    }
  }

  const YuvRgbKernels& kernels_;
  Crop crop_;
  PlaneReader luma_;
  std::vector<PlaneReader> chroma_;          // empty for gray
  std::vector<ChromaUpsampler> upsamplers_;  // empty for nearest chroma
  YuvRgbFactors factors_, fraction_factors_;
  ChromaTerms terms_;
  bool bgr_, planar_, stream_;
  int lead_;
  std::vector<RowSink> sinks_;
  std::vector<uint8_t> led_row_;
  std::vector<uint16_t> repeated_[2];
};

// Copies 8-bit RGB sources into interleaved or planar frames.
class RgbCopyConverter : public FrameConverter {
 public:
  RgbCopyConverter(const ConversionPlan& plan, const FrameShape& shape)
      : FrameConverter(plan.source, shape), crop_(plan.geometry.crop) {
    for (int c = 0; c < 3; ++c) {
      const int from = plan.output.pixel_format == PixelFormat::kBgr ? 2 - c : c;
      readers_.emplace_back(plan.source.format, plan.source.width, plan.source.height, from);
    }
    const bool planar = plan.output.layout == Layout::kTchw;
    for (int s = 0; s < (planar ? 3 : 1); ++s) {
      sinks_.emplace_back(plan.geometry.orientation, crop_.width, crop_.height, planar ? 1 : 3);
    }
  }

  absl::Status Convert(const AVFrame& frame, void* out) override {
    NVC_RETURN_IF_ERROR(CheckFrame(frame, source()));
    const size_t sink_bytes = shape().bytes / sinks_.size();
    for (size_t s = 0; s < sinks_.size(); ++s) {
      sinks_[s].Begin(static_cast<uint8_t*>(out) + s * sink_bytes);
    }
    for (int y = 0; y < crop_.height; ++y) {
      const uint8_t* rows[3];
      for (int c = 0; c < 3; ++c) {
        rows[c] = static_cast<const uint8_t*>(
            readers_[c].Row(frame, crop_.top + y, crop_.left, crop_.width));
      }
      if (sinks_.size() == 1) {
        kernels_.interleave_bytes(rows, 3, crop_.width, sinks_[0].Row(y));
      } else {
        for (int c = 0; c < 3; ++c) memcpy(sinks_[c].Row(y), rows[c], crop_.width);
      }
      for (RowSink& sink : sinks_) sink.Commit(y);
    }
    return absl::OkStatus();
  }

 private:
  const PackKernels& kernels_ = GetPackKernels(BestSimd());
  Crop crop_;
  std::vector<PlaneReader> readers_;  // in the order of the output's channels
  std::vector<RowSink> sinks_;
};

// Converts to Y'CbCr formats, one output plane at a time.
class YuvConverter : public FrameConverter {
 public:
  YuvConverter(const ConversionPlan& plan, const FrameShape& shape,
               std::vector<std::unique_ptr<OutputPlane>> planes)
      : FrameConverter(plan.source, shape), planes_(std::move(planes)) {}

  absl::Status Convert(const AVFrame& frame, void* out) override {
    NVC_RETURN_IF_ERROR(CheckFrame(frame, source()));
    uint8_t* to = static_cast<uint8_t*>(out);
    for (const auto& plane : planes_) {
      plane->Convert(frame, to);
      to += plane->bytes();
    }
    return absl::OkStatus();
  }

 private:
  std::vector<std::unique_ptr<OutputPlane>> planes_;
};

// 8-bit outputs of Y'CbCr and gray sources that are not resized.
bool CanMakeRgb8Converter(const ConversionPlan& plan) {
  if (plan.model == ColorModel::kRgb || plan.geometry.resized ||
      plan.output.sample_type != SampleType::kUint8) {
    return false;
  }
  const SourceSpec& source = plan.source;
  const PlaneReader luma(source.format, source.width, source.height, 0);
  if (luma.depth() < 8) return false;
  if (plan.model == ColorModel::kGray || plan.output.pixel_format == PixelFormat::kGray) {
    return true;
  }
  const PlaneReader chroma(source.format, source.width, source.height, 1);
  return chroma.depth() == luma.depth() &&
         (!IsUpsampledLinearly(plan.output, chroma) || ChromaUpsampler::CanUpsample(chroma));
}

// 8-bit outputs of 8-bit RGB sources that are not resized.
bool CanMakeRgbCopyConverter(const ConversionPlan& plan) {
  if (plan.model != ColorModel::kRgb || plan.range != ColorRange::kFull || plan.geometry.resized ||
      plan.output.sample_type != SampleType::kUint8 ||
      plan.output.pixel_format == PixelFormat::kGray) {
    return false;
  }
  for (int c = 0; c < 3; ++c) {
    const PlaneReader reader(plan.source.format, plan.source.width, plan.source.height, c);
    if (reader.depth() != 8 || reader.wide()) return false;
  }
  return true;
}

}  // namespace

FrameShape MakeImageShape(const ConversionPlan& plan) {
  FrameShape shape;
  shape.height = plan.geometry.height;
  shape.width = plan.geometry.width;
  shape.channels = Channels(plan.output.pixel_format);
  shape.bytes = static_cast<size_t>(shape.height) * shape.width * shape.channels *
                SampleSize(plan.output.sample_type);
  return shape;
}

std::unique_ptr<FrameConverter> MakeImageConverter(const ConversionPlan& plan) {
  const FrameShape shape = MakeImageShape(plan);
  if (CanMakeRgb8Converter(plan)) return std::make_unique<Rgb8Converter>(plan, shape);
  if (CanMakeRgbCopyConverter(plan)) return std::make_unique<RgbCopyConverter>(plan, shape);
  return std::make_unique<ImageConverter>(plan, shape);
}

std::unique_ptr<FrameConverter> MakeYuvConverter(const ConversionPlan& plan) {
  FrameShape shape;
  shape.height = plan.geometry.height;
  shape.width = plan.geometry.width;
  std::vector<std::unique_ptr<OutputPlane>> planes = MakeOutputPlanes(plan);
  for (const auto& plane : planes) shape.bytes += plane->bytes();
  return std::make_unique<YuvConverter>(plan, shape, std::move(planes));
}

}  // namespace nvc
