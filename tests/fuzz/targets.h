// The fuzz targets. Each takes any bytes and must neither crash, leak, hang nor allocate without
// limit. `make fuzz` feeds them under libFuzzer; regressions_test.cc feeds them what libFuzzer
// found.
#ifndef TF_NVCODEC_TESTS_FUZZ_TARGETS_H_
#define TF_NVCODEC_TESTS_FUZZ_TARGETS_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {
namespace fuzz {

// Of a video file, whose last byte also chooses options.
void Demux(absl::string_view input);          // containers: packets, sound, seeking, sample tables
void Index(absl::string_view input);          // the frame index, written and read back
void Decode(absl::string_view input);         // frames from the index to RGB and other formats
void Clips(absl::string_view input);          // the clips of a dataset, in one pass
void CompatDemuxer(absl::string_view input);  // the C API's demuxer and decoder

// A packed clip, whose checksum the target sets right.
void Packed(absl::string_view input);
// A byte for the codec (see CodecOf), then the extradata and the packets of a stream, each after
// two bytes with its size, the low byte first.
void Packets(absl::string_view input);
// A byte for the codec, a byte for the size of the pieces, and an elementary stream.
void CompatParser(absl::string_view input);

struct Target {
  const char* name;
  void (*run)(absl::string_view input);
};
inline constexpr Target kTargets[] = {
    {"demux", &Demux},
    {"index", &Index},
    {"decode", &Decode},
    {"clips", &Clips},
    {"compat_demuxer", &CompatDemuxer},
    {"packed", &Packed},
    {"packets", &Packets},
    {"compat_parser", &CompatParser},
};

// How many packets of an input are read.
constexpr int kMostPackets = 300;

// Small limits, so that each input takes milliseconds.
inline FrameIndex::Limits SmallLimits() {
  FrameIndex::Limits limits;
  limits.max_frames = limits.max_packets = 10000;
  limits.max_pixels = int64_t{1} << 18;
  return limits;
}

// Aborts unless the status is OK or an error that may be about the input.
void ExpectNamed(const absl::Status& status);

// The choices that an input makes, a bit or a few at a time.
class Choices {
 public:
  explicit Choices(absl::string_view input)
      : bits_(input.empty() ? 0u : static_cast<uint8_t>(input.back()) * 2654435761u) {}
  // Returns a number below `count`.
  int Below(int count) {
    const uint32_t chosen = (bits_ >> 16) % static_cast<uint32_t>(count);
    bits_ = bits_ * 1664525u + 1013904223u;
    return static_cast<int>(chosen);
  }
  bool Flip() { return Below(2) == 1; }

 private:
  uint32_t bits_;
};

// Codecs that packets are inspected and parsed of. An input names one by its place here.
inline constexpr AVCodecID kCodecs[] = {
    AV_CODEC_ID_H264,       AV_CODEC_ID_HEVC,  AV_CODEC_ID_AV1,   AV_CODEC_ID_VP9,
    AV_CODEC_ID_VP8,        AV_CODEC_ID_MPEG4, AV_CODEC_ID_MJPEG, AV_CODEC_ID_MPEG2VIDEO,
    AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_VC1,   AV_CODEC_ID_FFV1,  AV_CODEC_ID_PRORES,
};
inline AVCodecID CodecOf(char byte) {
  return kCodecs[static_cast<uint8_t>(byte) % (sizeof kCodecs / sizeof *kCodecs)];
}

}  // namespace fuzz
}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_FUZZ_TARGETS_H_
