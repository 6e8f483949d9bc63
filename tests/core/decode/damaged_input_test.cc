// Decodes damaged files with all of the core. Each must give an error or a decode, never a crash.
// `make asan` runs these tests under the sanitizers; tests/decode/test_bad_input.py has more tests,
// which go through the ops.

#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/core/testing/test_media.h"
#include "tests/core/testing/three_frames.h"
#include "tf_nvcodec/core/decode/frame_collector.h"
#include "tf_nvcodec/core/decode/video_info.h"

namespace nvc {
namespace {

// Indexes `bytes` and decodes three frames from the start, the middle and the end at a small size.
absl::Status Use(absl::string_view bytes) {
  const MemorySource source(bytes);
  const FrameIndex::Limits limits{100000, int64_t{1} << 24};
  auto index = FrameIndex::Build(source, limits, nullptr);
  if (!index.ok()) return index.status();
  OutputSpec output;
  output.height = output.width = 32;
  ReadOptions options;
  options.num_threads = 1;
  options.max_pixels = limits.max_pixels;
  return ReadThreeFrames(*index, source, output, options, OnError::kRaise);
}

void ExpectNamed(const absl::Status& status, const std::string& what) {
  if (status.ok()) return;
  EXPECT_TRUE(absl::IsInvalidArgument(status) || absl::IsDataLoss(status) ||
              absl::IsResourceExhausted(status) || absl::IsUnimplemented(status))
      << what << ": " << status;
  EXPECT_GT(status.message().size(), 20u) << what << ": " << status;
}

TEST(DamagedInputTest, TruncatedAt200Places) {
  const std::string& clip = BFramesClip();
  int refused = 0;
  for (size_t i = 0; i < 200; ++i) {
    const size_t length = i * clip.size() / 200;
    const absl::Status status = Use(absl::string_view(clip).substr(0, length));
    ExpectNamed(status, "cut to " + std::to_string(length));
    refused += !status.ok();
  }
  EXPECT_GT(refused, 0);
}

TEST(DamagedInputTest, ABitFlippedAt500Places) {
  std::string clip = BFramesClip();
  std::mt19937_64 random(1);
  for (int i = 0; i < 500; ++i) {
    // Most of the flipped bits are among the headers at the start.
    const size_t near_end = clip.size() - 1 - random() % (clip.size() / 2);
    const size_t near_start = random() % 3000;
    const size_t at = i % 4 == 0 ? near_end : near_start;
    const char bit = static_cast<char>(1 << (random() % 8));
    clip[at] ^= bit;
    ExpectNamed(Use(clip), "bit flipped in byte " + std::to_string(at));
    clip[at] ^= bit;
  }
  EXPECT_TRUE(Use(clip).ok());
}

TEST(DamagedInputTest, RandomBytes) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100; ++i) {
    std::string bytes(1 + random() % 20000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    ExpectNamed(Use(bytes), "random bytes");
  }
}

}  // namespace
}  // namespace nvc
