// What a test can ask of fake_nvenc.cc, by dlsym.
#ifndef TF_NVCODEC_TESTS_NV_TESTING_FAKE_NVENC_H_
#define TF_NVCODEC_TESTS_NV_TESTING_FAKE_NVENC_H_

extern "C" {

struct FakeNvenc {
  int opened;       // sessions ever
  int living;       // sessions, surfaces and buffers that nobody gave back
  int pictures;     // ever
  int surfaces;     // that were registered at the same time, at most
  int forced_keys;  // pictures that had to be key frames
  // The picture that fails, counted over all sessions, and how.
  int fail_at, fail_with;
};
using FakeNvencState = FakeNvenc*();  // nvc_fake_nvenc
}

#endif  // TF_NVCODEC_TESTS_NV_TESTING_FAKE_NVENC_H_
