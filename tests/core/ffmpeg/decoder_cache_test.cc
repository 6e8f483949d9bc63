#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/core/testing/golden_corpus.h"
#include "tests/core/testing/picture_hash.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {
namespace {

constexpr size_t kPlenty = size_t{1} << 30;
constexpr auto kLong = std::chrono::hours(1);

struct Clip {
  explicit Clip(std::string clip_bytes)
      : bytes(std::move(clip_bytes)),
        source(bytes),
        index(FrameIndex::Build(source, {}, nullptr).value()) {}
  const AVCodecParameters& codec() const { return *index.stream().codec; }
  AVRational time_base() const { return index.stream().time_base; }

  std::string bytes;
  MemorySource source;
  FrameIndex index;
};

std::unique_ptr<Decoder> Open(DecoderCache* cache, const Clip& clip, DecoderOptions options = {}) {
  auto decoder = cache->Open(clip.codec(), clip.time_base(), options);
  EXPECT_TRUE(decoder.ok()) << decoder.status();
  return std::move(decoder).value();
}

// Decodes the first `count` packets and returns the pictures' hashes, with 0 for each error. Resets
// the decoder at the end.
std::vector<size_t> Decode(const Clip& clip, Decoder* decoder, int count = 1 << 20) {
  std::vector<size_t> hashes;
  AvPacketPtr packet(av_packet_alloc());
  AvFramePtr frame(av_frame_alloc());
  count = std::min(count, static_cast<int>(clip.index.packets().size()));
  for (int i = 0; i <= count; ++i) {
    if (i < count) EXPECT_TRUE(clip.index.ReadPacket(clip.source, i, packet.get()).ok());
    if (!decoder->Send(i < count ? packet.get() : nullptr).ok()) hashes.push_back(0);
    while (true) {
      const auto received = decoder->Receive(frame.get());
      if (!received.ok()) hashes.push_back(0);
      if (!received.ok() || !*received) break;
      hashes.push_back(PictureHash(*frame));
    }
  }
  decoder->Reset();
  return hashes;
}

std::vector<size_t> DecodeAfresh(const Clip& clip, DecoderOptions options = {}) {
  auto decoder = OpenSoftwareDecoder(clip.codec(), clip.time_base(), options);
  EXPECT_TRUE(decoder.ok()) << decoder.status();
  return Decode(clip, decoder->get());
}

class DecoderCacheTest : public ::testing::Test {
 protected:
  const Clip av1_{Av1Clip()};
  DecoderCache cache_{kPlenty, kLong};
};

TEST_F(DecoderCacheTest, KeepsADecoderForTheNextStream) {
  const auto expected = DecodeAfresh(av1_);
  ASSERT_EQ(expected.size(), static_cast<size_t>(kAv1ClipFrames));
  for (const int count : {1 << 20, 7, 45, 1 << 20}) {
    auto decoder = Open(&cache_, av1_);
    EXPECT_EQ(cache_.num_idle(), 0);
    const auto hashes = Decode(av1_, decoder.get(), count);
    if (hashes.size() == expected.size()) EXPECT_EQ(hashes, expected);
    decoder.reset();
    EXPECT_EQ(cache_.num_idle(), 1);
  }
  Open(&cache_, av1_).reset();  // no packet was sent
  EXPECT_EQ(cache_.num_idle(), 1);
}

TEST_F(DecoderCacheTest, EachUserGetsADecoderOfItsOwn) {
  auto first = Open(&cache_, av1_), second = Open(&cache_, av1_);
  EXPECT_EQ(Decode(av1_, first.get()), Decode(av1_, second.get()));
  first.reset();
  second.reset();
  EXPECT_EQ(cache_.num_idle(), 2);
}

TEST_F(DecoderCacheTest, OtherParametersGetOtherDecoders) {
  const auto get_and_return = [&](const AVCodecParameters& codec, AVRational time_base,
                                  const DecoderOptions& options) {
    EXPECT_TRUE(cache_.Open(codec, time_base, options).ok());
    return cache_.num_idle();
  };
  const AVRational time_base = av1_.time_base();
  EXPECT_EQ(get_and_return(av1_.codec(), time_base, {}), 1);
  EXPECT_EQ(get_and_return(av1_.codec(), {time_base.num, time_base.den * 2}, {}), 2);
  DecoderOptions options;
  options.num_threads = 3;
  EXPECT_EQ(get_and_return(av1_.codec(), time_base, options), 3);
  options.max_pixels = 1 << 20;
  EXPECT_EQ(get_and_return(av1_.codec(), time_base, options), 4);
  options.output_unreachable = true;
  EXPECT_EQ(get_and_return(av1_.codec(), time_base, options), 5);
  AvCodecParametersPtr codec(avcodec_parameters_alloc());
  avcodec_parameters_copy(codec.get(), &av1_.codec());
  codec->codec_tag ^= 1;
  EXPECT_EQ(get_and_return(*codec, time_base, {}), 6);
  codec->bit_rate += 1000;
  EXPECT_EQ(get_and_return(*codec, time_base, {}), 6);
}

TEST_F(DecoderCacheTest, DropsDecodersThatMayKeepOldState) {
  AvPacketPtr packet(av_packet_alloc());
  ASSERT_TRUE(av1_.index.ReadPacket(av1_.source, 0, packet.get()).ok());
  auto unfinished = Open(&cache_, av1_);
  EXPECT_TRUE(unfinished->Send(packet.get()).ok());
  unfinished.reset();
  EXPECT_EQ(cache_.num_idle(), 0);

  Clip broken(Av1Clip());
  const PacketEntry& entry = broken.index.packets()[3];
  for (int i = 0; i < entry.size; ++i) broken.bytes[static_cast<size_t>(entry.offset + i)] ^= 0x55;
  broken.source = MemorySource(broken.bytes);
  auto failed = Open(&cache_, broken);
  Decode(broken, failed.get());
  failed.reset();
  EXPECT_EQ(cache_.num_idle(), 0);

  const Clip h264(BFramesClip());
  Decode(h264, Open(&cache_, h264).get());
  EXPECT_EQ(cache_.num_idle(), 0);
}

TEST_F(DecoderCacheTest, KeepsTheLatestDecodersWithinItsLimit) {
  DecoderCache small(size_t{1500} << 10, kLong);  // enough for two decoders of 160x90 pictures
  std::vector<std::unique_ptr<Decoder>> decoders;
  for (int i = 0; i < 4; ++i) decoders.push_back(Open(&small, av1_));
  decoders.clear();
  EXPECT_EQ(small.num_idle(), 2);
  DecoderCache none(0, kLong);
  Open(&none, av1_).reset();
  EXPECT_EQ(none.num_idle(), 0);
}

TEST_F(DecoderCacheTest, AForkOpensItsOwnDecoder) {
  DecoderCache& cache = DecoderCache::Shared();
  DecoderOptions options;
  options.num_threads = 3;
  const auto expected = Decode(av1_, Open(&cache, av1_, options).get());
  ASSERT_EQ(cache.num_idle(), 1);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    const bool empty = cache.num_idle() == 0;
    _exit(empty && Decode(av1_, Open(&cache, av1_, options).get()) == expected ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(cache.num_idle(), 1);
}

TEST_F(DecoderCacheTest, ManyThreadsShareOneCache) {
  const auto expected = DecodeAfresh(av1_);
  DecoderCache cache(size_t{1500} << 10, std::chrono::milliseconds(5));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 10; ++k) EXPECT_EQ(Decode(av1_, Open(&cache, av1_).get()), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A decoder of the cache must decode each clip as a new one does, whatever it decoded before. Some
// clips are damaged.
TEST_F(DecoderCacheTest, EveryAv1ClipDecodesAsWithANewDecoder) {
  if (GoldenFolder().empty()) GTEST_SKIP() << "tests/golden/make_clips.py has not run";
  std::vector<std::string> paths;
  for (const std::string& path : GoldenClips()) {
    if (absl::StrContains(path, "av1")) paths.push_back(path);
  }
  paths.insert(paths.end(), paths.rbegin(), paths.rend());
  int reused = 0;
  for (const std::string& path : paths) {
    std::string bytes = ReadFile(path);
    if (!FrameIndex::Build(MemorySource(bytes), {}, nullptr).ok()) continue;
    const Clip clip(std::move(bytes));
    for (const int threads : {1, 3}) {
      DecoderOptions options;
      options.num_threads = threads;
      const int idle = cache_.num_idle();
      auto decoder = Open(&cache_, clip, options);
      reused += cache_.num_idle() < idle;
      EXPECT_EQ(Decode(clip, decoder.get()), DecodeAfresh(clip, options)) << path;
    }
  }
  EXPECT_GT(reused, 0);
}

}  // namespace
}  // namespace nvc
