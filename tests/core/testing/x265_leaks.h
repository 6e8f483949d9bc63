// Hides x265's leaks from the leak sanitizer. Include this header in one file of a test binary that
// encodes with x265.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_X265_LEAKS_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_X265_LEAKS_H_

// x265 3.5 never frees its copy of the parameters of each encoder that it opens.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:libx265.so";
}

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_X265_LEAKS_H_
