#include "tf_nvcodec/capi/decoder.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/capi/demuxer.h"
#include "tf_nvcodec/capi/error.h"
#include "tf_nvcodec/capi/reader.h"
#include "tf_nvcodec/capi/source.h"

namespace nvc {
namespace {

nvc_source* SourceOf(const std::string& bytes) {
  nvc_source* source = nullptr;
  EXPECT_EQ(nvc_source_of_memory("clip", bytes.data(), bytes.size(), &source), 0);
  return source;
}

nvc_decoder_options Options() {
  nvc_decoder_options options = {};
  options.codec = -1;
  options.backend = 1;
  return options;
}

int64_t FreeAll(nvc_decoder* decoder, int64_t* last_pts) {
  int64_t count = 0;
  while (nvc_frame* const frame = nvc_decoder_take_frame(decoder)) {
    nvc_frame_info info;
    nvc_frame_get_info(frame, &info);
    EXPECT_GT(info.pts, *last_pts);
    *last_pts = info.pts;
    nvc_frame_free(frame);
    ++count;
  }
  return count;
}

// Decodes a clip and returns how many frames come out. Sends whole packets of a demuxer, or only
// their bytes in pieces of `piece` bytes. At least `least_waiting` frames must come out at the end.
int64_t CountFrames(const std::string& clip, bool with_stream, int64_t piece,
                    int64_t least_waiting = 1) {
  nvc_source* const source = SourceOf(clip);
  nvc_demuxer* demuxer = nullptr;
  EXPECT_EQ(nvc_demuxer_open(source, &demuxer), 0) << nvc_last_error();
  nvc_source_free(source);
  nvc_stream_info stream;
  EXPECT_EQ(nvc_demuxer_get_info(demuxer, &stream), 0);
  nvc_decoder_options options = Options();
  options.codec = stream.nv_codec;
  nvc_decoder* decoder = nullptr;
  EXPECT_EQ(nvc_decoder_create(&options, &decoder), 0) << nvc_last_error();
  int64_t count = 0, waiting = 0, last_pts = INT64_MIN;
  while (true) {
    nvc_packet* packet = nullptr;
    nvc_packet_info info;
    EXPECT_EQ(nvc_demuxer_next(demuxer, &packet, &info), 0) << nvc_last_error();
    if (packet == nullptr) break;
    for (int64_t at = 0; at < info.size; at += piece) {
      nvc_packet_input input = {};
      input.data = reinterpret_cast<const uint8_t*>(info.data) + at;
      input.size = std::min(piece, info.size - at);
      input.pts = info.pts;
      input.dts = info.dts;
      input.is_key = info.is_key;
      input.packet = with_stream ? packet : nullptr;
      EXPECT_EQ(nvc_decoder_decode(decoder, &input, &waiting), 0) << nvc_last_error();
    }
    nvc_packet_free(packet);
    count += FreeAll(decoder, &last_pts);
  }
  EXPECT_EQ(nvc_decoder_decode(decoder, nullptr, &waiting), 0) << nvc_last_error();
  EXPECT_GE(waiting, least_waiting);
  count += FreeAll(decoder, &last_pts);
  nvc_decoder_free(decoder);
  nvc_demuxer_free(demuxer);
  return count;
}

TEST(DecoderApiTest, DecodesADemuxersPackets) {
  EXPECT_EQ(CountFrames(BFramesClip(), /*with_stream=*/true, INT64_MAX / 2), kBFramesClipFrames);
  // With a single core, dav1d returns each frame at once.
  EXPECT_EQ(CountFrames(Av1Clip(), /*with_stream=*/true, INT64_MAX / 2, /*least_waiting=*/0),
            kAv1ClipFrames);
}

TEST(DecoderApiTest, DecodesPiecesOfAnElementaryStream) {
  EXPECT_EQ(CountFrames(BFramesClip(), /*with_stream=*/false, 100), kBFramesClipFrames);
}

TEST(DecoderApiTest, MayBeFreedWithFramesInside) {
  nvc_source* const source = SourceOf(BFramesClip());
  nvc_demuxer* demuxer = nullptr;
  ASSERT_EQ(nvc_demuxer_open(source, &demuxer), 0);
  nvc_source_free(source);
  nvc_decoder_options options = Options();
  nvc_decoder* decoder = nullptr;
  ASSERT_EQ(nvc_decoder_create(&options, &decoder), 0);
  int64_t waiting = 0;
  for (int i = 0; i < 40; ++i) {
    nvc_packet* packet = nullptr;
    nvc_packet_info info;
    ASSERT_EQ(nvc_demuxer_next(demuxer, &packet, &info), 0);
    nvc_packet_input input = {};
    input.data = reinterpret_cast<const void*>(info.data);
    input.size = info.size;
    input.packet = packet;
    EXPECT_EQ(nvc_decoder_decode(decoder, &input, &waiting), 0);
    nvc_packet_free(packet);
  }
  EXPECT_GT(waiting, 0);
  nvc_frame* const kept = nvc_decoder_take_frame(decoder);
  nvc_demuxer_free(demuxer);
  nvc_decoder_free(decoder);
  nvc_frame_info info;
  nvc_frame_get_info(kept, &info);
  std::string copy(reinterpret_cast<const char*>(info.data), info.bytes);
  EXPECT_EQ(copy.size(), 160u * 90 * 3 / 2);
  nvc_frame_free(kept);
}

TEST(DecoderApiTest, TellsWhatIsWrong) {
  nvc_decoder_options options = Options();
  options.codec = 64;  // a number that no codec has
  nvc_decoder* decoder = nullptr;
  EXPECT_EQ(nvc_decoder_create(&options, &decoder),
            static_cast<int>(absl::StatusCode::kUnimplemented));
  EXPECT_EQ(decoder, nullptr);
  options = Options();
  ASSERT_EQ(nvc_decoder_create(&options, &decoder), 0);
  nvc_packet_input input = {};
  input.data = "abc";
  input.size = 3;
  int64_t waiting = 0;
  EXPECT_EQ(nvc_decoder_decode(decoder, &input, &waiting),
            static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_STREQ(nvc_last_error(),
               "the codec of the packet is unknown: pass the codec to CreateDecoder, or packets of "
               "CreateDemuxer");
  EXPECT_EQ(nvc_decoder_decode(decoder, nullptr, &waiting), 0);
  nvc_decoder_free(decoder);
}

TEST(ReaderApiTest, GivesAllFramesOrNone) {
  nvc_source* const source = SourceOf(BFramesClip());
  const nvc_decoder_options options = Options();
  nvc_reader* reader = nullptr;
  ASSERT_EQ(nvc_reader_open(source, &options, &reader), 0) << nvc_last_error();
  nvc_source_free(source);
  nvc_reader_info info;
  nvc_reader_get_info(reader, &info);
  EXPECT_EQ(info.num_frames, kBFramesClipFrames);
  EXPECT_STREQ(info.codec, "h264");
  std::vector<nvc_reader_packet> packets(static_cast<size_t>(info.num_packets));
  nvc_reader_get_packets(reader, packets.data());
  EXPECT_EQ(packets[0].frame, 0);
  EXPECT_EQ(packets[0].is_key, 1);
  const int64_t wanted[] = {59, 0, 59};
  nvc_frame* frames[3] = {};
  ASSERT_EQ(nvc_reader_read(reader, wanted, 3, frames), 0) << nvc_last_error();
  EXPECT_EQ(frames[0]->memory, frames[2]->memory);
  for (nvc_frame* frame : frames) nvc_frame_free(frame);
  const int64_t beyond[] = {0, 60};
  EXPECT_EQ(nvc_reader_read(reader, beyond, 2, frames),
            static_cast<int>(absl::StatusCode::kOutOfRange));
  EXPECT_STREQ(nvc_last_error(), "clip: frame 60 of 60");
  nvc_reader_free(reader);
}

}  // namespace
}  // namespace nvc
