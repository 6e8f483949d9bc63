#include "tf_nvcodec/nv/decode/nvdec_picture.h"

#include <algorithm>

namespace nvc {
namespace {

absl::Status CheckMpeg4Picture(const CUVIDMPEG4PICPARAMS& mpeg4) {
  constexpr int kPredicted = 1;  // vop_coding_type: 0 intra, 2 bidirectional, 3 sprite
  const bool simple = mpeg4.vop_coding_type <= kPredicted && mpeg4.interlaced == 0 &&
                      mpeg4.quarter_sample == 0 && mpeg4.gmc_enabled == 0;
  if (simple) return absl::OkStatus();
  return absl::UnimplementedError(
      "NVDEC is not used for MPEG-4 with B pictures, fields, quarter samples or global motion, and "
      "this Simple object has some");
}

}  // namespace

bool IsCountedInMacroblocks(cudaVideoCodec codec) {
  return codec == cudaVideoCodec_MPEG1 || codec == cudaVideoCodec_MPEG2 ||
         codec == cudaVideoCodec_MPEG4;
}

void CountMacroblocks(int coded_width, int coded_height, CUVIDPICPARAMS* picture) {
  const auto count = [](int size) { return (size + kNvdecMacroblock - 1) / kNvdecMacroblock; };
  picture->PicWidthInMbs = count(coded_width);
  picture->FrameHeightInMbs = std::max(picture->FrameHeightInMbs, count(coded_height));
}

bool MayHaveFields(cudaVideoCodec codec) {
  return codec == cudaVideoCodec_H264 || codec == cudaVideoCodec_HEVC ||
         codec == cudaVideoCodec_MPEG2;
}

bool IsCodedInterlaced(cudaVideoCodec codec, const CUVIDPICPARAMS& picture) {
  if (picture.field_pic_flag) return true;
  return codec == cudaVideoCodec_H264 && picture.CodecSpecific.h264.MbaffFrameFlag != 0;
}

int FirstField(cudaVideoCodec codec, const CUVIDPICPARAMS& picture) {
  if (codec != cudaVideoCodec_H264) return -1;
  if (picture.field_pic_flag) return picture.bottom_field_flag;
  const int* const counts = picture.CodecSpecific.h264.CurrFieldOrderCnt;
  return counts[0] == counts[1] ? -1 : counts[1] < counts[0];
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

absl::Status CheckPicture(cudaVideoCodec codec, const CUVIDPICPARAMS& picture) {
  if (codec == cudaVideoCodec_MPEG4) return CheckMpeg4Picture(picture.CodecSpecific.mpeg4);
  return absl::OkStatus();
}

}  // namespace nvc
