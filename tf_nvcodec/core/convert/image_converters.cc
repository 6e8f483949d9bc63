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

// Converts frames row by row. Planar outputs have a sink for each channel, others have one.
class RowConverter : public FrameConverter {
 public:
  absl::Status Convert(const AVFrame& frame, void* out) final {
    NVC_RETURN_IF_ERROR(CheckFrame(frame, source()));
    const size_t sink_bytes = shape().bytes / sinks_.size();
    for (size_t s = 0; s < sinks_.size(); ++s) {
      sinks_[s].Begin(static_cast<uint8_t*>(out) + s * sink_bytes, sinks_[s].shown_row_bytes());
    }
    Begin(frame);
    for (int y = 0; y < height_; ++y) {
      uint8_t* rows[3] = {nullptr, nullptr, nullptr};
      for (size_t s = 0; s < sinks_.size(); ++s) rows[s] = sinks_[s].Row(y);
      ConvertRow(frame, y, rows);
      for (RowSink& sink : sinks_) sink.Commit(y);
    }
    if (stream_) GetPackKernels(BestSimd()).fence();
    return absl::OkStatus();
  }

 protected:
  RowConverter(const ConversionPlan& plan, const FrameShape& shape)
      : FrameConverter(plan.source, shape),
        planar_(plan.output.layout == Layout::kTchw && shape.channels > 1),
        stream_(plan.geometry.orientation.keeps_rows() && shape.bytes >= kStreamedBytes),
        height_(plan.geometry.stored_height) {
    for (int s = 0; s < (planar_ ? shape.channels : 1); ++s) {
      sinks_.emplace_back(plan.geometry.orientation, plan.geometry.stored_width, height_,
                          SampleSize(plan.output.sample_type) * channels_of_row());
    }
  }

  bool planar() const { return planar_; }
  // The number of channels in each of the rows that ConvertRow writes.
  int channels_of_row() const { return planar_ ? 1 : shape().channels; }
  // Whether rows are to be written past the caches.
  bool stream() const { return stream_; }

 private:
  virtual void Begin(const AVFrame& frame) {}
  // Writes row y of the crop, in stored order.
  virtual void ConvertRow(const AVFrame& frame, int y, uint8_t* const rows[3]) = 0;

  const bool planar_, stream_;
  const int height_;
  std::vector<RowSink> sinks_;
};

// Converts any source to rgb, bgr or gray frames of any element type. It resamples each component
// in floats and maps the components to the output's channels.
class ResamplingConverter : public RowConverter {
 public:
  ResamplingConverter(const ConversionPlan& plan, const FrameShape& shape)
      : RowConverter(plan, shape), type_(plan.output.sample_type), maps_(MakeImageMaps(plan)) {
    for (int k = 0; k < maps_.components; ++k) {
      resamplers_.push_back(MakeResampler(plan.output, plan.source, plan.geometry, k, 0, 0));
    }
    for (std::vector<float>& row : mapped_) row.resize(plan.geometry.stored_width);
  }

 private:
  void Begin(const AVFrame& frame) override {
    for (PlaneResampler& resampler : resamplers_) resampler.Begin(frame);
  }

  void ConvertRow(const AVFrame&, int y, uint8_t* const rows[3]) override {
    const int width = resamplers_[0].width();
    const float* components[3] = {nullptr, nullptr, nullptr};
    for (int k = 0; k < maps_.components; ++k) components[k] = resamplers_[k].Row(y);
    const float* channels[3] = {nullptr, nullptr, nullptr};
    for (size_t c = 0; c < maps_.channels.size(); ++c) {
      kernels_.map(maps_.channels[c], components, maps_.components, width, mapped_[c].data());
      channels[c] = mapped_[c].data();
    }
    for (int s = 0; s < (planar() ? shape().channels : 1); ++s) {
      kernels_.pack(channels + s, channels_of_row(), width, type_, 0, stream(), rows[s]);
    }
  }

  const PackKernels& kernels_ = GetPackKernels(BestSimd());
  SampleType type_;
  ImageMaps maps_;
  std::vector<PlaneResampler> resamplers_;
  std::vector<float> mapped_[3];
};

// Whether the source has subsampled chroma that the output takes bilinearly upsampled.
bool IsUpsampledLinearly(const OutputSpec& output, const PlaneReader& chroma) {
  return output.chroma_upsampling == ChromaUpsampling::kBilinear &&
         chroma.log2_width() + chroma.log2_height() > 0;
}

// Converts Y'CbCr and gray sources to 8-bit frames in fixed point, without resampling.
class Rgb8Converter : public RowConverter {
 public:
  Rgb8Converter(const ConversionPlan& plan, const FrameShape& shape)
      : RowConverter(plan, shape),
        kernels_(GetYuvRgbKernels(BestSimd())),
        crop_(plan.geometry.crop),
        luma_(plan.source.format, plan.source.width, plan.source.height, 0),
        factors_(MakeYuvRgbFactors(MakeYuvToRgb(plan.weights, plan.range, luma_.depth()),
                                   luma_.depth())),
        fraction_factors_(factors_),
        terms_(plan.geometry.crop.width + 1),
        bgr_(plan.output.pixel_format == PixelFormat::kBgr) {
    if (plan.model != ColorModel::kYuv || shape.channels != 3) return;
    for (int k = 1; k < 3; ++k) {
      chroma_.emplace_back(plan.source.format, plan.source.width, plan.source.height, k);
    }
    // Rows begin at a whole chroma sample. A pixel before the crop is converted and dropped.
    lead_ = crop_.left % (1 << chroma_[0].log2_width());
    if (lead_ > 0) led_row_.resize(static_cast<size_t>(width()) * 3);
    if (!IsUpsampledLinearly(plan.output, chroma_[0])) return;
    // Upsampled chroma comes as fractions already.
    fraction_factors_.left = fraction_factors_.right = 0;
    for (const PlaneReader& reader : chroma_) {
      upsamplers_.emplace_back(reader, SitingOf(plan.source.chroma_location), left(), width());
    }
  }

 private:
  int left() const { return crop_.left - lead_; }
  int width() const { return crop_.width + lead_; }

  void Begin(const AVFrame&) override {
    for (ChromaUpsampler& upsampler : upsamplers_) upsampler.Begin();
    chroma_row_ = -1;
  }

  void ConvertRow(const AVFrame& frame, int y, uint8_t* const rows[3]) override {
    if (luma_.wide()) {
      ConvertSamples(kernels_.words, frame, crop_.top + y, rows);
    } else {
      ConvertSamples(kernels_.bytes, frame, crop_.top + y, rows);
    }
  }

  template <typename T>
  void ConvertSamples(const SampleToRgbKernels<T>& kernels, const AVFrame& frame, int y,
                      uint8_t* const rows[3]) {
    const T* luma = static_cast<const T*>(luma_.Row(frame, y, left(), width()));
    if (shape().channels == 1) return kernels.gray(factors_, luma, width(), rows[0]);
    if (!upsamplers_.empty()) {
      kernels_.words.chroma(fraction_factors_, upsamplers_[0].Row(frame, y),
                            upsamplers_[1].Row(frame, y), 0, width(), &terms_);
    } else if (!chroma_.empty()) {
      UpdateChroma(kernels, frame, y >> chroma_[0].log2_height());
    }
    const size_t pixel_bytes = channels_of_row();
    uint8_t* to[3] = {rows[0], rows[1], rows[2]};
    for (int c = 0; lead_ > 0 && c < 3; ++c) to[c] = led_row_.data() + c * width();
    const bool streamed = stream() && lead_ == 0;
    if (planar()) {
      uint8_t* const rgb[3] = {to[bgr_ ? 2 : 0], to[1], to[bgr_ ? 0 : 2]};
      kernels.planar(factors_, luma, terms_, width(), streamed, rgb);
    } else {
      kernels.packed(factors_, luma, terms_, width(), bgr_, streamed, to[0]);
    }
    for (int s = 0; lead_ > 0 && s < (planar() ? 3 : 1); ++s) {
      memcpy(rows[s], to[s] + lead_ * pixel_bytes, crop_.width * pixel_bytes);
    }
  }

  // Rows of luma share the terms of their row of chroma.
  template <typename T>
  void UpdateChroma(const SampleToRgbKernels<T>& kernels, const AVFrame& frame, int row) {
    if (row == chroma_row_) return;
    chroma_row_ = row;
    const int log2 = chroma_[0].log2_width();
    const void* samples[2];
    for (int k = 0; k < 2; ++k) {
      samples[k] = chroma_[k].Row(frame, row, left() >> log2, (width() + log2) >> log2);
    }
    kernels.chroma(factors_, static_cast<const T*>(samples[0]), static_cast<const T*>(samples[1]),
                   log2, width(), &terms_);
  }

  const YuvRgbKernels& kernels_;
  Crop crop_;
  PlaneReader luma_;
  std::vector<PlaneReader> chroma_;          // empty for gray
  std::vector<ChromaUpsampler> upsamplers_;  // empty for nearest chroma
  YuvRgbFactors factors_, fraction_factors_;
  ChromaTerms terms_;
  const bool bgr_;
  int lead_ = 0;         // pixels before the crop, 0 or 1
  int chroma_row_ = -1;  // the row whose terms are in terms_
  std::vector<uint8_t> led_row_;
};

// Copies 8-bit RGB sources into interleaved or planar frames.
class RgbCopyConverter : public RowConverter {
 public:
  RgbCopyConverter(const ConversionPlan& plan, const FrameShape& shape)
      : RowConverter(plan, shape), crop_(plan.geometry.crop) {
    for (int c = 0; c < 3; ++c) {
      const int from = plan.output.pixel_format == PixelFormat::kBgr ? 2 - c : c;
      readers_.emplace_back(plan.source.format, plan.source.width, plan.source.height, from);
    }
  }

 private:
  void ConvertRow(const AVFrame& frame, int y, uint8_t* const rows[3]) override {
    const uint8_t* channels[3];
    for (int c = 0; c < 3; ++c) {
      channels[c] = static_cast<const uint8_t*>(
          readers_[c].Row(frame, crop_.top + y, crop_.left, crop_.width));
      if (planar()) memcpy(rows[c], channels[c], crop_.width);
    }
    if (!planar()) kernels_.interleave_bytes(channels, 3, crop_.width, rows[0]);
  }

  const PackKernels& kernels_ = GetPackKernels(BestSimd());
  Crop crop_;
  std::vector<PlaneReader> readers_;  // in the order of the output's channels
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
      plane->Convert(frame, to, plane->row_bytes());
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
  return chroma.depth() == luma.depth() && chroma.wide() == luma.wide() &&
         chroma.log2_width() <= 1 &&
         (!IsUpsampledLinearly(plan.output, chroma) || chroma.log2_height() <= 1);
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
    if (reader.wide()) return false;
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
  return std::make_unique<ResamplingConverter>(plan, shape);
}

std::unique_ptr<FrameConverter> MakeYuvConverter(const ConversionPlan& plan) {
  FrameShape shape;
  shape.height = plan.geometry.height;
  shape.width = plan.geometry.width;
  std::vector<std::unique_ptr<OutputPlane>> planes =
      MakeOutputPlanes(plan, YuvLayoutOf(plan.output.pixel_format));
  for (const auto& plane : planes) shape.bytes += plane->bytes();
  return std::make_unique<YuvConverter>(plan, shape, std::move(planes));
}

}  // namespace nvc
