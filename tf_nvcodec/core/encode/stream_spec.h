// Which stream a batch of frames becomes: encoder, pixel format, size and colour tags.
#ifndef TF_NVCODEC_CORE_ENCODE_STREAM_SPEC_H_
#define TF_NVCODEC_CORE_ENCODE_STREAM_SPEC_H_

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/encode/encode_options.h"
#include "tf_nvcodec/core/encode/frame_batch.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

struct StreamSpec {
  const AVCodec* encoder = nullptr;
  AVPixelFormat format = AV_PIX_FMT_NONE;          // of the stream
  AVPixelFormat encoder_format = AV_PIX_FMT_NONE;  // same samples, as the encoder is handed them
  int height = 0, width = 0;
  // How R'G'B' becomes this stream's Y'CbCr, or what the packed frames already are.
  ColorSpace color_space = ColorSpace::kBt601;
  ColorRange color_range = ColorRange::kLimited;
  // The tags that say so.
  AVColorSpace matrix = AVCOL_SPC_UNSPECIFIED;
  AVColorPrimaries primaries = AVCOL_PRI_UNSPECIFIED;
  AVColorTransferCharacteristic transfer = AVCOL_TRC_UNSPECIFIED;
  AVColorRange range = AVCOL_RANGE_UNSPECIFIED;
  AVChromaLocation chroma_location = AVCHROMA_LOC_UNSPECIFIED;
};

// Defaults: the input's chroma and depth where the codec has them, else yuv420p; FFV1 keeps the
// input's samples. BT.709 for a width of at least 1280 or a height above 576, else BT.601, as
// color.h guesses for streams without tags. InvalidArgument when codec or container can't take the
// size, the format or the colours, with what they would take.
absl::StatusOr<StreamSpec> ChooseStream(const FrameBatch& frames, const EncodeOptions& options);

// Has the frame say the stream's colours.
void SetTags(const StreamSpec& stream, AVFrame* frame);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_STREAM_SPEC_H_
