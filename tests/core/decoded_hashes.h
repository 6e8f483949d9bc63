// What frames an index leads to, as hashes of their pictures.
#ifndef TESTS_CORE_DECODED_HASHES_H_
#define TESTS_CORE_DECODED_HASHES_H_

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tf_nvcodec/core/frame_index.h"
#include "tf_nvcodec/core/video_reader.h"

extern "C" {
#include <libavutil/imgutils.h>
}

namespace nvc {

// Hashes of the pictures by display index.
class HashSink : public FrameSink {
 public:
  void Start(int) override {}
  absl::Status Write(int, int frame, const AVFrame& picture) override {
    const auto format = static_cast<AVPixelFormat>(picture.format);
    std::string bytes(
        static_cast<size_t>(av_image_get_buffer_size(format, picture.width, picture.height, 1)),
        '\0');
    av_image_copy_to_buffer(reinterpret_cast<uint8_t*>(&bytes[0]), static_cast<int>(bytes.size()),
                            picture.data, picture.linesize, format, picture.width, picture.height,
                            1);
    std::lock_guard<std::mutex> lock(mutex_);
    hashes[frame] = std::hash<std::string>()(bytes);
    return absl::OkStatus();
  }
  std::map<int, size_t> hashes;

 private:
  std::mutex mutex_;
};

// Of a few frames spread over the stream, and of which of them were damaged.
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

#endif  // TESTS_CORE_DECODED_HASHES_H_
