// The targets that read containers, and the index made of them.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/bitstream/elementary_packets.h"
#include "tf_nvcodec/core/decode/decode_plan.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/index/frame_index_io.h"

namespace nvc {
namespace fuzz {
namespace {

// Memory of which only the headers of packets are read, where the container allows that.
class SlowSource : public MemorySource {
 public:
  using MemorySource::MemorySource;
  int64_t ReadOverhead() const override { return 0; }
};

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "fuzz target failed: %s\n", why.c_str());
  std::abort();
}

// Plans decodes by an index.
void Plan(const FrameIndex& index) {
  const int64_t last = index.num_frames() - 1;
  if (last < 0) Fail("an index without frames");
  const std::vector<int64_t> wanted = {0, last / 2, last};
  for (const Segment& segment : PlanSegments(index, wanted)) {
    for (int i = segment.first_packet; i <= segment.last_packet; ++i) {
      if (IsNeeded(index, segment, i)) PartsToSend(index, segment, i);
      for (const int frame : segment.frames) DependsOn(index, segment, frame, i, -1);
    }
  }
  ExpectNamed(index.FrameAt(index.duration() / 2).status());
}

// A written index is read back as the same bytes.
void Rewrite(const FrameIndex& index) {
  const absl::StatusOr<std::string> written = SerializeFrameIndex(index);
  if (!written.ok()) return;  // it holds packets
  const absl::StatusOr<FrameIndex> read = ParseFrameIndex(*written);
  if (!read.ok()) Fail("an index is not read back: " + read.status().ToString());
  const absl::StatusOr<std::string> again = SerializeFrameIndex(*read);
  if (!again.ok() || *again != *written) Fail("an index is read back as another one");
}

// Cancels the making of an index at some moment. It must say so, and nothing about the file.
void BuildCancelled(const ByteSource& source, const FrameIndex::Limits& limits, int most_polls) {
  int polls = 0;
  bool over = false;
  const auto index = FrameIndex::Build(source, limits, [&] { return over = ++polls > most_polls; });
  const absl::Status& status = index.status();
  // A limit may have been passed before.
  if (over && !absl::IsCancelled(status) && !absl::IsResourceExhausted(status)) {
    Fail("cancelled, but: " + status.ToString());
  }
}

}  // namespace

void ExpectNamed(const absl::Status& status) {
  const bool named = status.ok() || absl::IsInvalidArgument(status) || absl::IsDataLoss(status) ||
                     absl::IsResourceExhausted(status) || absl::IsUnimplemented(status);
  if (!named || (!status.ok() && status.message().size() < 10)) Fail(status.ToString());
}

void Demux(absl::string_view input) {
  Choices choices(input);
  const MemorySource source(input);
  const auto look = choices.Flip() ? Demuxer::Look::kEverything : Demuxer::Look::kHeaders;
  auto opened =
      Demuxer::Open(source, nullptr, look, {SmallLimits().max_pixels, SmallLimits().max_packets});
  ExpectNamed(opened.status());
  if (!opened.ok()) return;
  Demuxer& demuxer = **opened;
  ExpectNamed(demuxer.Sound().status());
  demuxer.Samples().MeanSize();
  if (choices.Flip()) demuxer.KeepSound();
  auto elementary = ElementaryPackets::Create(*demuxer.stream().codec, demuxer.stream().time_base);
  const int stream = demuxer.stream().index;
  AvPacketPtr packet(av_packet_alloc());
  int64_t middle = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < kMostPackets; ++i) {
      const auto more = demuxer.Next(packet.get());
      ExpectNamed(more.status());
      if (!more.ok() || !*more) break;
      if (i % 2 == 0) middle = packet->pts;
      if (elementary.ok() && packet->stream_index == stream) {
        (*elementary)->Convert(packet.get()).IgnoreError();
      }
    }
    if (pass == 1 || !demuxer.Seek(middle).ok()) break;
    if (elementary.ok()) (*elementary)->Reset(choices.Flip());
  }
}

void Index(absl::string_view input) {
  Choices choices(input);
  const MemorySource whole(input);
  const SlowSource parts(input);
  const ByteSource& source = choices.Flip() ? static_cast<const ByteSource&>(parts) : whole;
  FrameIndex::Limits limits = SmallLimits();
  limits.believe_sample_table = choices.Flip();
  if (choices.Below(8) == 0) return BuildCancelled(source, limits, choices.Below(300));
  const auto index = FrameIndex::Build(source, limits, nullptr);
  ExpectNamed(index.status());
  if (!index.ok()) return;
  Plan(*index);
  Rewrite(*index);
  if (index->only_sample_table()) CheckSyncSamples(*index, source, {0}).IgnoreError();
}

}  // namespace fuzz
}  // namespace nvc
