// Reads side by side that share the engines, with FFmpeg's decoders in the place of sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/core/decoded_hashes.h"
#include "tests/core/test_media.h"
#include "tests/nv/nvdec_fake.h"
#include "tf_nvcodec/core/video_reader.h"
#include "tf_nvcodec/nv/nvdec_share.h"

namespace nvc {
namespace {

class NvdecShareReadsTest : public ::testing::Test {
 protected:
  NvdecShareReadsTest() : all_(kBFramesClipFrames) { std::iota(all_.begin(), all_.end(), 0); }

  // With a share of the GPU's engines, or by FFmpeg alone.
  absl::Status Read(NvdecShare* share, const Cancelled& cancelled, std::map<int, size_t>* hashes) {
    ReadOptions options;
    options.cancelled = cancelled;
    if (share != nullptr) {
      options.other.open = OpenSoftwareDecoder;
      options.other.max_workers = share->most();
      options.other.share = share;
    }
    HashSink sink;
    DamagedFrames damaged;
    const absl::Status status = ReadFrames(index_, source_, all_, options, &sink, &damaged);
    EXPECT_TRUE(damaged.empty());
    *hashes = std::move(sink.hashes);
    return status;
  }

  FakeGpu gpu_;
  const std::string bytes_ = BFramesClip();
  const MemorySource source_{bytes_};
  const FrameIndex index_ = FrameIndex::Build(source_, {}, nullptr).value();
  std::vector<int64_t> all_;
};

TEST_F(NvdecShareReadsTest, EachHasItsFramesAndGivesAllBack) {
  std::map<int, size_t> wanted;
  ASSERT_TRUE(Read(nullptr, nullptr, &wanted).ok());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 12; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 4; ++i) {
        NvdecShare share(*gpu_.device(), thread % 3 == 0 ? 2 : 0);
        // Some end early, with workers that wait.
        std::atomic<int> polls{0};
        const bool stops = thread % 4 == 1;
        std::map<int, size_t> hashes;
        const absl::Status status = Read(
            &share, [&] { return stops && ++polls > 20; }, &hashes);
        EXPECT_EQ(share.in_use(), 0);
        if (stops) {
          EXPECT_TRUE(absl::IsCancelled(status)) << status;
        } else {
          EXPECT_TRUE(status.ok()) << status;
          EXPECT_EQ(hashes, wanted);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace nvc
