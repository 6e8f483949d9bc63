#include "tf_nvcodec/nv/cuda/nvdec_codecs.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tf_nvcodec/core/format/codec_table.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

// codec_table.h writes NVIDIA's numbers without NVIDIA's headers, so that they are checked here.
static_assert(FactsOf(AV_CODEC_ID_MPEG1VIDEO).nvdec.id == cudaVideoCodec_MPEG1);
static_assert(FactsOf(AV_CODEC_ID_MPEG2VIDEO).nvdec.id == cudaVideoCodec_MPEG2);
static_assert(FactsOf(AV_CODEC_ID_MPEG4).nvdec.id == cudaVideoCodec_MPEG4);
static_assert(FactsOf(AV_CODEC_ID_VC1).nvdec.id == cudaVideoCodec_VC1);
static_assert(FactsOf(AV_CODEC_ID_H264).nvdec.id == cudaVideoCodec_H264);
static_assert(FactsOf(AV_CODEC_ID_MJPEG).nvdec.id == cudaVideoCodec_JPEG);
static_assert(FactsOf(AV_CODEC_ID_HEVC).nvdec.id == cudaVideoCodec_HEVC);
static_assert(FactsOf(AV_CODEC_ID_VP8).nvdec.id == cudaVideoCodec_VP8);
static_assert(FactsOf(AV_CODEC_ID_VP9).nvdec.id == cudaVideoCodec_VP9);
static_assert(FactsOf(AV_CODEC_ID_AV1).nvdec.id == cudaVideoCodec_AV1);

std::vector<cudaVideoCodec> NvdecCodecs() {
  std::vector<cudaVideoCodec> codecs;
  for (const CodecFacts& row : kCodecTable) {
    if (row.nvdec.is_used) codecs.push_back(static_cast<cudaVideoCodec>(row.nvdec.id));
  }
  return codecs;
}

absl::StatusOr<cudaVideoCodec> NvdecCodec(AVCodecID codec) {
  const NvdecDecoding& facts = FactsOf(codec).nvdec;
  if (facts.is_used) return static_cast<cudaVideoCodec>(facts.id);
  const auto append_name = [](std::string* out, cudaVideoCodec used) {
    out->append(NvdecCodecName(used));
  };
  return absl::UnimplementedError(absl::StrCat("NVDEC is not used for codec '",
                                               avcodec_get_name(codec), "', only for ",
                                               absl::StrJoin(NvdecCodecs(), ", ", append_name)));
}

const char* NvdecCodecName(cudaVideoCodec codec) { return FactsOfNvdec(codec).name; }

}  // namespace nvc
