// Compares FrameConverter with the float64 reference.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_CONVERT_CHECKS_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_CONVERT_CHECKS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"

namespace nvc {

// Converts a frame and compares every sample with the reference. Integers must be within 1, floats
// within the rounding of their type. Returns the share of integer samples that differ from the
// rounded reference.
double ExpectMatches(const OutputSpec& output, const SourceSpec& source, const AVFrame& frame);

// Does the same with the given converter, such as a GPU's.
double ExpectMatches(absl::StatusOr<std::unique_ptr<FrameConverter>> converter,
                     const OutputSpec& output, const SourceSpec& source, const AVFrame& frame);

// Does the same with a frame of random samples that has `padding` bytes between its rows.
double ExpectMatches(const OutputSpec& output, AVPixelFormat format, int width, int height,
                     Orientation orientation = {}, int padding = 0);

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_CONVERT_CHECKS_H_
