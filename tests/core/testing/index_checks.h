// Checks that two frame indexes are the same in every field.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_INDEX_CHECKS_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_INDEX_CHECKS_H_

#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

inline bool Same(AVRational a, AVRational b) { return a.num == b.num && a.den == b.den; }

inline void ExpectSameStream(const StreamInfo& a, const StreamInfo& b) {
  EXPECT_EQ(a.container, b.container);
  EXPECT_TRUE(Same(a.time_base, b.time_base));
  EXPECT_TRUE(Same(a.frame_rate, b.frame_rate));
  EXPECT_TRUE(Same(a.sample_aspect_ratio, b.sample_aspect_ratio));
  EXPECT_TRUE(a.orientation == b.orientation);
  EXPECT_EQ(a.odd_matrix, b.odd_matrix);
  EXPECT_EQ(a.has_audio, b.has_audio);
  // Apart from the pointer to the extradata, the fields are plain values.
  AVCodecParameters c = *a.codec, d = *b.codec;
  ASSERT_EQ(c.extradata_size, d.extradata_size);
  if (c.extradata_size > 0) {
    EXPECT_EQ(std::memcmp(c.extradata, d.extradata, static_cast<size_t>(c.extradata_size)), 0);
  }
  c.extradata = d.extradata = nullptr;
  EXPECT_EQ(std::memcmp(&c, &d, sizeof(c)), 0);
}

inline bool Same(const PacketEntry& a, const PacketEntry& b) {
  const bool same_bytes =
      (a.kept == nullptr) == (b.kept == nullptr) &&
      (a.kept == nullptr ||
       (a.kept->size == b.kept->size &&
        std::memcmp(a.kept->data, b.kept->data, static_cast<size_t>(a.kept->size)) == 0));
  return a.pts == b.pts && a.dts == b.dts && a.duration == b.duration && a.offset == b.offset &&
         a.size == b.size && a.flags == b.flags && a.frame == b.frame &&
         a.random_access == b.random_access && a.droppable == b.droppable &&
         a.unreachable == b.unreachable && a.second_field == b.second_field && a.lost == b.lost &&
         a.first_picture == b.first_picture && a.num_pictures == b.num_pictures && same_bytes;
}

inline bool Same(const FrameEntry& a, const FrameEntry& b) {
  return a.packet == b.packet && a.start_packet == b.start_packet && a.pts == b.pts &&
         a.time == b.time && a.duration == b.duration;
}

inline bool Same(const CodedPicture& a, const CodedPicture& b) {
  return a.begin == b.begin && a.end == b.end && a.shown == b.shown && a.references == b.references;
}

template <typename T>
void ExpectSameEach(const std::vector<T>& a, const std::vector<T>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(Same(a[i], b[i])) << what << " " << i;
}

inline void ExpectSameIndex(const FrameIndex& a, const FrameIndex& b) {
  ExpectSameStream(a.stream(), b.stream());
  ExpectSameEach(a.packets(), b.packets(), "packet");
  ExpectSameEach(a.frames(), b.frames(), "frame");
  ExpectSameEach(a.pictures(), b.pictures(), "picture");
  EXPECT_EQ(a.reorder_depth(), b.reorder_depth());
  EXPECT_EQ(a.frame_rate(), b.frame_rate());
  EXPECT_EQ(a.damage(), b.damage());
  EXPECT_EQ(a.only_sample_table(), b.only_sample_table());
}

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_INDEX_CHECKS_H_
