// A float64 reference for FrameConverter. It follows the rules in frame_converter.h, works out one
// output sample at a time, and shares no code with the converter.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_CONVERT_REFERENCE_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_CONVERT_REFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tf_nvcodec/core/convert/frame_converter.h"

namespace nvc {

// A frame of random samples with `padding` bytes between its rows. Its planes are heap blocks of
// exactly the needed size, so that AddressSanitizer sees any access outside them.
class TestFrame {
 public:
  TestFrame(AVPixelFormat format, int width, int height, uint32_t seed, int padding = 0);
  TestFrame(const TestFrame&) = delete;
  ~TestFrame();

  const AVFrame& frame() const { return frame_; }
  AVFrame& frame() { return frame_; }

 private:
  AVFrame frame_;
  std::vector<std::vector<uint8_t>> planes_;
};

// Returns every sample of the output before rounding, in the output's order (packed formats: plane
// after plane). Samples are 0..255 for uint8, 0..65535 for uint16, the value itself for floats, and
// code values 0..1023 for p010.
std::vector<double> ReferenceConvert(const OutputSpec& output, const SourceSpec& source,
                                     const AVFrame& frame);

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_CONVERT_REFERENCE_H_
