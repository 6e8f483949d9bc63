#include "tf_nvcodec/nv/decode/nvdec_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/core/format/codec_table.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"

extern "C" {
#include <libavutil/error.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

AVPixelFormat Choose(int bit_depth, AVPixelFormat for8, AVPixelFormat for10, AVPixelFormat for12) {
  return bit_depth == 8 ? for8 : bit_depth == 10 ? for10 : for12;
}

// Returns the format of the software decoder's frames.
AVPixelFormat StreamFormat(const NvdecFormat& coded, const AVPixFmtDescriptor* described) {
  // NVDEC decodes all gray streams to 4:2:0 with constant chroma. FFmpeg's decoders do so for some
  // codecs, and `described` has their format.
  const bool gray = coded.chroma == cudaVideoChromaFormat_Monochrome &&
                    (described == nullptr || described->nb_components == 1);
  if (gray) {
    return Choose(coded.bit_depth, AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY10LE, AV_PIX_FMT_GRAY12LE);
  }
  if (coded.chroma == cudaVideoChromaFormat_444) {
    return Choose(coded.bit_depth, AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV444P10LE,
                  AV_PIX_FMT_YUV444P12LE);
  }
  return Choose(coded.bit_depth, AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10LE,
                AV_PIX_FMT_YUV420P12LE);
}

// Returns the layout of NVDEC's surfaces.
AVPixelFormat Layout(const NvdecFormat& coded) {
  switch (NvdecSurfaceFormat(coded.chroma, coded.bit_depth)) {
    case cudaVideoSurfaceFormat_NV12:
      return AV_PIX_FMT_NV12;
    case cudaVideoSurfaceFormat_P016:
      return AV_PIX_FMT_P016LE;
    case cudaVideoSurfaceFormat_YUV444:
      return AV_PIX_FMT_YUV444P;
    case cudaVideoSurfaceFormat_YUV444_16Bit:
      return AV_PIX_FMT_YUV444P16LE;
  }
  return AV_PIX_FMT_NONE;
}

// Rounds the cropping at the left down as FFmpeg does, so that both backends give equal frames.
// Up to 6.1, FFmpeg crops only as much as keeps its planes aligned, and shows the rest.
int CropAsFfmpeg(int left, AVPixelFormat stream_format) {
  if (kCropsExactly) return left;
  constexpr int kAlignment = 32;  // bytes, for every plane
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(stream_format);
  const int bytes = descriptor->comp[0].step;
  const int shift = descriptor->nb_components == 1 ? 0 : descriptor->log2_chroma_w;
  const int step = kAlignment / bytes << shift;
  return left / step * step;
}

// Sets the colour properties. `codec` has what the software decoder reports if FFmpeg looked into
// the stream. The stream's own headers, which the parser reports, have priority.
void SetColor(const CUVIDEOFORMAT& format, const AVCodecParameters& codec, NvdecStream* stream) {
  stream->color_space = codec.color_space;
  stream->color_range = codec.color_range;
  stream->color_primaries = codec.color_primaries;
  stream->color_trc = codec.color_trc;
  stream->chroma_location = codec.chroma_location;
  if (FactsOfNvdec(format.codec).nvdec.tells_color) {
    const auto& description = format.video_signal_description;
    // 2 means unspecified. 0 is reserved; as a matrix it means RGB, which NvdecStream::Of rejects.
    const auto is_told = [](unsigned char value) { return value != 0 && value != 2; };
    if (is_told(description.matrix_coefficients)) {
      stream->color_space = static_cast<AVColorSpace>(description.matrix_coefficients);
    }
    if (is_told(description.color_primaries)) {
      stream->color_primaries = static_cast<AVColorPrimaries>(description.color_primaries);
    }
    if (is_told(description.transfer_characteristics)) {
      stream->color_trc =
          static_cast<AVColorTransferCharacteristic>(description.transfer_characteristics);
    }
    if (description.video_full_range_flag) stream->color_range = AVCOL_RANGE_JPEG;
  }
}

// Returns the display area that the parser reports.
absl::StatusOr<PictureWindow> WindowOf(const CUVIDEOFORMAT& format) {
  const auto& area = format.display_area;
  PictureWindow window;
  window.coded_width = static_cast<int>(format.coded_width);
  window.coded_height = static_cast<int>(format.coded_height);
  const bool inside = area.left >= 0 && area.top >= 0 && area.right > area.left &&
                      area.bottom > area.top && area.right <= window.coded_width &&
                      area.bottom <= window.coded_height;
  if (!inside) {
    return absl::DataLossError(absl::StrCat(
        "the displayed area, ", area.left, ",", area.top, " to ", area.right, ",", area.bottom,
        ", is not within the ", window.coded_width, "x", window.coded_height, " picture"));
  }
  window.left = area.left;
  window.top = area.top;
  window.width = area.right - area.left;
  window.height = area.bottom - area.top;
  return window;
}

// Whether the window is inside the coded picture, which the parser may have rounded by one sample.
// Otherwise the window belongs to another sequence.
bool Fits(const PictureWindow& window, const CUVIDEOFORMAT& format) {
  return window.left + window.width <= static_cast<int>(format.coded_width) + 1 &&
         window.top + window.height <= static_cast<int>(format.coded_height) + 1;
}

// Keeps the surface of a frame. The frame's buffer owns it.
struct HeldPicture {
  GpuPicture picture;
  std::shared_ptr<NvdecSession> session;
  NvdecSurface* surface;
};

void ReleasePicture(void* opaque, uint8_t*) {
  auto* const held = static_cast<HeldPicture*>(opaque);
  held->session->Release(held->surface);
  delete held;
}

}  // namespace

absl::StatusOr<NvdecStream> NvdecStream::Of(const CUVIDEOFORMAT& format,
                                            const AVCodecParameters& codec,
                                            const std::optional<PictureWindow>& window) {
  NvdecStream stream;
  stream.coded.codec = format.codec;
  stream.coded.chroma = format.chroma_format;
  stream.coded.bit_depth = format.bit_depth_luma_minus8 + 8;
  stream.coded.width = static_cast<int>(format.coded_width);
  stream.coded.height = static_cast<int>(format.coded_height);
  stream.min_surfaces = std::max<int>(format.min_num_decode_surfaces, 1);
  if (format.chroma_format != cudaVideoChromaFormat_Monochrome &&
      format.bit_depth_chroma_minus8 != format.bit_depth_luma_minus8) {
    return absl::UnimplementedError(
        absl::StrCat("NVDEC does not give pictures of ", stream.coded.bit_depth, "-bit luma and ",
                     format.bit_depth_chroma_minus8 + 8, "-bit chroma"));
  }
  const AVPixFmtDescriptor* described =
      av_pix_fmt_desc_get(static_cast<AVPixelFormat>(codec.format));
  const bool rgb = format.chroma_format == cudaVideoChromaFormat_444 &&
                   FactsOfNvdec(format.codec).nvdec.tells_color &&
                   format.video_signal_description.matrix_coefficients == AVCOL_SPC_RGB;
  if (rgb || (described != nullptr && (described->flags & AV_PIX_FMT_FLAG_RGB) != 0)) {
    return absl::UnimplementedError("NVDEC does not give RGB pictures");
  }
  PictureWindow shown;
  if (window.has_value() && Fits(*window, format)) {
    shown = *window;
  } else {
    NVC_ASSIGN_OR_RETURN(shown, WindowOf(format));
  }
  // Surfaces must also hold the last column and row of an odd size.
  stream.coded.width = std::max(stream.coded.width, shown.left + shown.width);
  stream.coded.height = std::max(stream.coded.height, shown.top + shown.height);
  stream.layout = Layout(stream.coded);
  stream.stream_format = StreamFormat(stream.coded, described);
  stream.left = CropAsFfmpeg(shown.left, stream.stream_format);
  stream.top = shown.top;
  stream.width = shown.left + shown.width - stream.left;
  stream.height = shown.height;
  SetColor(format, codec, &stream);
  if (shown.chroma_location != AVCHROMA_LOC_UNSPECIFIED) {
    stream.chroma_location = shown.chroma_location;
  }
  return stream;
}

absl::Status MakeFrame(const NvdecStream& stream, std::shared_ptr<NvdecSession> session,
                       NvdecSurface* surface, AVFrame* frame) {
  auto* const held = new HeldPicture;
  held->surface = surface;
  held->session = std::move(session);
  GpuPicture& picture = held->picture;
  picture.device = held->session->device();
  picture.pitch = surface->pitch();
  picture.layout = stream.layout;
  picture.stream_format = stream.stream_format;
  picture.ready = surface->ready();
  picture.owner = surface;
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(stream.layout);
  const int planes = av_pix_fmt_count_planes(stream.layout);
  const size_t pitch = picture.pitch;
  const size_t plane_rows = static_cast<size_t>(surface->rows());
  for (int i = 0; i < planes; ++i) {
    // Only the interleaved chroma of semi-planar pictures is smaller, and it comes last.
    const bool chroma = i > 0;
    const int x = chroma ? stream.left >> descriptor->log2_chroma_w : stream.left;
    const int y = chroma ? stream.top >> descriptor->log2_chroma_h : stream.top;
    const size_t offset = static_cast<size_t>(y) * pitch +
                          static_cast<size_t>(x) * descriptor->comp[chroma ? 1 : 0].step;
    picture.planes[i] = surface->memory() + pitch * plane_rows * static_cast<size_t>(i) + offset;
  }

  frame->buf[0] = av_buffer_create(reinterpret_cast<uint8_t*>(&held->picture), sizeof(GpuPicture),
                                   ReleasePicture, held, AV_BUFFER_FLAG_READONLY);
  if (frame->buf[0] == nullptr) {
    ReleasePicture(held, nullptr);
    return absl::ResourceExhaustedError("out of memory making a frame");
  }
  for (int i = 0; i < planes; ++i) {
    frame->data[i] = reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(picture.planes[i]));
    frame->linesize[i] = static_cast<int>(pitch);
  }
  frame->opaque = &held->picture;
  frame->format = AV_PIX_FMT_CUDA;
  frame->width = stream.width;
  frame->height = stream.height;
  frame->colorspace = stream.color_space;
  frame->color_range = stream.color_range;
  frame->color_primaries = stream.color_primaries;
  frame->color_trc = stream.color_trc;
  frame->chroma_location = stream.chroma_location;
  if (surface->is_broken()) frame->decode_error_flags |= FF_DECODE_ERROR_INVALID_BITSTREAM;
  if (surface->is_concealed()) frame->decode_error_flags |= FF_DECODE_ERROR_CONCEALMENT_ACTIVE;
  if (surface->is_broken() || surface->is_concealed()) frame->flags |= AV_FRAME_FLAG_CORRUPT;
  return absl::OkStatus();
}

bool StartsAfresh(cudaVideoCodec codec, const CUVIDPICPARAMS& picture) {
  if (!picture.intra_pic_flag) return false;
  const auto& specific = picture.CodecSpecific;
  if (codec == cudaVideoCodec_VP9) return specific.vp9.intraOnly == 0;
  if (codec == cudaVideoCodec_AV1) {
    return specific.av1.frame_type == 0 && specific.av1.show_frame != 0;
  }
  return true;
}

int ReferenceIndex(cudaVideoCodec codec, const CUVIDPICPARAMS& picture) {
  const bool grained = codec == cudaVideoCodec_AV1 && picture.CodecSpecific.av1.apply_grain != 0;
  return grained ? picture.CodecSpecific.av1.decodePicIdx : picture.CurrPicIdx;
}

}  // namespace nvc
