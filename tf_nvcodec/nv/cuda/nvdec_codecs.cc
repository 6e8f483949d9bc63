#include "tf_nvcodec/nv/cuda/nvdec_codecs.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tf_nvcodec/core/base/status.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {
namespace {

struct Codec {
  AVCodecID id;
  cudaVideoCodec codec;
  const char* why_not_unasked = nullptr;  // of its pictures
  const char* why_never = nullptr;
};

constexpr Codec kCodecs[] = {
    {AV_CODEC_ID_H264, cudaVideoCodec_H264},
    {AV_CODEC_ID_HEVC, cudaVideoCodec_HEVC},
    {AV_CODEC_ID_AV1, cudaVideoCodec_AV1},
    {AV_CODEC_ID_VP9, cudaVideoCodec_VP9},
    {AV_CODEC_ID_VP8, cudaVideoCodec_VP8},
    {AV_CODEC_ID_MPEG1VIDEO, cudaVideoCodec_MPEG1},
    {AV_CODEC_ID_MPEG2VIDEO, cudaVideoCodec_MPEG2},
    {AV_CODEC_ID_MPEG4, cudaVideoCodec_MPEG4, "are wrong where it has B pictures"},
    // No encoder makes streams to compare NVDEC with FFmpeg by.
    {AV_CODEC_ID_VC1, cudaVideoCodec_VC1, nullptr,
     "its pictures differ from FFmpeg's where a stream has slices, fast chroma vectors or a height "
     "that is no multiple of 4"},
    {AV_CODEC_ID_MJPEG, cudaVideoCodec_JPEG},
};

const Codec* Find(AVCodecID id) {
  for (const Codec& entry : kCodecs) {
    if (entry.id == id) return &entry;
  }
  return nullptr;
}

}  // namespace

std::vector<cudaVideoCodec> NvdecCodecs() {
  std::vector<cudaVideoCodec> codecs;
  for (const Codec& entry : kCodecs) {
    if (entry.why_never == nullptr) codecs.push_back(entry.codec);
  }
  return codecs;
}

absl::StatusOr<cudaVideoCodec> NvdecCodec(AVCodecID codec) {
  const Codec* const found = Find(codec);
  if (found != nullptr && found->why_never == nullptr) return found->codec;
  if (found != nullptr) {
    return absl::UnimplementedError(absl::StrCat("NVDEC is not used for codec '",
                                                 avcodec_get_name(codec), "': ", found->why_never));
  }
  const auto append_name = [](std::string* out, cudaVideoCodec used) {
    out->append(NvdecCodecName(used));
  };
  return absl::UnimplementedError(absl::StrCat("NVDEC is not used for codec '",
                                               avcodec_get_name(codec), "', only for ",
                                               absl::StrJoin(NvdecCodecs(), ", ", append_name)));
}

AVCodecID CodecOfNvdecNumber(int number) {
  for (const Codec& entry : kCodecs) {
    if (entry.codec == number) return entry.id;
  }
  return AV_CODEC_ID_NONE;
}

int NvdecNumberOf(AVCodecID codec) {
  const Codec* const found = Find(codec);
  return found != nullptr ? found->codec : -1;
}

absl::Status CheckTakenUnasked(AVCodecID codec) {
  NVC_RETURN_IF_ERROR(NvdecCodec(codec).status());
  const char* const why_not = Find(codec)->why_not_unasked;
  if (why_not == nullptr) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("NVDEC's pictures of ", avcodec_get_name(codec), " ",
                                               why_not, "; backend=\"nvdec\" takes the GPU's"));
}

const char* NvdecCodecName(cudaVideoCodec codec) {
  return avcodec_get_name(CodecOfNvdecNumber(codec));
}

}  // namespace nvc
