// What NVDEC's parser says of a picture, and what of that must be put right.
#ifndef TF_NVCODEC_NV_NVDEC_PICTURE_H_
#define TF_NVCODEC_NV_NVDEC_PICTURE_H_

#include "tf_nvcodec/nv/driver.h"

namespace nvc {

constexpr int kNvdecMacroblock = 16;  // samples of its sides

// The parser counts whole macroblocks of MPEG-1's and MPEG-2's widths only, and gives the coded
// width as the sequence header has it.
bool CutsLastColumn(cudaVideoCodec codec);

// As FFmpeg's decoder takes H.264 where no message of the stream tells. (The parser's flag is not
// set for all such pictures.)
bool IsCodedInterlaced(cudaVideoCodec codec, const CUVIDPICPARAMS& picture);

// 0: the top one, 1: the bottom one, -1: the parser is to tell. As FFmpeg's decoder takes H.264: by
// the fields' order counts, where they differ.
int FirstField(cudaVideoCodec codec, const CUVIDPICPARAMS& picture);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_NVDEC_PICTURE_H_
