#include "tf_nvcodec/core/convert/deinterlace.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/convert/image_converters.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

struct Samples {
  int bytes;  // of each sample: 1 or 2
  int shift;  // of the code value in its word, in bits
};

absl::StatusOr<Samples> SamplesOf(AVPixelFormat format) {
  const AVPixFmtDescriptor* const described = av_pix_fmt_desc_get(format);
  constexpr uint64_t kOther = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_HWACCEL |
                              AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_FLOAT |
                              AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_BE;
  bool plain = described != nullptr && (described->flags & kOther) == 0;
  Samples samples = {1, 0};
  if (plain) {
    const AVComponentDescriptor& first = described->comp[0];
    samples = {first.depth > 8 ? 2 : 1, first.shift};
    plain = samples.bytes == 2 || (first.depth == 8 && first.shift == 0);
    for (int i = 0; i < described->nb_components; ++i) {
      const AVComponentDescriptor& component = described->comp[i];
      plain = plain && component.depth == first.depth && component.shift == first.shift &&
              component.step % samples.bytes == 0 && component.offset % samples.bytes == 0;
    }
  }
  if (plain) return samples;
  return absl::UnimplementedError(
      absl::StrCat("deinterlace=\"bob\" can't be done to frames stored as ",
                   described != nullptr ? described->name : "an unknown format"));
}

void AverageBytes(const uint8_t* a, const uint8_t* b, int count, uint8_t* out) {
  for (int i = 0; i < count; ++i) out[i] = static_cast<uint8_t>((a[i] + b[i] + 1) >> 1);
}

void AverageWords(const uint16_t* a, const uint16_t* b, int count, int shift, uint16_t* out) {
  for (int i = 0; i < count; ++i) {
    const int sum = (a[i] >> shift) + (b[i] >> shift) + 1;
    out[i] = static_cast<uint16_t>(sum >> 1 << shift);
  }
}

class BobConverter : public FrameConverter {
 public:
  BobConverter(std::unique_ptr<FrameConverter> converter, const Samples& samples)
      : FrameConverter(converter->source(), converter->shape()),
        converter_(std::move(converter)),
        samples_(samples) {}

  absl::Status Convert(const AVFrame& frame, void* out) override {
    const int first = FirstKeptRow(frame);
    if (first < 0) return converter_->Convert(frame, out);
    NVC_RETURN_IF_ERROR(CheckFrame(frame, source()));
    NVC_RETURN_IF_ERROR(Reserve());
    for (int plane = 0; plane < av_pix_fmt_count_planes(source().format); ++plane) {
      KeepField(frame, plane, first);
    }
    return converter_->Convert(*progressive_, out);
  }

 private:
  absl::Status Reserve() {
    if (progressive_ != nullptr) return absl::OkStatus();
    AvFramePtr made(av_frame_alloc());
    if (made == nullptr) return absl::ResourceExhaustedError("out of memory for a frame");
    made->format = source().format;
    made->width = source().width;
    made->height = source().height;
    const int result = av_frame_get_buffer(made.get(), 0);
    if (result < 0) return FfmpegError(result, "allocating a deinterlaced frame");
    progressive_ = std::move(made);
    return absl::OkStatus();
  }

  void KeepField(const AVFrame& from, int plane, int first) {
    const AVPixFmtDescriptor* const described = av_pix_fmt_desc_get(source().format);
    const bool chroma = (plane == 1 || plane == 2) && described->nb_components > 2 &&
                        (described->flags & AV_PIX_FMT_FLAG_RGB) == 0;
    const int rows = AV_CEIL_RSHIFT(source().height, chroma ? described->log2_chroma_h : 0);
    const int bytes = av_image_get_linesize(source().format, source().width, plane);
    const auto row = [&](int y) {
      return from.data[plane] + static_cast<ptrdiff_t>(y) * from.linesize[plane];
    };
    for (int y = 0; y < rows; ++y) {
      uint8_t* const out =
          progressive_->data[plane] + static_cast<ptrdiff_t>(y) * progressive_->linesize[plane];
      if (y % 2 == first || rows == 1) {
        std::memcpy(out, row(y), static_cast<size_t>(bytes));
        continue;
      }
      const uint8_t* const above = row(y > 0 ? y - 1 : 1);
      const uint8_t* const below = row(y + 1 < rows ? y + 1 : y - 1);
      if (samples_.bytes == 1) {
        AverageBytes(above, below, bytes, out);
      } else {
        AverageWords(reinterpret_cast<const uint16_t*>(above),
                     reinterpret_cast<const uint16_t*>(below), bytes / 2, samples_.shift,
                     reinterpret_cast<uint16_t*>(out));
      }
    }
  }

  const std::unique_ptr<FrameConverter> converter_;
  const Samples samples_;
  AvFramePtr progressive_;
};

}  // namespace

int FirstKeptRow(const AVFrame& frame) {
  if (!IsInterlaced(frame)) return -1;
  return IsTopFieldFirst(frame) ? 0 : 1;
}

absl::StatusOr<std::unique_ptr<FrameConverter>> NewBobConverter(
    std::unique_ptr<FrameConverter> converter) {
  NVC_ASSIGN_OR_RETURN(const Samples samples, SamplesOf(converter->source().format));
  return std::make_unique<BobConverter>(std::move(converter), samples);
}

}  // namespace nvc
