// Reads the clips of tests/golden/media, for tests that need a stream.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_TEST_MEDIA_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_TEST_MEDIA_H_

#include <fstream>
#include <iterator>
#include <string>

namespace nvc {

inline std::string ReadMedia(const std::string& name) {
  std::ifstream file("tests/golden/media/" + name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// 132 frames of 1280x720 H.264 at 25 fps without B-frames, and AAC audio.
inline const std::string& RealClip() {
  static const std::string* const clip = new std::string(ReadMedia("bigbuckbunny_720p.mp4"));
  return *clip;
}
constexpr int kRealClipFrames = 132;

// 60 frames of 160x90 H.264 at 25 fps with B-frames in open GOPs of 20.
inline const std::string& BFramesClip() {
  static const std::string* const clip = new std::string(ReadMedia("bframes_160x90.mp4"));
  return *clip;
}
constexpr int kBFramesClipFrames = 60;

// The same frames as AV1 in GOPs of 40, with hidden frames that other frames refer to.
inline const std::string& Av1Clip() {
  static const std::string* const clip = new std::string(ReadMedia("av1_160x90.mp4"));
  return *clip;
}
constexpr int kAv1ClipFrames = 60;

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_TEST_MEDIA_H_
