// The index of a file in memory.
#ifndef TF_NVCODEC_TESTS_CORE_INDEX_INDEX_OF_H_
#define TF_NVCODEC_TESTS_CORE_INDEX_INDEX_OF_H_

#include <utility>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

inline FrameIndex IndexOf(absl::string_view bytes) {
  const MemorySource source(bytes);
  auto index = FrameIndex::Build(source, {}, nullptr);
  EXPECT_TRUE(index.ok()) << index.status();
  return std::move(index).value();
}

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_INDEX_INDEX_OF_H_
