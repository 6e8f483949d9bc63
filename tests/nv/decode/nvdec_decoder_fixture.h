// A fixture for tests of NvdecDecoder on a fake driver. Packets are words, which tell the fake
// parser what to report.
#ifndef TF_NVCODEC_TESTS_NV_DECODE_NVDEC_DECODER_FIXTURE_H_
#define TF_NVCODEC_TESTS_NV_DECODE_NVDEC_DECODER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/nv/testing/nvdec_fake.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"
#include "tf_nvcodec/nv/decode/nvdec_decoder.h"

namespace nvc {

class NvdecDecoderTest : public ::testing::Test {
 protected:
  NvdecDecoderTest() : frame_(av_frame_alloc()) { pool_ = MakePool(); }

  std::unique_ptr<NvdecPool> MakePool() {
    NvdecPool::Limits limits;
    limits.max_idle = 4;
    limits.max_idle_bytes = size_t{1} << 30;
    return std::make_unique<NvdecPool>(gpu_.device(), gpu_.cuvid(), limits);
  }

  absl::Status TryToOpen(AVCodecID codec, const std::string& headers,
                         const DecoderOptions& options = {}) {
    AvCodecParametersPtr parameters(avcodec_parameters_alloc());
    parameters->codec_type = AVMEDIA_TYPE_VIDEO;
    parameters->codec_id = codec;
    parameters->color_space = AVCOL_SPC_BT470BG;
    NVC_RETURN_IF_ERROR(SetParameterSets(headers, parameters.get()));
    NVC_ASSIGN_OR_RETURN(decoder_, OpenNvdecDecoder(pool_.get(), *parameters, {1, 25}, options));
    next_packet_ = 0;
    return absl::OkStatus();
  }

  // VP8 is the default because its packets reach the parser unchanged.
  void Open(AVCodecID codec = AV_CODEC_ID_VP8, const std::string& headers = "",
            const DecoderOptions& options = {}) {
    const absl::Status opened = TryToOpen(codec, headers, options);
    ASSERT_TRUE(opened.ok()) << opened;
  }

  absl::Status Send(const std::string& words, int flags = 0) {
    AvPacketPtr packet(av_packet_alloc());
    av_new_packet(packet.get(), static_cast<int>(words.size()));
    std::memcpy(packet->data, words.data(), words.size());
    packet->pos = next_packet_;
    packet->pts = 100 + next_packet_++;
    packet->flags = flags;
    return decoder_->Send(packet.get());
  }

  // Receives all frames that are ready and releases them. Returns the packets that they came from.
  std::vector<int64_t> Receive() {
    std::vector<int64_t> packets;
    while (true) {
      const absl::StatusOr<bool> received = decoder_->Receive(frame_.get());
      EXPECT_TRUE(received.ok()) << received.status();
      if (!received.ok() || !*received) return packets;
      packets.push_back(PacketPos(*frame_));
      EXPECT_EQ(frame_->pts, 100 + PacketPos(*frame_));
      EXPECT_NE(GpuPictureOf(*frame_), nullptr);
      av_frame_unref(frame_.get());
    }
  }

  std::vector<int64_t> SendAndReceive(const std::string& words) {
    const absl::Status sent = Send(words);
    EXPECT_TRUE(sent.ok()) << sent;
    return Receive();
  }

  std::vector<int64_t> Finish() {
    const absl::Status sent = decoder_->Send(nullptr);
    EXPECT_TRUE(sent.ok()) << sent;
    return Receive();
  }

  FakeGpu gpu_;
  std::unique_ptr<NvdecPool> pool_;
  std::unique_ptr<Decoder> decoder_;
  AvFramePtr frame_;
  int next_packet_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_NV_DECODE_NVDEC_DECODER_FIXTURE_H_
