// What NVDEC's parser says of a picture, and what of that must be put right.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_PICTURE_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_PICTURE_H_

#include "absl/status/status.h"
#include "tf_nvcodec/nv/cuda/driver.h"

namespace nvc {

constexpr int kNvdecMacroblock = 16;  // samples of its sides

// MPEG-1, MPEG-2 and MPEG-4: the parser gives the coded size as the sequence header has it, and
// leaves out a last column that is no whole macroblock.
bool IsCountedInMacroblocks(cudaVideoCodec codec);

// Puts that right.
void CountMacroblocks(int coded_width, int coded_height, CUVIDPICPARAMS* picture);

// Of a codec without fields the parser need not tell that a picture is progressive.
bool MayHaveFields(cudaVideoCodec codec);

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

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_PICTURE_H_
