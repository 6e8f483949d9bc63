// Tests parallel reads that share the engines of a GPU. FFmpeg's decoders stand in for NVDEC
// sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "tests/core/testing/decoded_hashes.h"
#include "tests/core/testing/indexed_clip.h"
#include "tests/core/testing/test_media.h"
#include "tests/nv/testing/nvdec_fake.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/decode/frame_stream.h"
#include "tf_nvcodec/nv/decode/nvdec_quota.h"

namespace nvc {
namespace {

class NvdecQuotaReadsTest : public IndexedClipTest {
 protected:
  NvdecQuotaReadsTest() : IndexedClipTest(BFramesClip(), kBFramesClipFrames) {}

  absl::Status Read(NvdecQuota* quota, const Cancelled& cancelled, std::map<int, size_t>* hashes) {
    ReadOptions options;
    options.cancelled = cancelled;
    options.factory.open = OpenSoftwareDecoder;
    options.factory.max_workers = quota->most();
    options.factory.quota = quota;
    HashSink sink;
    DamagedFrames damaged;
    const absl::Status status = ReadFrames(index_, source_, all_, options, &sink, &damaged);
    EXPECT_TRUE(damaged.empty());
    *hashes = std::move(sink.hashes);
    return status;
  }

  FakeGpu gpu_;
};

TEST_F(NvdecQuotaReadsTest, EachHasItsFramesAndGivesAllBack) {
  const auto wanted = BySoftware();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 12; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 4; ++i) {
        NvdecQuota quota(*gpu_.device(), thread % 3 == 0 ? 2 : 0);
        // Some reads end early, while their workers wait.
        std::atomic<int> polls{0};
        const bool stops = thread % 4 == 1;
        std::map<int, size_t> hashes;
        const absl::Status status = Read(
            &quota, [&] { return stops && ++polls > 20; }, &hashes);
        EXPECT_EQ(quota.in_use(), 0);
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
