#include "tf_nvcodec/core/base/byte_source.h"

#include <string>

#include "gtest/gtest.h"

namespace nvc {
namespace {

std::string Read(const ByteSource& source, int64_t offset, size_t count) {
  std::string out(count, '?');
  out.resize(source.ReadAt(offset, &out[0], count).value());
  return out;
}

TEST(MemorySourceTest, ReadsUpToTheEnd) {
  const MemorySource source("abcdef");
  EXPECT_EQ(source.Size(), 6);
  EXPECT_EQ(Read(source, 2, 3), "cde");
  EXPECT_EQ(Read(source, 4, 10), "ef");
  EXPECT_EQ(Read(source, 6, 1), "");
  EXPECT_EQ(Read(source, 1000, 1), "");
  EXPECT_EQ(Read(source, -1, 1), "");
}

}  // namespace
}  // namespace nvc
