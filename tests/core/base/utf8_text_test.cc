#include "tf_nvcodec/core/base/utf8_text.h"

#include "gtest/gtest.h"

namespace nvc {
namespace {

TEST(Utf8TextTest, TextStaysAsItIs) {
  for (const char* text : {"", "a.mp4", "\xc3\xa9.mp4", "\xe2\x82\xac", "\xed\x9f\xbf",
                           "\xf0\x9f\x8e\xac.mp4", "\xf4\x8f\xbf\xbf", "two\nlines\\x"}) {
    EXPECT_EQ(Utf8Text(text), text);
  }
}

TEST(Utf8TextTest, OtherBytesAreShownByNumber) {
  EXPECT_EQ(Utf8Text("caf\xe9.mp4"), "caf\\xe9.mp4");
  EXPECT_EQ(Utf8Text("\xff\xfe\x80"), "\\xff\\xfe\\x80");
  EXPECT_EQ(Utf8Text("\xc3"), "\\xc3");
  EXPECT_EQ(Utf8Text("\xe2\x82(\xc3\xa9"), "\\xe2\\x82(\xc3\xa9");
  // Overlong sequences, a surrogate, and a code point above U+10FFFF.
  EXPECT_EQ(Utf8Text("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(Utf8Text("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");
  EXPECT_EQ(Utf8Text("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf");
  EXPECT_EQ(Utf8Text("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(Utf8Text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(Utf8Text(absl::string_view("a\0\xff", 3)), std::string("a\0\\xff", 6));
}

}  // namespace
}  // namespace nvc
