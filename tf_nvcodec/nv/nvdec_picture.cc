#include "tf_nvcodec/nv/nvdec_picture.h"

namespace nvc {

bool CutsLastColumn(cudaVideoCodec codec) {
  return codec == cudaVideoCodec_MPEG1 || codec == cudaVideoCodec_MPEG2;
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

}  // namespace nvc
