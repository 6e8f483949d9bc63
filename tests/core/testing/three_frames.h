// Decodes the first, the middle and the last frame of a file that may be damaged.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_THREE_FRAMES_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_THREE_FRAMES_H_

#include <vector>

#include "tf_nvcodec/core/decode/frame_collector.h"

namespace nvc {

// `options.max_pixels` is that of the index's limits.
inline absl::Status ReadThreeFrames(const FrameIndex& index, const ByteSource& source,
                                    const OutputSpec& output, const ReadOptions& options,
                                    OnError on_error) {
  std::vector<int64_t> frames;
  for (int i = 0; i < 3; ++i) frames.push_back(i * (index.num_frames() - 1) / 2);
  std::vector<uint8_t> memory;
  HostTarget target;
  FrameCollector collector(
      output, index.stream().orientation, frames,
      [&](const FrameShape& shape, int64_t count) {
        memory.resize(shape.bytes * static_cast<size_t>(count));
        return memory.data();
      },
      &target);
  DamagedFrames damaged;
  const absl::Status read = ReadFrames(index, source, frames, options, &collector, &damaged);
  if (!read.ok()) return read;
  std::vector<size_t> slots;
  return collector.Finish(index, damaged, on_error, &slots).status();
}

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_THREE_FRAMES_H_
