// Frames for an encoder, for tests that compare the GPU's with the host's.
#ifndef TF_NVCODEC_TESTS_NV_ENCODE_ENCODER_FRAMES_H_
#define TF_NVCODEC_TESTS_NV_ENCODE_ENCODER_FRAMES_H_

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tf_nvcodec/core/encode/frame_loader.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

extern "C" {
#include <libavutil/imgutils.h>
}

namespace nvc {

inline StreamSpec Stream(AVPixelFormat format, int width, int height) {
  StreamSpec stream;
  stream.format = stream.encoder_format = format;
  stream.width = width;
  stream.height = height;
  return stream;
}

// Returns a frame with planes for the encoder's input.
inline AvFramePtr NewFrame(const StreamSpec& stream) {
  AvFramePtr frame(av_frame_alloc());
  frame->format = stream.encoder_format;
  frame->width = stream.width;
  frame->height = stream.height;
  EXPECT_EQ(av_frame_get_buffer(frame.get(), 0), 0);
  return frame;
}

// Returns the samples of a frame, plane after plane and without padding.
inline std::vector<uint8_t> Packed(const AVFrame& frame, const StreamSpec& stream) {
  std::vector<uint8_t> packed(static_cast<size_t>(
      av_image_get_buffer_size(stream.encoder_format, stream.width, stream.height, 1)));
  av_image_copy_to_buffer(packed.data(), static_cast<int>(packed.size()), frame.data,
                          frame.linesize, stream.encoder_format, stream.width, stream.height, 1);
  return packed;
}

// Returns the first frame of a batch as the loader of core/encode converts it.
inline std::vector<uint8_t> OnTheHost(const FrameBatch& frames, const StreamSpec& stream) {
  const auto loader = FrameLoader::Create(frames, stream);
  EXPECT_TRUE(loader.ok()) << loader.status();
  const auto frame = (*loader)->Load(0);
  EXPECT_TRUE(frame.ok()) << frame.status();
  return Packed(**frame, stream);
}

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_NV_ENCODE_ENCODER_FRAMES_H_
