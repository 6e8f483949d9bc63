// What the parser found a stream to be, and the frames that this makes of its pictures.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_STREAM_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_STREAM_H_

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/bitstream/sps.h"
#include "tf_nvcodec/nv/decode/nvdec_caps.h"
#include "tf_nvcodec/nv/decode/nvdec_session.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
}

namespace nvc {

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
