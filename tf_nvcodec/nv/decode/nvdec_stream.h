// Interprets what NVIDIA's parser reports about a stream: the format, size and colours of its
// frames, and the properties of each picture. Where the parser and FFmpeg differ, it follows
// FFmpeg.
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

// What the frames of a stream have in common, from one sequence header on.
struct NvdecStream {
  NvdecFormat coded;
  int min_surfaces = 0;                          // decode surfaces that the stream needs
  int left = 0, top = 0, width = 0, height = 0;  // the displayed part of the coded picture
  AVPixelFormat layout = AV_PIX_FMT_NONE;        // see GpuPicture
  AVPixelFormat stream_format = AV_PIX_FMT_NONE;
  AVColorSpace color_space = AVCOL_SPC_UNSPECIFIED;
  AVColorRange color_range = AVCOL_RANGE_UNSPECIFIED;
  AVColorPrimaries color_primaries = AVCOL_PRI_UNSPECIFIED;
  AVColorTransferCharacteristic color_trc = AVCOL_TRC_UNSPECIFIED;
  AVChromaLocation chroma_location = AVCHROMA_LOC_UNSPECIFIED;

  // `format` is what the parser reports. `codec` (from the container) and `window` (from
  // FindWindow) supply what the parser does not report. Returns Unimplemented if FFmpeg's decoders
  // output these pictures in a format that NVDEC's pictures can't be converted to.
  static absl::StatusOr<NvdecStream> Of(const CUVIDEOFORMAT& format, const AVCodecParameters& codec,
                                        const std::optional<PictureWindow>& window);
};

// Fills `frame` with a mapped picture. The last reference to the frame releases the surface.
absl::Status MakeFrame(const NvdecStream& stream, std::shared_ptr<NvdecSession> session,
                       NvdecSurface* surface, AVFrame* frame);

// Whether neither this picture nor a later one refers to a picture before it. In VP9 and AV1 a
// picture may be intra coded while later ones still refer to older pictures.
bool StartsAfresh(cudaVideoCodec codec, const CUVIDPICPARAMS& picture);

// Returns the surface in which later pictures find this one as a reference. For an AV1 picture with
// film grain this is another surface than the displayed one, without the grain.
int ReferenceIndex(cudaVideoCodec codec, const CUVIDPICPARAMS& picture);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_STREAM_H_
