#include "tf_nvcodec/core/base/byte_coding.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace nvc {
namespace {

TEST(ByteCodingTest, NumbersSurviveARoundTrip) {
  std::mt19937_64 random(3);
  ByteWriter out;
  std::vector<int64_t> values = {0, 1, -1, 63, 64, -64, -65, INT64_MAX, INT64_MIN};
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<int64_t>(random() >> random() % 64));
  int64_t last = 0;
  for (const int64_t value : values) {
    out.Signed(value);
    out.Unsigned(static_cast<uint64_t>(value));
    out.Difference(value, last);
    last = value;
  }
  out.Double(-0.1);
  const std::string bytes = out.Take();
  ByteReader in(bytes);
  last = 0;
  for (const int64_t value : values) {
    EXPECT_EQ(in.Signed(), value);
    EXPECT_EQ(in.Unsigned(), static_cast<uint64_t>(value));
    EXPECT_EQ(in.Difference(last), value);
    last = value;
  }
  EXPECT_EQ(in.Double(), -0.1);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.left(), 0u);
  EXPECT_EQ(in.Unsigned(), 0u);
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace nvc
