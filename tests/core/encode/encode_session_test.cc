#include "tf_nvcodec/core/encode/encode_session.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/x265_leaks.h"
#include "tf_nvcodec/core/encode/nvenc_settings.h"
#include "tf_nvcodec/core/encode/stream_spec.h"

extern "C" {
#include <libavutil/imgutils.h>
}

namespace nvc {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kWidth = 96, kHeight = 80;

SessionSpec Spec(EncodeCodec codec, InputFormat format = InputFormat::kNv12) {
  SessionSpec spec;
  spec.codec = codec;
  spec.format = format;
  spec.width = kWidth;
  spec.height = kHeight;
  return spec;
}

std::vector<uint8_t> Frame(size_t bytes, int index) {
  std::vector<uint8_t> frame(bytes);
  for (size_t i = 0; i < bytes; ++i) frame[i] = static_cast<uint8_t>(i * 7 + index * 3);
  return frame;
}

std::vector<SessionPacket> Drain(EncodeSession* session) {
  std::vector<SessionPacket> packets;
  for (SessionPacket packet; session->Next(&packet);) packets.push_back(packet);
  return packets;
}

TEST(InputFormatTest, NamesAreReadInAnyCase) {
  EXPECT_EQ(*ParseInputFormat("nv12"), InputFormat::kNv12);
  EXPECT_EQ(*ParseInputFormat("IYUV"), InputFormat::kYuv420);
  EXPECT_EQ(*ParseInputFormat("YUV444_16bit"), InputFormat::kYuv444Wide);
  const absl::Status status = ParseInputFormat("RGB").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("NV12, YUV420"));
  EXPECT_THAT(status.message(), HasSubstr("got \"RGB\""));
}

TEST(EncodeSessionTest, FrameBytesAreThoseOfTheFormat) {
  const size_t pixels = kWidth * kHeight;
  const std::vector<std::pair<InputFormat, size_t>> want = {
      {InputFormat::kNv12, pixels * 3 / 2},   {InputFormat::kYuv420, pixels * 3 / 2},
      {InputFormat::kYuv444, pixels * 3},     {InputFormat::kP010, pixels * 3},
      {InputFormat::kYuv444Wide, pixels * 6}, {InputFormat::kArgb, pixels * 4},
      {InputFormat::kAbgr, pixels * 4},
  };
  for (const auto& [format, bytes] : want) {
    auto session = EncodeSession::Create(Spec(EncodeCodec::kH264, format));
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_EQ((*session)->frame_bytes(), bytes);
    const std::vector<uint8_t> frame = Frame(bytes, 0);
    ASSERT_TRUE((*session)->Encode(frame.data(), frame.size(), 0, false).ok());
    ASSERT_TRUE((*session)->Finish().ok());
    EXPECT_EQ(Drain(session->get()).size(), 1u);
  }
}

class CodecTest : public testing::TestWithParam<EncodeCodec> {};

TEST_P(CodecTest, EachFrameIsOnePacketWithItsTimestamp) {
  auto session = EncodeSession::Create(Spec(GetParam()));
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<SessionPacket> packets;
  for (int i = 0; i < 9; ++i) {
    const std::vector<uint8_t> frame = Frame((*session)->frame_bytes(), i);
    ASSERT_TRUE((*session)->Encode(frame.data(), frame.size(), 100 + i, false).ok());
    for (SessionPacket& packet : Drain(session->get())) packets.push_back(std::move(packet));
  }
  ASSERT_TRUE((*session)->Finish().ok());
  for (SessionPacket& packet : Drain(session->get())) packets.push_back(std::move(packet));
  ASSERT_EQ(packets.size(), 9u);
  EXPECT_TRUE(packets[0].key);
  const std::string start = GetParam() == EncodeCodec::kAv1 ? std::string("\x12\0", 2) : "";
  EXPECT_THAT(packets[0].data, StartsWith(start + (*session)->parameter_sets()));
  std::vector<int> seen(9);
  int64_t dts = packets[0].dts;
  for (size_t i = 0; i < packets.size(); ++i) {
    const int index = static_cast<int>(packets[i].timestamp) - 100;
    ASSERT_GE(index, 0);
    ASSERT_LT(index, 9);
    ++seen[index];
    EXPECT_EQ(packets[i].pts, index);
    EXPECT_LE(packets[i].dts, packets[i].pts);
    if (i > 0) EXPECT_GT(packets[i].dts, dts);
    dts = packets[i].dts;
  }
  EXPECT_EQ(seen, std::vector<int>(9, 1));
}

TEST_P(CodecTest, WithoutFramesThereAreNoPackets) {
  auto session = EncodeSession::Create(Spec(GetParam()));
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE((*session)->Finish().ok());
  EXPECT_TRUE((*session)->Finish().ok());
  EXPECT_TRUE(Drain(session->get()).empty());
  EXPECT_EQ((*session)->Encode(nullptr, 0, 0, false).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(CodecTest, AFrameOfAnotherSizeIsRefusedAndTheNextOneTaken) {
  auto session = EncodeSession::Create(Spec(GetParam()));
  ASSERT_TRUE(session.ok()) << session.status();
  const std::vector<uint8_t> frame = Frame((*session)->frame_bytes(), 0);
  const absl::Status status = (*session)->Encode(frame.data(), frame.size() - 1, 0, false);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("has 11520 bytes"));
  EXPECT_TRUE((*session)->Encode(frame.data(), frame.size(), 0, false).ok());
}

INSTANTIATE_TEST_SUITE_P(All, CodecTest,
                         testing::Values(EncodeCodec::kH264, EncodeCodec::kHevc,
                                         EncodeCodec::kAv1));

TEST(EncodeSessionTest, OneAv1SessionAtATime) {
  auto first = EncodeSession::Create(Spec(EncodeCodec::kAv1));
  ASSERT_TRUE(first.ok()) << first.status();
  auto second = EncodeSession::Create(Spec(EncodeCodec::kAv1));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  first->reset();
  EXPECT_TRUE(EncodeSession::Create(Spec(EncodeCodec::kAv1)).ok());
}

TEST(EncodeSessionTest, BadSpecsAreRefused) {
  SessionSpec spec = Spec(EncodeCodec::kH264);
  spec.frame_rate = {0, 1};
  EXPECT_THAT(EncodeSession::Create(spec).status().message(), HasSubstr("got 0/1"));
  spec = Spec(EncodeCodec::kH264);
  spec.params = {{"no-such", "1"}};
  EXPECT_EQ(EncodeSession::Create(spec).status().code(), absl::StatusCode::kInvalidArgument);
  spec = Spec(EncodeCodec::kH264);
  spec.options = {{"no-such", "1"}};
  EXPECT_THAT(EncodeSession::Create(spec).status().message(), HasSubstr("no-such"));
  spec = Spec(EncodeCodec::kAv1, InputFormat::kYuv444);
  EXPECT_THAT(EncodeSession::Create(spec).status().message(), HasSubstr("yuv444p"));
}

TEST(EncodeSessionTest, NvencThatIsNotThereIsAnError) {
  for (const EncodeCodec codec : {EncodeCodec::kH264, EncodeCodec::kHevc, EncodeCodec::kAv1}) {
    SessionSpec spec = Spec(codec);
    spec.width = spec.height = 256;  // a size that every NVENC takes
    spec.engine = EncodeEngine::kNvenc;
    spec.gop = 1;
    const auto session = EncodeSession::Create(spec);
    if (session.ok()) continue;
    EXPECT_TRUE(absl::IsFailedPrecondition(session.status()) ||
                absl::IsUnimplemented(session.status()))
        << session.status();
    EXPECT_THAT(session.status().message(), HasSubstr("_nvenc"));
  }
}

TEST(EncodeSessionTest, WhatNvencReadsOfEachFormat) {
  if (!FindNvencEncoder(EncodeCodec::kHevc).ok()) GTEST_SKIP() << "libavcodec has no hevc_nvenc";
  const std::vector<std::pair<InputFormat, AVPixelFormat>> want = {
      {InputFormat::kNv12, AV_PIX_FMT_NV12},
      {InputFormat::kYuv420, AV_PIX_FMT_YUV420P},
      {InputFormat::kYuv444, AV_PIX_FMT_YUV444P},
      {InputFormat::kP010, AV_PIX_FMT_P010},
      {InputFormat::kYuv444Wide, AV_PIX_FMT_YUV444P16},
      {InputFormat::kArgb, AV_PIX_FMT_YUV420P},
  };
  for (const auto& [format, read] : want) {
    EncodeOptions options;
    options.codec = EncodeCodec::kHevc;
    options.container = EncodeContainer::kRaw;
    options.engine = EncodeEngine::kNvenc;
    options.pixel_format = StreamFormatName(format);
    const FrameBatch shape = *DescribeInput(format, kWidth, kHeight);
    const auto stream = ChooseStream(shape, options);
    ASSERT_TRUE(stream.ok()) << stream.status();
    EXPECT_EQ(stream->encoder_format, read);
    SessionInput input(format, shape, *stream);
    std::vector<uint8_t> frame = Frame(input.frame_bytes(), 0);
    const auto loaded = input.Load(frame.data(), frame.size());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ((*loaded)->format, read);
    if (IsRgb(format)) continue;
    // Loading converts nothing, so frames on a GPU may be copied unchanged.
    std::vector<uint8_t> packed(frame.size());
    av_image_copy_to_buffer(packed.data(), static_cast<int>(packed.size()), (*loaded)->data,
                            (*loaded)->linesize, read, kWidth, kHeight, 1);
    EXPECT_EQ(packed, frame);
  }
  EncodeOptions h264;
  h264.engine = EncodeEngine::kNvenc;
  h264.pixel_format = "yuv444p10le";
  const FrameBatch wide = *DescribeInput(InputFormat::kYuv444Wide, kWidth, kHeight);
  EXPECT_THAT(ChooseStream(wide, h264).status().message(),
              HasSubstr("it can store: yuv420p, yuv444p"));
}

TEST(EncodeSessionTest, TheRateChangesWhereTheCodecCan) {
  SessionSpec spec = Spec(EncodeCodec::kH264);
  spec.options = {{"b", "300000"}, {"maxrate", "300000"}, {"bufsize", "300000"}};
  auto session = EncodeSession::Create(spec);
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE((*session)->SetRate({200000, 200000, 200000}, {60, 1}).ok());
  EXPECT_EQ((*session)->SetRate({200000, 0, 0}, {60, 1}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*session)->SetRate({200000, 200000, 200000}, {0, 1}).code(),
            absl::StatusCode::kInvalidArgument);
  auto hevc = EncodeSession::Create(Spec(EncodeCodec::kHevc));
  ASSERT_TRUE(hevc.ok()) << hevc.status();
  EXPECT_EQ((*hevc)->SetRate({200000, 0, 0}, {30, 1}).code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace nvc
