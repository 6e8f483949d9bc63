#include "tf_nvcodec/core/ffmpeg/picture_pool.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/testing/golden_corpus.h"
#include "tests/core/testing/picture_hash.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/ffmpeg/av_log.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {
namespace {

constexpr size_t kManyBytes = size_t{64} << 20;
constexpr auto kLongWait = std::chrono::hours(1);

int GetBuffer(AVCodecContext* context, AVFrame* frame, int) {
  return static_cast<PicturePool*>(context->opaque)->GetBuffer(context, frame);
}

AvCodecContextPtr OpenH264() {
  const AVCodec* const codec = avcodec_find_decoder(AV_CODEC_ID_H264);
  AvCodecContextPtr context(avcodec_alloc_context3(codec));
  EXPECT_EQ(avcodec_open2(context.get(), codec, nullptr), 0);
  return context;
}

AvFramePtr NewFrame(AVCodecContext* context, AVPixelFormat format, int width, int height) {
  context->pix_fmt = format;
  context->width = context->coded_width = width;
  context->height = context->coded_height = height;
  AvFramePtr frame(av_frame_alloc());
  frame->format = format;
  frame->width = width;
  frame->height = height;
  return frame;
}

class PicturePoolTest : public ::testing::Test {
 protected:
  AvFramePtr Get(PicturePool* pool, AVPixelFormat format = AV_PIX_FMT_YUV420P, int width = 640,
                 int height = 360) {
    AvFramePtr frame = NewFrame(context_.get(), format, width, height);
    EXPECT_EQ(pool->GetBuffer(context_.get(), frame.get()), 0);
    return frame;
  }

  AvCodecContextPtr context_ = OpenH264();
  BlockCache cache_{kManyBytes, kLongWait};
};

bool HasOnly(uint8_t value, const AVFrame& frame) {
  const uint8_t* const data = frame.buf[0]->data;
  return std::all_of(data, data + frame.buf[0]->size, [&](uint8_t byte) { return byte == value; });
}

void Fill(uint8_t value, AVFrame* frame) {
  std::memset(frame->buf[0]->data, value, static_cast<size_t>(frame->buf[0]->size));
}

TEST_F(PicturePoolTest, LaysPicturesOutAsFfmpegDoes) {
  for (const AVPixelFormat format :
       {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P,   AV_PIX_FMT_YUV444P,   AV_PIX_FMT_YUV440P,
        AV_PIX_FMT_YUV411P, AV_PIX_FMT_YUV410P,   AV_PIX_FMT_YUVJ420P,  AV_PIX_FMT_GRAY8,
        AV_PIX_FMT_GRAY12,  AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P12,
        AV_PIX_FMT_GBRP,    AV_PIX_FMT_GBRP10,    AV_PIX_FMT_YUVA420P,  AV_PIX_FMT_NV12,
        AV_PIX_FMT_RGB24,   AV_PIX_FMT_RGB48,     AV_PIX_FMT_BGRA,      AV_PIX_FMT_UYVY422,
        AV_PIX_FMT_PAL8}) {
    PicturePool pool(&cache_);
    for (const auto& [width, height] : std::vector<std::pair<int, int>>{
             {1, 1}, {16, 16}, {97, 65}, {160, 90}, {333, 251}, {640, 480}, {1366, 768}}) {
      AvFramePtr expected = NewFrame(context_.get(), format, width, height);
      ASSERT_EQ(avcodec_default_get_buffer2(context_.get(), expected.get(), 0), 0);
      const AvFramePtr frame = Get(&pool, format, width, height);
      const std::string what =
          std::to_string(format) + ": " + std::to_string(width) + "x" + std::to_string(height);
      const uint8_t* free = frame->buf[0]->data;
      for (int i = 0; i < AV_NUM_DATA_POINTERS; ++i) {
        EXPECT_EQ(frame->linesize[i], expected->linesize[i]) << what;
        ASSERT_EQ(frame->data[i] != nullptr, expected->data[i] != nullptr) << what;
        if (frame->data[i] == nullptr) continue;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(frame->data[i]) % 64, 0u) << what;
        EXPECT_GE(frame->data[i], free) << what;
        free = frame->data[i] + expected->buf[i]->size;
      }
      EXPECT_LE(free, frame->buf[0]->data + frame->buf[0]->size) << what;
      EXPECT_EQ(frame->extended_data, frame->data);
    }
  }
}

TEST_F(PicturePoolTest, ADecoderGetsItsOwnPictureUnchanged) {
  PicturePool pool(&cache_);
  AvFramePtr frame = Get(&pool);
  EXPECT_TRUE(HasOnly(0, *frame));
  Fill(7, frame.get());
  const uint8_t* const data = frame->data[0];
  frame.reset();
  const AvFramePtr again = Get(&pool);
  EXPECT_EQ(again->data[0], data);
  EXPECT_TRUE(HasOnly(7, *again));
}

TEST_F(PicturePoolTest, NobodySeesAnotherDecodersPicture) {
  const uint8_t* data = nullptr;
  for (const uint8_t mark : {1, 2}) {
    PicturePool pool(&cache_);
    AvFramePtr frame = Get(&pool);
    if (data != nullptr) EXPECT_EQ(frame->data[0], data);
    data = frame->data[0];
    EXPECT_TRUE(HasOnly(0, *frame));
    Fill(mark, frame.get());
  }
}

TEST_F(PicturePoolTest, ADecoderKeepsItsMemoryWhileItLives) {
  PicturePool first(&cache_), second(&cache_);
  const uint8_t* const data = Get(&first)->data[0];
  EXPECT_EQ(cache_.idle_bytes(), 0u);
  EXPECT_NE(Get(&second)->data[0], data);
  EXPECT_EQ(Get(&first)->data[0], data);
}

TEST_F(PicturePoolTest, APictureOutlivesItsDecoder) {
  auto pool = std::make_unique<PicturePool>(&cache_);
  AvFramePtr kept = Get(pool.get());
  Fill(9, kept.get());
  Get(pool.get());
  pool.reset();
  const size_t of_the_other = cache_.idle_bytes();
  EXPECT_GT(of_the_other, 0u);
  PicturePool next(&cache_);
  const AvFramePtr one = Get(&next), two = Get(&next);
  EXPECT_TRUE(HasOnly(9, *kept));
  kept.reset();
  EXPECT_EQ(cache_.idle_bytes(), of_the_other);
}

TEST_F(PicturePoolTest, TheSizeMayChange) {
  PicturePool pool(&cache_);
  const AvFramePtr small = Get(&pool, AV_PIX_FMT_YUV420P, 320, 180);
  Fill(3, small.get());
  const AvFramePtr large = Get(&pool, AV_PIX_FMT_YUV420P10, 640, 360);
  EXPECT_TRUE(HasOnly(0, *large));
  Fill(4, large.get());
  EXPECT_TRUE(HasOnly(0, *Get(&pool, AV_PIX_FMT_YUV420P, 320, 180)));
  EXPECT_TRUE(HasOnly(3, *small));
}

TEST_F(PicturePoolTest, RefusesWhatFfmpegRefuses) {
  PicturePool pool(&cache_);
  AvFramePtr frame = NewFrame(context_.get(), AV_PIX_FMT_NONE, 640, 360);
  EXPECT_LT(pool.GetBuffer(context_.get(), frame.get()), 0);
  frame = NewFrame(context_.get(), AV_PIX_FMT_RGBA64, 100000, 100000);
  EXPECT_LT(pool.GetBuffer(context_.get(), frame.get()), 0);
  EXPECT_TRUE(HasOnly(0, *Get(&pool)));
}

// Decodes a clip, with `pool` if it is not null. Returns the hashes of all pictures in the order in
// which they come out, damaged ones too, with 0 for each error.
std::vector<size_t> Decode(const std::string& clip, int threads, PicturePool* pool) {
  std::vector<size_t> hashes;
  const MemorySource source(clip);
  auto demuxer = Demuxer::Open(source, nullptr);
  if (!demuxer.ok()) return hashes;
  const AVCodecParameters& parameters = *(*demuxer)->stream().codec;
  const AVCodec* const codec = avcodec_find_decoder(parameters.codec_id);
  if (codec == nullptr || (codec->capabilities & AV_CODEC_CAP_DR1) == 0) return hashes;
  AvCodecContextPtr context(avcodec_alloc_context3(codec));
  if (avcodec_parameters_to_context(context.get(), &parameters) < 0) return hashes;
  context->thread_count = threads;
  context->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
  if (pool != nullptr) {
    context->opaque = pool;
    context->get_buffer2 = GetBuffer;
  }
  AvLogScope log;
  if (avcodec_open2(context.get(), codec, nullptr) < 0) return hashes;
  AvPacketPtr packet(av_packet_alloc());
  AvFramePtr frame(av_frame_alloc());
  for (bool more = true; more;) {
    more = (*demuxer)->Next(packet.get()).value_or(false);
    if (avcodec_send_packet(context.get(), more ? packet.get() : nullptr) < 0) hashes.push_back(0);
    av_packet_unref(packet.get());
    while (avcodec_receive_frame(context.get(), frame.get()) >= 0) {
      hashes.push_back(PictureHash(*frame));
    }
  }
  return hashes;
}

// Damaged files matter too: where a decoder leaves out a part of a picture, the old contents of its
// memory show.
TEST_F(PicturePoolTest, EveryClipDecodesToTheSamePictures) {
  size_t pictures = 0;
  for (const std::string& path : GoldenClips()) {
    const std::string clip = ReadFile(path);
    for (const int threads : {1, 3}) {
      const auto expected = Decode(clip, threads, nullptr);
      PicturePool pool(&cache_);
      // Frame threads may decode a damaged file differently each time.
      if (threads > 1 &&
          (path.find("broken") != std::string::npos || path.find("garbled") != std::string::npos)) {
        Decode(clip, threads, &pool);
        continue;
      }
      EXPECT_EQ(Decode(clip, threads, &pool), expected) << path << ", " << threads << " threads";
      pictures += expected.size();
    }
    EXPECT_LE(cache_.idle_bytes(), kManyBytes);
  }
  EXPECT_GE(pictures, 60u);
}

}  // namespace
}  // namespace nvc
