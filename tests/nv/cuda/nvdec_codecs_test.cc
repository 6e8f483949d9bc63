#include "tf_nvcodec/nv/cuda/nvdec_codecs.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace nvc {
namespace {

TEST(NvdecCodecsTest, NumbersAndNames) {
  EXPECT_EQ(NvdecCodec(AV_CODEC_ID_HEVC).value(), cudaVideoCodec_HEVC);
  EXPECT_STREQ(NvdecCodecName(cudaVideoCodec_MPEG2), "mpeg2video");
}

TEST(NvdecCodecsTest, OthersAreRefusedByName) {
  for (const auto& [codec, name] :
       {std::pair(AV_CODEC_ID_FFV1, "'ffv1'"), std::pair(AV_CODEC_ID_MPEG2VIDEO, "'mpeg2video'"),
        std::pair(AV_CODEC_ID_VC1, "'vc1'")}) {
    const absl::Status status = NvdecCodec(codec).status();
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_EQ(status.message(), std::string("NVDEC is not used for codec ") + name +
                                    ", only for h264, hevc, av1, vp9, vp8");
  }
}

}  // namespace
}  // namespace nvc
