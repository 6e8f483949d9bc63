// Compares FrameConverter with the float64 reference.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_CONVERT_CHECKS_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_CONVERT_CHECKS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"

namespace nvc {

// Converts and compares every sample: integers must be within 1, floats within the rounding of
// their type. Gives the share of integer samples that are not the reference's own rounding.
double ExpectMatches(const OutputSpec& output, const SourceSpec& source, const AVFrame& frame);

// The same for a converter that was made for them in another way.
double ExpectMatches(absl::StatusOr<std::unique_ptr<FrameConverter>> converter,
                     const OutputSpec& output, const SourceSpec& source, const AVFrame& frame);

// The same for a frame of random samples, with `padding` bytes between its rows.
double ExpectMatches(const OutputSpec& output, AVPixelFormat format, int width, int height,
                     int rotation = 0, int padding = 0);

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_CONVERT_CHECKS_H_
