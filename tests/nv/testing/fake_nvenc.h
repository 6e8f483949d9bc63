// The state of fake_nvenc.cc, which a test reads and sets after finding it by dlsym.
#ifndef TF_NVCODEC_TESTS_NV_TESTING_FAKE_NVENC_H_
#define TF_NVCODEC_TESTS_NV_TESTING_FAKE_NVENC_H_

extern "C" {

struct FakeNvenc {
  int opened;       // sessions opened in total
  int living;       // sessions, surfaces and buffers that are not freed
  int pictures;     // pictures received in total
  int surfaces;     // the most surfaces that were registered at the same time
  int forced_keys;  // pictures that had to be key frames
  // The number of the picture that fails, counted over all sessions, and its NVENCSTATUS.
  int fail_at, fail_with;
};
using FakeNvencState = FakeNvenc*();  // the type of nvc_fake_nvenc
}

#endif  // TF_NVCODEC_TESTS_NV_TESTING_FAKE_NVENC_H_
