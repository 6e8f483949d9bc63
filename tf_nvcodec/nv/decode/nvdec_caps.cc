#include "tf_nvcodec/nv/decode/nvdec_caps.h"

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/cuda/nvdec_codecs.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

const char* NameOf(cudaVideoChromaFormat chroma) {
  switch (chroma) {
    case cudaVideoChromaFormat_Monochrome:
      return "4:0:0";
    case cudaVideoChromaFormat_420:
      return "4:2:0";
    case cudaVideoChromaFormat_422:
      return "4:2:2";
    case cudaVideoChromaFormat_444:
      return "4:4:4";
  }
  return "unknown chroma";
}

std::string KindOf(cudaVideoChromaFormat chroma, int bit_depth) {
  return absl::StrCat(bit_depth, "-bit ", NameOf(chroma));
}

// Whether NVDEC can output pictures of this kind in the surface format that we use for them.
bool HasOutputFormat(const CUVIDDECODECAPS& caps, cudaVideoChromaFormat chroma, int bit_depth) {
  return (caps.nOutputFormatMask >> NvdecSurfaceFormat(chroma, bit_depth) & 1) != 0;
}

bool IsTaken(const CUVIDDECODECAPS& caps, cudaVideoChromaFormat chroma, int bit_depth) {
  return caps.bIsSupported != 0 && HasOutputFormat(caps, chroma, bit_depth);
}

// Returns the chroma formats and bit depths that the GPU decodes, for an error message.
absl::StatusOr<std::string> KindsTaken(GpuDevice* device, cudaVideoCodec codec) {
  std::vector<std::string> kinds;
  absl::Status failure;
  for (const auto chroma :
       {cudaVideoChromaFormat_Monochrome, cudaVideoChromaFormat_420, cudaVideoChromaFormat_444}) {
    for (const int bit_depth : {8, 10, 12}) {
      const auto caps = NvdecCaps(device, codec, chroma, bit_depth);
      // Drivers may return other errors for combinations that they don't know.
      if (!caps.ok()) failure = caps.status();
      if (caps.ok() && IsTaken(*caps, chroma, bit_depth)) {
        kinds.push_back(KindOf(chroma, bit_depth));
      }
    }
  }
  if (kinds.empty() && !failure.ok()) return failure;
  return absl::StrJoin(kinds, ", ");
}

// Checks all but the size. Fills `caps` if it returns OK.
absl::Status CheckKind(GpuDevice* device, const NvdecFormat& format, CUVIDDECODECAPS* caps) {
  const bool has_surface =
      format.chroma != cudaVideoChromaFormat_422 &&
      (format.bit_depth == 8 || format.bit_depth == 10 || format.bit_depth == 12);
  if (has_surface) {
    NVC_ASSIGN_OR_RETURN(*caps, NvdecCaps(device, format.codec, format.chroma, format.bit_depth));
    if (IsTaken(*caps, format.chroma, format.bit_depth)) return absl::OkStatus();
  }
  NVC_ASSIGN_OR_RETURN(const std::string kinds, KindsTaken(device, format.codec));
  const std::string codec = NvdecCodecName(format.codec);
  if (kinds.empty()) {
    return absl::UnimplementedError(
        absl::StrCat(device->name(), "'s NVDEC does not decode ", codec));
  }
  return absl::UnimplementedError(absl::StrCat(device->name(), "'s NVDEC does not decode ", codec,
                                               " in ", KindOf(format.chroma, format.bit_depth),
                                               ", only in ", kinds));
}

}  // namespace

absl::StatusOr<CUVIDDECODECAPS> NvdecCaps(GpuDevice* device, cudaVideoCodec codec,
                                          cudaVideoChromaFormat chroma, int bit_depth) {
  using Key = std::tuple<GpuDevice*, int, int, int>;
  static auto* const mutex = new std::mutex;
  static auto* const known = new std::map<Key, CUVIDDECODECAPS>;
  NVC_ASSIGN_OR_RETURN(const CuvidDriver* cuvid, device->cuvid());
  std::lock_guard<std::mutex> lock(*mutex);
  const Key key(device, codec, chroma, bit_depth);
  const auto found = known->find(key);
  if (found != known->end()) return found->second;
  const ScopedContext current(*device);
  NVC_RETURN_IF_ERROR(current.status());
  CUVIDDECODECAPS caps = {};
  caps.eCodecType = codec;
  caps.eChromaFormat = chroma;
  caps.nBitDepthMinus8 = static_cast<unsigned int>(bit_depth - 8);
  const CUresult result = cuvid->cuvidGetDecoderCaps(&caps);
  // Some drivers return these errors for formats that they don't know; others set bIsSupported to
  // 0.
  const bool unknown = result == static_cast<CUresult>(kCudaNotSupported) ||
                       result == static_cast<CUresult>(kCudaInvalidValue);
  if (unknown) {
    caps.bIsSupported = 0;
  } else {
    NVC_RETURN_IF_ERROR(device->Check(result, "cuvidGetDecoderCaps"));
  }
  return known->emplace(key, caps).first->second;
}

cudaVideoSurfaceFormat NvdecSurfaceFormat(cudaVideoChromaFormat chroma, int bit_depth) {
  if (chroma == cudaVideoChromaFormat_444) {
    return bit_depth > 8 ? cudaVideoSurfaceFormat_YUV444_16Bit : cudaVideoSurfaceFormat_YUV444;
  }
  return bit_depth > 8 ? cudaVideoSurfaceFormat_P016 : cudaVideoSurfaceFormat_NV12;
}

absl::Status CheckNvdecTakes(GpuDevice* device, const NvdecFormat& format) {
  CUVIDDECODECAPS caps = {};
  NVC_RETURN_IF_ERROR(CheckKind(device, format, &caps));
  const auto width = static_cast<unsigned int>(format.width);
  const auto height = static_cast<unsigned int>(format.height);
  const std::string of =
      absl::StrCat(device->name(), "'s NVDEC decodes ", NvdecCodecName(format.codec), " in ",
                   KindOf(format.chroma, format.bit_depth), " of ");
  if (width < caps.nMinWidth || height < caps.nMinHeight || width > caps.nMaxWidth ||
      height > caps.nMaxHeight) {
    return absl::UnimplementedError(absl::StrCat(of, caps.nMinWidth, "x", caps.nMinHeight, " to ",
                                                 caps.nMaxWidth, "x", caps.nMaxHeight, ", not ",
                                                 width, "x", height));
  }
  if ((width >> 4) * (height >> 4) > caps.nMaxMBCount) {
    return absl::UnimplementedError(
        absl::StrCat(of, "at most ", caps.nMaxMBCount, " macroblocks, not ", width, "x", height));
  }
  return absl::OkStatus();
}

absl::Status CheckNvdecTakes(GpuDevice* device, const AVCodecParameters& codec) {
  NvdecFormat format;
  NVC_ASSIGN_OR_RETURN(format.codec, NvdecCodec(codec.codec_id));
  const AVPixFmtDescriptor* descriptor =
      av_pix_fmt_desc_get(static_cast<AVPixelFormat>(codec.format));
  if (descriptor == nullptr) {
    NVC_RETURN_IF_ERROR(device->cuvid().status());
    NVC_ASSIGN_OR_RETURN(const std::string kinds, KindsTaken(device, format.codec));
    if (!kinds.empty()) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat(device->name(), "'s NVDEC does not decode ", NvdecCodecName(format.codec)));
  }
  const bool rgb = (descriptor->flags & AV_PIX_FMT_FLAG_RGB) != 0;
  const bool alpha = (descriptor->flags & AV_PIX_FMT_FLAG_ALPHA) != 0;
  const int width_shift = descriptor->log2_chroma_w, height_shift = descriptor->log2_chroma_h;
  if (rgb || alpha || (descriptor->nb_components != 1 && descriptor->nb_components != 3) ||
      width_shift > 1 || height_shift > width_shift) {
    return absl::UnimplementedError(
        absl::StrCat("NVDEC does not give pictures in ", descriptor->name));
  }
  if (descriptor->nb_components == 1) {
    format.chroma = cudaVideoChromaFormat_Monochrome;
  } else if (width_shift == 0) {
    format.chroma = cudaVideoChromaFormat_444;
  } else {
    format.chroma = height_shift == 1 ? cudaVideoChromaFormat_420 : cudaVideoChromaFormat_422;
  }
  format.bit_depth = descriptor->comp[0].depth;
  if (codec.width <= 0 || codec.height <= 0) {
    CUVIDDECODECAPS caps = {};
    return CheckKind(device, format, &caps);
  }
  format.width = codec.width;
  format.height = codec.height;
  return CheckNvdecTakes(device, format);
}

}  // namespace nvc
