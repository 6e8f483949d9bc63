// VC-1's picture headers of the Advanced profile (SMPTE 421M), as far as NVDEC has to be kept from
// some pictures.
#ifndef TF_NVCODEC_NV_VC1_PICTURE_H_
#define TF_NVCODEC_NV_VC1_PICTURE_H_

#include <cstddef>
#include <cstdint>

namespace nvc {

// What the headers before a progressive picture say of its own.
struct Vc1PictureSyntax {
  bool pulldown = false;          // RPTFRM is there
  bool frame_counter = false;     // TFCNTR
  bool interpolation = false;     // INTERPFRM
  bool post_filter = false;       // POSTPROC
  bool extended_vectors = false;  // MVRANGE
  bool overlap = false;
  int quantizer = 0;  // QUANTIZER
};

// Whether bitplanes of the first picture in `data` are coded in its header, and not raw, bit by bit
// in its macroblocks. Of a picture in several slices an H200's NVDEC then makes another one than
// FFmpeg's decoder, from the second slice on.
bool HasCodedVc1Bitplanes(const uint8_t* data, size_t size, const Vc1PictureSyntax& syntax);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_VC1_PICTURE_H_
