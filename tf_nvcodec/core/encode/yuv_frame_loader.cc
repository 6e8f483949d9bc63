// Loads packed YUV frames as frames with another arrangement, depth or chroma size of planes.
#include <utility>
#include <vector>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/convert/yuv_planes.h"
#include "tf_nvcodec/core/encode/frame_loader.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

using OutputPlanes = std::vector<std::unique_ptr<OutputPlane>>;

class YuvFrameLoader : public FrameLoader {
 public:
  YuvFrameLoader(const FrameBatch& frames, const StreamSpec& stream, OutputPlanes planes)
      : FrameLoader(frames, stream), planes_(std::move(planes)) {}

 private:
  absl::StatusOr<AvFramePtr> Fill(int64_t index) override {
    NVC_ASSIGN_OR_RETURN(AvFramePtr frame, NewFrame());
    AvFramePtr packed(av_frame_alloc());
    if (packed == nullptr) return absl::ResourceExhaustedError("out of memory for a frame");
    const int filled = av_image_fill_arrays(
        packed->data, packed->linesize, static_cast<const uint8_t*>(frames().Frame(index)),
        RawVideoFormat(frames().pixel_format), stream().width, stream().height, /*align=*/1);
    if (filled < 0) return FfmpegError(filled, "laying out a frame");
    for (size_t i = 0; i < planes_.size(); ++i) {
      planes_[i]->Convert(*packed, frame->data[i], frame->linesize[i]);
    }
    return frame;
  }

  OutputPlanes planes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrameLoader>> NewYuvFrameLoader(const FrameBatch& frames,
                                                               const StreamSpec& stream) {
  SourceSpec source;
  source.width = stream.width;
  source.height = stream.height;
  source.format = RawVideoFormat(frames.pixel_format);
  OutputSpec output;
  output.pixel_format = frames.pixel_format;
  output.color_range = stream.color_range;
  NVC_ASSIGN_OR_RETURN(const ConversionPlan plan, MakeConversionPlan(output, source));
  const AVPixFmtDescriptor& format = *av_pix_fmt_desc_get(stream.encoder_format);
  const YuvLayout layout = {format.log2_chroma_w, format.log2_chroma_h, /*interleaved=*/false,
                            format.comp[0].depth, /*shift=*/0};
  return std::make_unique<YuvFrameLoader>(
      frames, stream, MakeOutputPlanes(plan, layout, /*luma_alone=*/format.nb_components == 1));
}

}  // namespace nvc
