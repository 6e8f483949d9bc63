// Decodes frames by an index and hashes their pictures.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_DECODED_HASHES_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_DECODED_HASHES_H_

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/testing/picture_hash.h"
#include "tf_nvcodec/core/decode/frame_stream.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// Keeps the hash of each picture by its display index.
class HashSink : public FrameSink {
 public:
  void Start(int) override {}
  absl::Status Write(int, int frame, const AVFrame& picture) override {
    const size_t hash = PictureHash(picture);
    std::lock_guard<std::mutex> lock(mutex_);
    hashes[frame] = hash;
    return absl::OkStatus();
  }
  std::map<int, size_t> hashes;

 private:
  std::mutex mutex_;
};

// Decodes five frames spread over the stream. Returns their hashes, and in `damaged` the frames
// that were damaged.
inline std::map<int, size_t> Decode(const FrameIndex& index, const std::string& bytes,
                                    std::set<int>* damaged) {
  const MemorySource source(bytes);
  std::vector<int64_t> frames;
  for (int i = 0; i <= 4; ++i) frames.push_back(i * (index.num_frames() - 1) / 4);
  HashSink sink;
  DamagedFrames damage;
  ReadOptions options;
  options.num_threads = 1;
  const absl::Status status = ReadFrames(index, source, frames, options, &sink, &damage);
  EXPECT_TRUE(status.ok()) << status;
  for (const auto& entry : damage) damaged->insert(entry.first);
  return sink.hashes;
}

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_DECODED_HASHES_H_
