// Chooses the stream that a batch of frames becomes: encoder, pixel format, size and colour tags.
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
  AVPixelFormat encoder_format = AV_PIX_FMT_NONE;  // layout of the same samples for the encoder
  int height = 0, width = 0;
  // The matrix and range that turn R'G'B' into this stream's Y'CbCr, or those of the packed frames.
  ColorSpace color_space = ColorSpace::kBt601;
  ColorRange color_range = ColorRange::kLimited;
  // The tags for them.
  AVColorSpace matrix = AVCOL_SPC_UNSPECIFIED;
  AVColorPrimaries primaries = AVCOL_PRI_UNSPECIFIED;
  AVColorTransferCharacteristic transfer = AVCOL_TRC_UNSPECIFIED;
  AVColorRange range = AVCOL_RANGE_UNSPECIFIED;
  AVChromaLocation chroma_location = AVCHROMA_LOC_UNSPECIFIED;
};

// Chooses the stream. By default it keeps the input's chroma and depth if the codec supports them,
// and takes yuv420p otherwise; FFV1 keeps the input's samples. The matrix is BT.709 if the width is
// at least 1280 or the height above 576, else BT.601, as color.h guesses for streams without tags.
// Returns InvalidArgument, which names the possible values, if codec or container does not support
// the size, the format or the colours.
absl::StatusOr<StreamSpec> ChooseStream(const FrameBatch& frames, const EncodeOptions& options);

// Copies the stream's colour tags to a frame.
void SetTags(const StreamSpec& stream, AVFrame* frame);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_STREAM_SPEC_H_
