// Follows a stream through NVIDIA's parser: its sequences, and what the parser says of each
// picture, corrected where NVDEC needs it.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_STREAM_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_STREAM_H_

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/bitstream/sps.h"
#include "tf_nvcodec/nv/cuda/driver.h"
#include "tf_nvcodec/nv/decode/nvdec_caps.h"
#include "tf_nvcodec/nv/decode/nvdec_session.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
}

namespace nvc {

constexpr int kNvdecMacroblock = 16;  // samples of its sides

// Puts the size right where the parser drops partial macroblocks (see NvdecDecoding).
void CountMacroblocks(int coded_width, int coded_height, CUVIDPICPARAMS* picture);

// As FFmpeg's decoder takes H.264 where no message of the stream tells. (The parser's flag is not
// set for all such pictures.)
bool IsCodedInterlaced(cudaVideoCodec codec, const CUVIDPICPARAMS& picture);

// 0: the top one, 1: the bottom one, -1: the parser is to tell. As FFmpeg's decoder takes H.264: by
// the fields' order counts, where they differ.
int FirstField(cudaVideoCodec codec, const CUVIDPICPARAMS& picture);

// Whether neither it nor a later one refers to a picture before it: VP9 and AV1 may code one by
// itself and still keep older ones.
bool StartsAfresh(cudaVideoCodec codec, const CUVIDPICPARAMS& picture);

// Where later pictures find it: AV1 keeps it there without the film grain that it is shown with.
int ReferenceIndex(cudaVideoCodec codec, const CUVIDPICPARAMS& picture);

// Unimplemented for what an MPEG-4 stream that calls itself a Simple one must not have (see
// CheckMpeg4Object).
absl::Status CheckPicture(cudaVideoCodec codec, const CUVIDPICPARAMS& picture);

struct NvdecStream {
  NvdecFormat coded;
  int min_surfaces = 0;
  int left = 0, top = 0, width = 0, height = 0;  // displayed, of the coded picture
  AVPixelFormat layout = AV_PIX_FMT_NONE;        // see GpuPicture
  AVPixelFormat stream_format = AV_PIX_FMT_NONE;
  AVColorSpace color_space = AVCOL_SPC_UNSPECIFIED;
  AVColorRange color_range = AVCOL_RANGE_UNSPECIFIED;
  AVColorPrimaries color_primaries = AVCOL_PRI_UNSPECIFIED;
  AVColorTransferCharacteristic color_trc = AVCOL_TRC_UNSPECIFIED;
  AVChromaLocation chroma_location = AVCHROMA_LOC_UNSPECIFIED;

  // `codec`: as the container describes it, and `window`: as FindWindow does, for what the parser
  // does not tell. Unimplemented for pictures that FFmpeg's decoders give in a format that can't
  // be had from NVDEC's.
  static absl::StatusOr<NvdecStream> Of(const CUVIDEOFORMAT& format, const AVCodecParameters& codec,
                                        const std::optional<PictureWindow>& window);
};

// Makes `frame` the owner of a mapped picture: the last reference releases the surface.
absl::Status MakeFrame(const NvdecStream& stream, std::shared_ptr<NvdecSession> session,
                       NvdecSurface* surface, AVFrame* frame);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_STREAM_H_
