#include "tf_nvcodec/core/clips/packed_clip.h"

#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/decoded_hashes.h"
#include "tests/core/testing/packed_checksum.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/decode/frame_stream.h"
#include "tf_nvcodec/core/index/frame_index_io.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

constexpr size_t kVersionAt = 7, kHeadAt = 12, kIndexBytesAt = kHeadAt + 12,
                 kFramesAt = kHeadAt + 16;

std::string Pack(const std::string& video, const std::vector<int64_t>& frames) {
  const MemorySource source(video);
  const FrameIndex index = FrameIndex::Build(source, {}, nullptr).value();
  Clip clip;
  clip.frames = frames;
  clip.own = static_cast<int64_t>(frames.size());
  return PackClip(index, source, clip).value();
}

std::string WithChecksum(std::string packed) {
  SetChecksum(&packed);
  return packed;
}

absl::StatusOr<std::map<int, size_t>> Decode(const std::string& packed) {
  FrameIndex::Limits limits;
  limits.max_pixels = 1 << 22;
  auto unpacked = UnpackClip(packed, limits);
  if (!unpacked.ok()) return unpacked.status();
  HashSink sink;
  DamagedFrames damaged;
  ReadOptions options;
  options.num_threads = 1;
  options.max_pixels = limits.max_pixels;
  const absl::Status read = ReadFrames(unpacked->index, MemorySource(unpacked->data),
                                       unpacked->clip.frames, options, &sink, &damaged);
  if (!read.ok()) return read;
  return sink.hashes;
}

TEST(PackedClipTest, SaysWhatIsWrongWithOtherBytes) {
  const std::string packed = Pack(BFramesClip(), {21, 22, 23});
  EXPECT_EQ(PackedLength(packed).value(), 3);
  EXPECT_EQ(Decode(packed).value().size(), 3u);
  for (const std::string& other : {std::string(), std::string("NVCCLIP"), BFramesClip()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Decode(other).status())) << Decode(other).status();
  }
  std::string newer = packed;
  newer[kVersionAt] = kFrameIndexFormat + 1;
  EXPECT_THAT(std::string(Decode(newer).status().message()), HasSubstr("another version"));
  for (size_t size = kFramesAt; size < packed.size(); size += packed.size() / 50) {
    EXPECT_TRUE(absl::IsDataLoss(Decode(packed.substr(0, size)).status())) << size;
    EXPECT_FALSE(Decode(WithChecksum(packed.substr(0, size))).status().message().empty()) << size;
  }
}

// Whoever writes the bytes can write a checksum that fits them.
TEST(PackedClipTest, HostileBytesGiveFramesOrAnError) {
  std::mt19937_64 random(5);
  int decoded = 0;
  std::set<std::string> errors;
  for (const std::string* video : {&BFramesClip(), &Av1Clip()}) {
    const std::string packed = Pack(*video, {5, 17, 18, 19, 20, 41, 41});
    uint32_t index_bytes = 0;
    std::memcpy(&index_bytes, &packed[kIndexBytesAt], sizeof(index_bytes));
    const size_t end = kFramesAt + 7 * sizeof(int32_t) + index_bytes;
    ASSERT_LT(end, packed.size());
    for (int i = 0; i < 1500; ++i) {
      std::string hostile = packed;
      for (uint64_t k = random() % 3 + 1; k > 0; --k) {
        const size_t at = kHeadAt + random() % (end - kHeadAt);
        const uint64_t kind = random() % 3;
        hostile[at] = kind == 0   ? static_cast<char>(random())
                      : kind == 1 ? static_cast<char>(hostile[at] ^ (1 << random() % 8))
                                  : static_cast<char>(0xFF);
      }
      const auto result = Decode(WithChecksum(hostile));
      if (result.ok()) {
        ++decoded;
      } else {
        errors.insert(std::string(result.status().message()).substr(0, 60));
      }
    }
  }
  EXPECT_GT(decoded, 100);        // the changes also reach the decode
  EXPECT_GT(errors.size(), 10u);  // and most of the checks
}

TEST(PackedClipTest, LimitsHold) {
  const std::string packed = Pack(BFramesClip(), {30});
  FrameIndex::Limits limits;
  limits.max_packets = 3;
  EXPECT_TRUE(absl::IsResourceExhausted(UnpackClip(packed, limits).status()));
  limits.max_packets = 0;
  limits.max_pixels = 160 * 90 - 1;
  EXPECT_TRUE(absl::IsResourceExhausted(UnpackClip(packed, limits).status()));
  limits.max_pixels = 160 * 90;
  EXPECT_TRUE(UnpackClip(packed, limits).ok());
}

}  // namespace
}  // namespace nvc
