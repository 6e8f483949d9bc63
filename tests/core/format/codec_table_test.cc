#include "tf_nvcodec/core/format/codec_table.h"

#include <set>

#include "gtest/gtest.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
}

namespace nvc {
namespace {

TEST(CodecTableTest, EachCodecHasOneRow) {
  std::set<int> ids, nvdec_ids;
  for (const CodecFacts& row : kCodecTable) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.name;
    EXPECT_EQ(&FactsOf(row.id), &row);
    if (row.nvdec.id < 0) continue;
    EXPECT_TRUE(nvdec_ids.insert(row.nvdec.id).second) << row.name;
    EXPECT_EQ(&FactsOfNvdec(row.nvdec.id), &row);
  }
}

TEST(CodecTableTest, WhatHasNoRowIsUnknown) {
  EXPECT_EQ(&FactsOf(AV_CODEC_ID_H261), &kUnknownCodec);
  EXPECT_EQ(&FactsOf(AV_CODEC_ID_NONE), &kUnknownCodec);
  EXPECT_EQ(&FactsOfNvdec(-1), &kUnknownCodec);
  EXPECT_EQ(&FactsOfNvdec(1000), &kUnknownCodec);
}

TEST(CodecTableTest, NamesAreFfmpegs) {
  for (const CodecFacts& row : kCodecTable) {
    SCOPED_TRACE(row.name);
    EXPECT_STREQ(row.name, avcodec_get_name(row.id));
    for (const char* filter : {row.elementary_filter, row.nvdec.filter, row.encoding.tag_filter}) {
      if (filter != nullptr) EXPECT_NE(av_bsf_get_by_name(filter), nullptr) << filter;
    }
  }
}

}  // namespace
}  // namespace nvc
