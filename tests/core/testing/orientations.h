// The eight orientations, for tests that try them all.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_ORIENTATIONS_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_ORIENTATIONS_H_

#include <array>

#include "tf_nvcodec/core/format/orientation.h"

namespace nvc {

constexpr std::array<Orientation, 8> kOrientations = {{{false, false, false},
                                                       {true, false, true},
                                                       {false, true, true},
                                                       {true, true, false},
                                                       {false, true, false},
                                                       {true, true, true},
                                                       {false, false, true},
                                                       {true, false, false}}};
constexpr Orientation kTurned90 = kOrientations[1];

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_ORIENTATIONS_H_
