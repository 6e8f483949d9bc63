// The targets of the C API, on which tf_nvcodec.compat stands.

#include <algorithm>
#include <climits>
#include <memory>

#include "tests/fuzz/targets.h"
#include "tf_nvcodec/capi/decoder.h"
#include "tf_nvcodec/capi/demuxer.h"
#include "tf_nvcodec/capi/frame.h"
#include "tf_nvcodec/capi/source.h"
#include "tf_nvcodec/core/format/codec_table.h"

namespace nvc {
namespace fuzz {
namespace {

constexpr int64_t kUnknown = INT64_MIN;
constexpr int kWithFfmpeg = 1;

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using SourcePtr = std::unique_ptr<nvc_source, Freed<&nvc_source_free>>;
using DemuxerPtr = std::unique_ptr<nvc_demuxer, Freed<&nvc_demuxer_free>>;
using PacketPtr = std::unique_ptr<nvc_packet, Freed<&nvc_packet_free>>;
using DecoderPtr = std::unique_ptr<nvc_decoder, Freed<&nvc_decoder_free>>;
using FramePtr = std::unique_ptr<nvc_frame, Freed<&nvc_frame_free>>;

void TakeFrames(nvc_decoder* decoder, int64_t count) {
  for (; count > 0; --count) {
    const FramePtr frame(nvc_decoder_take_frame(decoder));
    nvc_frame_info info;
    if (frame != nullptr) nvc_frame_get_info(frame.get(), &info);
  }
}

// Returns null for a codec that the C API does not name.
DecoderPtr NewDecoder(int codec, Choices* choices) {
  nvc_decoder_options options = {};
  options.codec = codec;
  options.backend = kWithFfmpeg;
  options.max_width = options.max_height = 512;
  options.color = choices->Below(3);
  options.low_latency = choices->Below(2);
  nvc_decoder* decoder = nullptr;
  nvc_decoder_create(&options, &decoder);
  return DecoderPtr(decoder);
}

}  // namespace

void CompatDemuxer(absl::string_view input) {
  Choices choices(input);
  nvc_source* made = nullptr;
  nvc_source_of_memory("fuzz", input.data(), input.size(), &made);
  const SourcePtr source(made);
  nvc_demuxer* opened = nullptr;
  if (source == nullptr || nvc_demuxer_open(source.get(), &opened) != 0) return;
  const DemuxerPtr demuxer(opened);
  nvc_stream_info stream;
  nvc_demuxer_get_info(demuxer.get(), &stream);
  nvc_sound_info sound;
  nvc_demuxer_sound(demuxer.get(), 0, &sound);
  if (choices.Flip()) nvc_demuxer_keep_sound(demuxer.get());
  // Larger pictures would only take longer.
  const bool decodes = int64_t{stream.width} * stream.height <= SmallLimits().max_pixels;
  const DecoderPtr decoder = NewDecoder(-1, &choices);
  for (int pass = 0; pass < 2; ++pass) {
    int64_t middle = 0;
    for (int i = 0; i < kMostPackets; ++i) {
      nvc_packet* next = nullptr;
      nvc_packet_info info;
      if (nvc_demuxer_next(demuxer.get(), &next, &info) != 0) continue;
      if (next == nullptr) break;
      const PacketPtr packet(next);
      if (i % 2 == 0) middle = info.pts;
      if (!decodes || decoder == nullptr) continue;
      const nvc_packet_input sent = {
          packet->packet->data, info.size,         info.pts,    info.dts, info.pos,
          info.is_key,          info.is_discarded, packet.get()};
      int64_t frames = 0;
      nvc_decoder_decode(decoder.get(), &sent, &frames);
      TakeFrames(decoder.get(), frames);
    }
    if (decoder != nullptr) {
      int64_t frames = 0;
      nvc_decoder_decode(decoder.get(), nullptr, &frames);
      TakeFrames(decoder.get(), frames);
    }
    if (nvc_demuxer_seek(demuxer.get(), middle) != 0) break;
  }
}

void CompatParser(absl::string_view input) {
  if (input.size() < 3) return;
  Choices choices(input);
  const int codec = FactsOf(CodecOf(input[0])).nvdec.id;
  const size_t piece = 1 + static_cast<size_t>(static_cast<uint8_t>(input[1])) * 16;
  input.remove_prefix(2);
  if (codec < 0) return;
  const DecoderPtr decoder = NewDecoder(codec, &choices);
  if (decoder == nullptr) return;
  int64_t frames = 0;
  for (int i = 0; i < kMostPackets && !input.empty(); ++i) {
    const absl::string_view part = input.substr(0, piece);
    input.remove_prefix(part.size());
    const nvc_packet_input sent = {
        part.data(), static_cast<int64_t>(part.size()), kUnknown, kUnknown, -1, 0, 0, nullptr};
    nvc_decoder_decode(decoder.get(), &sent, &frames);
    TakeFrames(decoder.get(), frames);
  }
  nvc_decoder_decode(decoder.get(), nullptr, &frames);
  TakeFrames(decoder.get(), frames);
}

}  // namespace fuzz
}  // namespace nvc
