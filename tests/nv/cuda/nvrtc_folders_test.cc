#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tf_nvcodec/nv/cuda/nvrtc.h"

namespace nvc {
namespace {

// Whoever asks first: the library is looked for once.
TEST(NvrtcFoldersTest, TheVariableNamesFolders) {
  ASSERT_EQ(setenv("TF_NVCODEC_NVRTC_FOLDERS", "no/such/folder::tests/nv/testing", 1), 0);
  const auto nvrtc = Nvrtc::Get();
  ASSERT_TRUE(nvrtc.ok()) << nvrtc.status();
  EXPECT_EQ((*nvrtc)->library(), "tests/nv/testing/libnvrtc.so.12");
}

}  // namespace
}  // namespace nvc
