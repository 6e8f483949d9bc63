// For tests that encode with x265, under the leak sanitizer. Include it in one file of a test.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_X265_LEAKS_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_X265_LEAKS_H_

// x265 3.5 keeps a copy of its parameters for each encoder that it opens.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:libx265.so";
}

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_X265_LEAKS_H_
