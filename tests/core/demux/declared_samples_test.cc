#include "tf_nvcodec/core/demux/declared_samples.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/demux/demuxer.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMost = 1000;  // packets; four times as many samples are allowed

std::string Number(uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
  return out;
}

std::string Box(const std::string& kind, const std::string& body) {
  return absl::StrCat(Number(static_cast<uint32_t>(8 + body.size())), kind, body);
}

std::string Table(const std::string& kind, std::initializer_list<uint32_t> numbers) {
  std::string body = Number(0);
  for (const uint32_t number : numbers) body += Number(number);
  return Box(kind, body);
}

std::string Track(const std::string& boxes) { return Box("moov", Box("trak", boxes)); }

absl::Status Read(const std::string& file, int64_t most = kMost) {
  const MemorySource source(file);
  DeclaredSamples samples(most);
  return samples.ReadTo(source, source.Size(), nullptr);
}

const std::string& Handler() {
  static const auto* const sound = new std::string(Box("hdlr", Number(0) + Number(0) + "soun"));
  return *sound;
}

TEST(DeclaredSamplesTest, CountsTheSamplesOfAllTracks) {
  const std::string half = Track(Table("stsz", {0, 2000}));
  EXPECT_TRUE(Read(half + half).ok());
  const absl::Status status = Read(half + half + Track(Table("stz2", {8, 1})));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("4001 samples"));
  EXPECT_THAT(status.message(), HasSubstr("max_packets is 1000"));
  EXPECT_TRUE(Read(half + half + half, 2 * kMost).ok());
  EXPECT_TRUE(Read(half + half + half, /*most=*/0).ok());
}

TEST(DeclaredSamplesTest, FindsTablesInAnyNesting) {
  const std::string table = Table("stsz", {1, 0xffffffff});
  for (const std::string& inside :
       {Box("mdia", Box("minf", Box("stbl", table))), Box("udta", table), table}) {
    EXPECT_TRUE(absl::IsResourceExhausted(Read(Track(inside)))) << inside;
  }
  // The size of the last box goes on behind the file; the table is behind another box.
  EXPECT_FALSE(Read(Box("mdat", "....") + Number(0x7fffffff) + "moov" + table).ok());
  EXPECT_FALSE(Read(Number(1) + "moov" + Number(0) + Number(100) + table).ok());
  EXPECT_TRUE(Read(Box("mdat", Track(table))).ok()) << "media is no header";
}

TEST(DeclaredSamplesTest, CountsASampleForEachEdit) {
  const std::string samples = Table("stsz", {0, 100});
  const auto edits = [&](uint32_t count) {
    return Track(Box("edts", Table("elst", {count})) + samples);
  };
  EXPECT_TRUE(Read(edits(2)).ok());
  EXPECT_TRUE(Read(edits(39)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Read(edits(40))));
}

TEST(DeclaredSamplesTest, CountsTheRunsOfFragments) {
  const std::string fragment = Box("moof", Box("traf", Table("trun", {1500})));
  EXPECT_TRUE(Read(fragment + fragment).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Read(fragment + fragment + fragment)));
}

TEST(DeclaredSamplesTest, UncompressedSoundHasSamplesWithoutPackets) {
  const std::string steady = Table("stts", {1, 100000, 1});
  const std::string sizes = Table("stsz", {2, 100000});
  const std::string media = Box("mdat", std::string(200000, '\0'));
  EXPECT_TRUE(Read(Track(Handler() + steady + sizes) + media).ok());
  EXPECT_FALSE(Read(Track(Handler() + steady + sizes)).ok()) << "more sound than the file has";
  EXPECT_FALSE(Read(Track(steady + sizes) + media).ok()) << "no sound";
  EXPECT_FALSE(Read(Track(Handler() + sizes) + media).ok()) << "compressed sound";
}

TEST(DeclaredSamplesTest, ReadsNoFurtherThanAsked) {
  const std::string file = Box("mdat", "....") + Track(Table("stsz", {1, 0xffffffff}));
  const MemorySource source(file);
  DeclaredSamples samples(kMost);
  EXPECT_TRUE(samples.ReadTo(source, 12, nullptr).ok());
  EXPECT_FALSE(samples.ReadTo(source, 13, nullptr).ok());
}

TEST(DeclaredSamplesTest, TakesAnyBytes) {
  EXPECT_TRUE(Read("").ok());
  EXPECT_TRUE(Read("moov").ok());
  EXPECT_TRUE(Read(Number(16) + "moov" + Number(0) + "trak").ok());
  EXPECT_TRUE(Read(std::string(100000, '\0')).ok());
  std::string nested;
  for (uint32_t i = 10000; i > 0; --i) nested += Number(8 * i) + "moov";
  EXPECT_TRUE(Read(nested).ok());
}

TEST(DeclaredSamplesTest, TheDemuxerAsksItBeforeFfmpeg) {
  const MemorySource source(RealClip());
  const auto open = [&](int64_t most) {
    return Demuxer::Open(source, nullptr, Demuxer::Look::kHeaders, {0, most}).status();
  };
  EXPECT_TRUE(open(kRealClipFrames).ok()) << open(kRealClipFrames);
  EXPECT_TRUE(absl::IsResourceExhausted(open(10))) << open(10);
}

}  // namespace
}  // namespace nvc
