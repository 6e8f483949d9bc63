// The targets that decode: single frames, and the clips of a dataset.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/testing/packed_checksum.h"
#include "tests/core/testing/three_frames.h"
#include "tests/fuzz/targets.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/clips/clip_spec.h"
#include "tf_nvcodec/core/clips/packed_clip.h"
#include "tf_nvcodec/core/decode/frame_collector.h"
#include "tf_nvcodec/core/decode/video_info.h"
#include "tf_nvcodec/core/decode/window_stream.h"

namespace nvc {
namespace fuzz {
namespace {

constexpr int64_t kMostClips = 4;

OutputSpec DrawOutput(Choices* choices) {
  OutputSpec output;
  output.pixel_format = static_cast<PixelFormat>(choices->Below(8));
  if (Channels(output.pixel_format) != 0) {
    output.sample_type = static_cast<SampleType>(choices->Below(4));
    output.layout = static_cast<Layout>(choices->Below(2));
    output.flip = choices->Flip();
  }
  if (output.pixel_format != PixelFormat::kNative && choices->Flip()) {
    output.height = output.width = 32;
    output.resize_method = static_cast<ResizeMethod>(choices->Below(4));
  }
  output.chroma_upsampling = static_cast<ChromaUpsampling>(choices->Below(2));
  output.deinterlace = static_cast<Deinterlace>(choices->Below(2));
  return output;
}

ReadOptions OneThread() {
  ReadOptions options;
  options.num_threads = 1;
  options.max_pixels = SmallLimits().max_pixels;
  return options;
}

}  // namespace

void Decode(absl::string_view input) {
  Choices choices(input);
  const MemorySource source(input);
  if (choices.Below(8) == 0) {
    ExpectNamed(ProbeVideo(source, SmallLimits(), nullptr).status());
    return;
  }
  const auto index = FrameIndex::Build(source, SmallLimits(), nullptr);
  ExpectNamed(index.status());
  if (!index.ok()) return;
  const OutputSpec output = DrawOutput(&choices);
  const auto on_error = static_cast<OnError>(choices.Below(3));
  ExpectNamed(ReadThreeFrames(*index, source, output, OneThread(), on_error));
}

void Packed(absl::string_view input) {
  std::string packed(input);
  SetChecksum(&packed);
  auto unpacked = UnpackClip(packed, SmallLimits());
  ExpectNamed(unpacked.status());
  if (!unpacked.ok()) return;
  Choices choices(input);
  const OutputSpec output = DrawOutput(&choices);
  const auto on_error = static_cast<OnError>(choices.Below(3));
  ExpectNamed(ReadThreeFrames(unpacked->index, MemorySource(unpacked->data), output, OneThread(),
                              on_error));
}

void Clips(absl::string_view input) {
  Choices choices(input);
  const MemorySource source(input);
  const auto index = FrameIndex::Build(source, SmallLimits(), nullptr);
  ExpectNamed(index.status());
  if (!index.ok()) return;
  ClipSpec spec;
  spec.length = 1 + choices.Below(4);
  spec.stride = 1 + choices.Below(3);
  spec.step = 1 + choices.Below(5);
  spec.clips_per_video = kMostClips;
  // Moments as far apart as frames, or not: frames may have any duration.
  if (choices.Flip()) spec.period = 0.04;
  spec.sampling = static_cast<ClipSampling>(choices.Below(5));
  spec.pad = static_cast<ClipPad>(choices.Below(4));
  ExpectNamed(spec.Validate());
  TimeSegment segment;
  if (choices.Flip()) segment = {0.04 * choices.Below(9), 0.04 * choices.Below(99)};
  const int64_t count =
      spec.sampling == ClipSampling::kAll ? spec.CountAll(*index, segment) : spec.clips_per_video;
  std::vector<Window> windows;
  for (int64_t i = 0; i < count && i < kMostClips; ++i) {
    const auto clip = spec.Select(*index, i, /*seed=*/7, segment);
    if (!clip.ok()) continue;
    const bool fits =
        IsAscending(clip->frames) &&
        (windows.empty() || (DecodesInOrder(*index) && Follows(windows.back(), clip->frames)));
    if (fits && !clip->frames.empty()) windows.push_back(clip->frames);
  }
  if (windows.empty()) return;
  std::map<size_t, std::vector<uint8_t>> places;
  WindowStream::Memory memory;
  memory.allocate = [&](size_t window, const FrameShape& shape,
                        int64_t frames) -> absl::StatusOr<void*> {
    places[window].resize(shape.bytes * static_cast<size_t>(frames));
    return places[window].data();
  };
  memory.new_target = [] { return std::make_unique<HostTarget>(); };
  OutputSpec output = DrawOutput(&choices);
  const size_t num_windows = windows.size();
  const auto policy = static_cast<OnError>(choices.Below(3));
  const auto stream = WindowStream::Open(*index, source, std::move(windows), /*ahead=*/0, {output},
                                         policy, OneThread(), std::move(memory));
  ExpectNamed(stream.status());
  for (size_t i = 0; stream.ok() && i < num_windows; ++i) {
    WindowStream::Result result;
    const absl::Status read = (*stream)->Read(i, /*cancelled=*/nullptr, &result);
    ExpectNamed(read);
    ExpectNamed(result.status);
    if (!read.ok()) return;
  }
}

}  // namespace fuzz
}  // namespace nvc
