// Tests that an index made from the packets' headers alone, a small part of the file, equals the
// index made from the whole file.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/golden_corpus.h"
#include "tests/core/testing/index_checks.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/decode/frame_stream.h"
#include "tf_nvcodec/core/demux/headers_only_source.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {
namespace {

using ::testing::IsSupersetOf;

// A source that reports this overhead for each read is read whole.
constexpr int64_t kReadAll = std::numeric_limits<int64_t>::max();

class CountingSource : public ByteSource {
 public:
  explicit CountingSource(absl::string_view bytes, int64_t overhead = 0)
      : source_(bytes), overhead_(overhead) {}
  int64_t Size() const override { return source_.Size(); }
  absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override {
    auto read = source_.ReadAt(offset, out, count);
    bytes += static_cast<int64_t>(*read);
    return read;
  }
  int64_t ReadOverhead() const override { return overhead_; }
  mutable std::atomic<int64_t> bytes{0};

 private:
  const MemorySource source_;
  const int64_t overhead_;
};

uint32_t BigEndian(absl::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = (value << 8) | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// Returns an MP4 file with a gap inserted between its samples and the moov box behind them. Without
// the gap, opening a small file reads all of it into the demuxer's buffer. Returns other files
// unchanged.
std::string WithGap(const std::string& bytes) {
  constexpr size_t kGap = 512 << 10;
  bool media = false;
  for (size_t at = 0; at + 8 <= bytes.size();) {
    const uint32_t size = BigEndian(bytes, at);
    const std::string type = bytes.substr(at + 4, 4);
    if (type == "moov" && media) {
      std::string gap(kGap, '\0');
      gap.replace(0, 8, std::string("\0\x08\0\0free", 8));
      return bytes.substr(0, at) + gap + bytes.substr(at);
    }
    media = media || type == "mdat";
    if (size < 8) break;
    at += size;
  }
  return bytes;
}

// Checks that both ways of reading give the same index. Returns whether the headers-only way read
// fewer bytes.
bool ExpectSameIndexSparsely(absl::string_view bytes) {
  const CountingSource sparse_source(bytes), full_source(bytes, kReadAll);
  const auto full = FrameIndex::Build(full_source, {}, nullptr);
  const auto sparse = FrameIndex::Build(sparse_source, {}, nullptr);
  EXPECT_EQ(full.status(), sparse.status());
  if (full.ok() && sparse.ok()) ExpectSameIndex(*full, *sparse);
  return sparse_source.bytes < full_source.bytes;
}

TEST(HeadersOnlyIndexTest, EveryKindOfFileHasTheSameIndex) {
  std::set<std::string> read_sparsely;
  for (const std::string& path : GoldenClips()) {
    SCOPED_TRACE(path);
    const std::string bytes = ReadFile(path);
    ExpectSameIndexSparsely(bytes);
    const std::string with_gap = WithGap(bytes);
    if (with_gap.size() > bytes.size() && ExpectSameIndexSparsely(with_gap)) {
      read_sparsely.insert(std::filesystem::path(path).filename());
    }
  }
  EXPECT_FALSE(read_sparsely.empty());
  if (GoldenFolder().empty()) return;
  EXPECT_THAT(read_sparsely, IsSupersetOf({"h264.mp4", "hevc.mp4", "av1.mp4", "vp9.mp4"}));
}

TEST(HeadersOnlyIndexTest, DamagedFilesHaveTheSameIndex) {
  for (const std::string& path : GoldenClips()) {
    const std::string name = std::filesystem::path(path).filename();
    if (name != "h264_audio.mp4" && name != "hevc.mp4" && name != "av1.mp4") continue;
    std::string clip = WithGap(ReadFile(path));
    const MemorySource source(clip);
    const FrameIndex index = FrameIndex::Build(source, {}, nullptr).value();
    const size_t moov = clip.rfind("moov");
    std::mt19937_64 random(1);
    for (int i = 0; i < 150; ++i) {
      // Flips a bit at a packet's start, anywhere in a packet, or in the container's tables.
      const PacketEntry& packet = index.packets()[random() % index.packets().size()];
      const size_t length = i % 3 == 0 ? 16 : static_cast<size_t>(packet.size);
      size_t at = static_cast<size_t>(packet.offset) + random() % length;
      if (i % 3 == 2) at = moov + random() % (clip.size() - moov);
      const char bit = static_cast<char>(1 << (random() % 8));
      clip[at] ^= bit;
      SCOPED_TRACE(name + ", byte " + std::to_string(at));
      ExpectSameIndexSparsely(clip);
      clip[at] ^= bit;
    }
  }
  for (const size_t cut : {1, 5000, 300000}) {
    ExpectSameIndexSparsely(absl::string_view(RealClip()).substr(0, RealClip().size() - cut));
  }
}

// A source whose reads fail from byte `from` on.
class FailingSource : public ByteSource {
 public:
  FailingSource(absl::string_view bytes, int64_t from, int64_t overhead)
      : source_(bytes), from_(from), overhead_(overhead) {}
  int64_t Size() const override { return source_.Size(); }
  absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override {
    const int64_t end = std::min(offset + static_cast<int64_t>(count), Size());
    if (end <= from_) return source_.ReadAt(offset, out, count);
    return absl::UnavailableError("the server is gone");
  }
  int64_t ReadOverhead() const override { return overhead_; }

 private:
  const MemorySource source_;
  const int64_t from_, overhead_;
};

// If a failed read counted as the end of the file, the index of a shorter video would be stored for
// this file.
TEST(HeadersOnlyIndexTest, AFailedReadIsNotTheEndOfTheFile) {
  if (GoldenFolder().empty()) GTEST_SKIP() << "tests/golden/make_clips.py has not run";
  for (const std::string& path : GoldenClips()) {
    if (std::filesystem::path(path).filename() != "h264_faststart.mp4") continue;
    const std::string clip = ReadFile(path);
    const auto size = static_cast<int64_t>(clip.size());
    for (const int64_t overhead : {int64_t{0}, kReadAll}) {
      for (const int64_t from : {int64_t{0}, int64_t{100}, size / 2, size * 3 / 4}) {
        const FailingSource source(clip, from, overhead);
        const auto index = FrameIndex::Build(source, {}, nullptr);
        EXPECT_EQ(index.status(), absl::UnavailableError("the server is gone")) << from;
      }
      const FailingSource sound(clip, size, overhead);
      EXPECT_TRUE(FrameIndex::Build(sound, {}, nullptr).ok());
    }
    return;
  }
  FAIL() << "there is no h264_faststart.mp4";
}

class NullSink : public FrameSink {
 public:
  void Start(int) override {}
  absl::Status Write(int, int, const AVFrame&) override {
    ++pictures;
    return absl::OkStatus();
  }
  std::atomic<int> pictures{0};
};

// Runs ffmpeg commands in a folder of their own and returns the bytes of the file `name` there.
std::string Ffmpeg(const std::vector<std::string>& commands, const std::string& name) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("sparse_index_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (const std::string& arguments : commands) {
    const std::string command =
        "cd '" + folder.string() + "' && ffmpeg -nostdin -v error -y " + arguments;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  const std::string bytes = ReadFile((folder / name).string());
  std::filesystem::remove_all(folder);
  return bytes;
}

// Makes a file of 2000 frames at 28 Mbit/s with interleaved audio.
std::string LargeFile() {
  return Ffmpeg({"-f lavfi -i testsrc2=size=640x360:rate=25:duration=2 -f lavfi -i sine=duration=2 "
                 "-vf noise=alls=40:allf=t -c:v libx264 -preset ultrafast -bf 2 -g 10 -b:v 15M "
                 "piece.mp4",
                 "-stream_loop 39 -i piece.mp4 -c copy loop.mp4"},
                "loop.mp4");
}

TEST(HeadersOnlyIndexTest, ALargeFileIsReadOnlyInPart) {
  const std::string bytes = LargeFile();
  ASSERT_GT(bytes.size(), 20u << 20);
  EXPECT_TRUE(ExpectSameIndexSparsely(bytes));
  const CountingSource source(bytes);
  const auto index = FrameIndex::Build(source, {}, nullptr);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->num_frames(), 2000);
  const int64_t for_index = source.bytes;
  std::vector<int64_t> clip(16);
  std::iota(clip.begin(), clip.end(), 500);
  NullSink sink;
  DamagedFrames damaged;
  ReadOptions options;
  options.num_threads = 1;
  ASSERT_TRUE(ReadFrames(*index, source, clip, options, &sink, &damaged).ok());
  EXPECT_EQ(sink.pictures, 16);
  EXPECT_TRUE(damaged.empty());
  EXPECT_LT(static_cast<double>(source.bytes), 0.03 * static_cast<double>(bytes.size()));
  RecordProperty("file_bytes", static_cast<int>(bytes.size()));
  RecordProperty("index_bytes", static_cast<int>(for_index));
  RecordProperty("clip_bytes", static_cast<int>(source.bytes - for_index));
}

SampleTable TableOf(absl::string_view bytes) {
  const MemorySource source(bytes);
  const auto demuxer = Demuxer::Open(source, nullptr);
  EXPECT_TRUE(demuxer.ok()) << demuxer.status();
  return (*demuxer)->Samples();
}

TEST(SampleTableTest, HasEverySampleOfTheFile) {
  const SampleTable table = TableOf(RealClip());
  int wanted = 0;
  for (const SampleTable::Sample& sample : table.samples()) {
    EXPECT_EQ(table.Find(sample.offset) != nullptr, sample.wanted);
    EXPECT_EQ(table.Find(sample.offset + 1), nullptr);
    wanted += sample.wanted ? 1 : 0;
  }
  EXPECT_EQ(wanted, kRealClipFrames);
  EXPECT_GT(table.samples().size(), static_cast<size_t>(wanted)) << "audio";
}

TEST(SampleTableTest, IsEmptyIfItCannotBeTrusted) {
  // First the mdat box gets another name, then it is shortened so that the last samples lie
  // outside.
  std::string clip = RealClip();
  const size_t media = clip.find("mdat");
  clip.replace(media, 4, "free");
  EXPECT_TRUE(TableOf(clip).empty());
  clip = RealClip();
  const uint32_t size = BigEndian(clip, media - 4);
  // The bytes that are cut off become a box of their own.
  constexpr uint32_t kCut = 1000;
  for (size_t i = 0; i < 4; ++i) {
    clip[media - 4 + i] = static_cast<char>((size - kCut) >> (24 - 8 * i));
    clip[media - 4 + size - kCut + i] = static_cast<char>(kCut >> (24 - 8 * i));
  }
  clip.replace(media + size - kCut, 4, "free");
  EXPECT_TRUE(TableOf(clip).empty());
  for (const std::string& path : GoldenClips()) {
    const std::string name = std::filesystem::path(path).filename();
    if (name == "h264_fragmented.mp4" || name == "h264.mkv" || name == "h264.ts") {
      EXPECT_TRUE(TableOf(ReadFile(path)).empty()) << name;
    }
  }
}

TEST(HeadersOnlySourceTest, KeepsOffsetsHoweverItIsRead) {
  const std::string& clip = RealClip();
  const SampleTable table = TableOf(clip);
  const CountingSource source(clip);
  const HeadersOnlySource sparse(source, table, [](PacketParts* packet) { packet->Need(3, 40); });
  std::string all(clip.size(), '?');
  ASSERT_EQ(sparse.ReadAt(0, &all[0], all.size() + 100).value(), clip.size());
  EXPECT_LT(source.bytes, static_cast<int64_t>(clip.size()) / 5);
  size_t differing = 0;
  for (size_t i = 0; i < clip.size(); ++i) {
    if (all[i] == clip[i]) continue;
    ++differing;
    ASSERT_EQ(all[i], '\0');
    const auto sample = table.After(static_cast<int64_t>(i));
    ASSERT_NE(sample, table.samples().end());
    ASSERT_GE(static_cast<int64_t>(i), sample->offset);
  }
  EXPECT_GT(differing, clip.size() / 2);
  std::mt19937_64 random(4);
  for (int i = 0; i < 2000; ++i) {
    const size_t offset = random() % clip.size(), count = random() % (1 << random() % 18);
    std::string some(count, '?');
    const size_t read = sparse.ReadAt(static_cast<int64_t>(offset), &some[0], count).value();
    ASSERT_EQ(some.substr(0, read), all.substr(offset, count)) << offset << ", " << count;
  }
  EXPECT_EQ(sparse.ReadAt(sparse.Size(), &all[0], 1).value(), 0u);
}

// Reads each sample from its beginning in one or several pieces, as a demuxer does.
TEST(HeadersOnlySourceTest, AReadEndsWithTheHeadersOfItsSample) {
  const std::string& clip = RealClip();
  const MemorySource source(clip);
  const auto demuxer = Demuxer::Open(source, nullptr);
  ASSERT_TRUE(demuxer.ok());
  const SampleTable table = (*demuxer)->Samples();
  const HeaderReader read_headers = HeaderReaderFor(*(*demuxer)->stream().codec);
  const HeadersOnlySource sparse(source, table, read_headers);
  size_t of_briefs = 0, of_samples = 0;
  for (const SampleTable::Sample& sample : table.samples()) {
    if (!sample.wanted) continue;
    PacketParts packet;
    packet.Start(&source, sample.offset, static_cast<size_t>(sample.size));
    read_headers(&packet);
    const std::string brief(packet.brief().begin(), packet.brief().end());
    ASSERT_FALSE(brief.empty());
    of_briefs += brief.size();
    of_samples += static_cast<size_t>(sample.size);
    for (const size_t piece : {static_cast<size_t>(sample.size), size_t{1}, size_t{100}}) {
      std::string read;
      for (bool more = true; more;) {
        std::string some(std::min(piece, static_cast<size_t>(sample.size) - read.size()), '?');
        const int64_t at = sample.offset + static_cast<int64_t>(read.size());
        some.resize(some.empty() ? 0 : sparse.ReadAt(at, &some[0], some.size()).value());
        read += some;
        more = !some.empty();
      }
      ASSERT_EQ(read, brief) << piece;
    }
    // The slice is cut and its length field says so. The NAL units before it are unchanged.
    const absl::string_view whole = absl::string_view(clip).substr(
        static_cast<size_t>(sample.offset), static_cast<size_t>(sample.size));
    for (size_t at = 0; at < brief.size();) {
      const uint32_t kept = BigEndian(brief, at), length = BigEndian(whole, at);
      ASSERT_LE(kept, length);
      ASSERT_EQ(brief.substr(at + 4, kept), whole.substr(at + 4, kept));
      if (kept < length) {
        ASSERT_EQ(at + 4 + kept, brief.size());
      }
      at += 4 + kept;
    }
  }
  EXPECT_LT(of_briefs * 5, of_samples);
}

}  // namespace
}  // namespace nvc
