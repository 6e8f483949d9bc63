// A test fixture that has a clip and its index, for tests that read the clip's frames.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_INDEXED_CLIP_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_INDEXED_CLIP_H_

#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/testing/decoded_hashes.h"
#include "tf_nvcodec/core/decode/frame_stream.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

class IndexedClipTest : public ::testing::Test {
 protected:
  IndexedClipTest(std::string bytes, int num_frames)
      : bytes_(std::move(bytes)),
        source_(bytes_),
        index_(FrameIndex::Build(source_, {}, nullptr).value()),
        all_(static_cast<size_t>(num_frames)) {
    std::iota(all_.begin(), all_.end(), 0);
  }

  // Returns the hashes of all frames, decoded by FFmpeg.
  std::map<int, size_t> BySoftware() const {
    HashSink sink;
    DamagedFrames damaged;
    EXPECT_TRUE(ReadFrames(index_, source_, all_, ReadOptions(), &sink, &damaged).ok());
    EXPECT_TRUE(damaged.empty());
    return std::move(sink.hashes);
  }

  std::string bytes_;
  MemorySource source_;
  FrameIndex index_;
  std::vector<int64_t> all_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_INDEXED_CLIP_H_
