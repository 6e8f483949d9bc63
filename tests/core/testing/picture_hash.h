// Hashes a picture's pixels to one number.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_PICTURE_HASH_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_PICTURE_HASH_H_

#include <functional>
#include <string>

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/imgutils.h>
}

namespace nvc {

inline size_t PictureHash(const AVFrame& picture) {
  const auto format = static_cast<AVPixelFormat>(picture.format);
  std::string bytes(
      static_cast<size_t>(av_image_get_buffer_size(format, picture.width, picture.height, 1)),
      '\0');
  av_image_copy_to_buffer(reinterpret_cast<uint8_t*>(&bytes[0]), static_cast<int>(bytes.size()),
                          picture.data, picture.linesize, format, picture.width, picture.height, 1);
  return std::hash<std::string>()(bytes);
}

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_PICTURE_HASH_H_
