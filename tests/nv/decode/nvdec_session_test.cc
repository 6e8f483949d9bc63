#include "tf_nvcodec/nv/decode/nvdec_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nv/testing/nvdec_fake.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NvdecFormat Format(int width, int height, int bit_depth = 8) {
  NvdecFormat format;
  format.codec = cudaVideoCodec_H264;
  format.bit_depth = bit_depth;
  format.width = width;
  format.height = height;
  return format;
}

CUstream Stream(int number) { return reinterpret_cast<CUstream>(uintptr_t{16} * number); }

class NvdecSessionTest : public ::testing::Test {
 protected:
  std::unique_ptr<NvdecSession> Create(const NvdecFormat& format, int min_surfaces = 4) {
    auto session = NvdecSession::Create(gpu_.device(), gpu_.cuvid(), format, min_surfaces);
    EXPECT_TRUE(session.ok()) << session.status();
    return std::move(session).value();
  }

  static absl::StatusOr<NvdecSurface*> Map(NvdecSession* session, int picture) {
    CUVIDPARSERDISPINFO info = {};
    info.picture_index = picture;
    return session->Map(info);
  }

  static absl::Status Decode(NvdecSession* session, int picture) {
    CUVIDPICPARAMS params = {};
    params.CurrPicIdx = picture;
    return session->Decode(&params);
  }

  FakeGpu gpu_;
};

TEST_F(NvdecSessionTest, NeverScales) {
  const auto session = Create(Format(175, 145, 10));
  ASSERT_EQ(gpu_.created.size(), 1u);
  const CUVIDDECODECREATEINFO& info = gpu_.created[0];
  // Odd sizes are rounded up before and after the post-processing.
  EXPECT_EQ(info.ulWidth, 176u);
  EXPECT_EQ(info.ulHeight, 146u);
  EXPECT_EQ(info.ulTargetWidth, 176u);
  EXPECT_EQ(info.ulTargetHeight, 146u);
  EXPECT_EQ(info.ulMaxWidth, 176u);
  EXPECT_EQ(info.display_area.right, 176);
  EXPECT_EQ(info.display_area.bottom, 146);
  EXPECT_EQ(info.OutputFormat, cudaVideoSurfaceFormat_P016);
  EXPECT_EQ(info.bitDepthMinus8, 2u);
  EXPECT_EQ(info.DeinterlaceMode, cudaVideoDeinterlaceMode_Weave);
  EXPECT_GE(info.ulNumDecodeSurfaces, 4u + NvdecSession::kSpareSurfaces);
  EXPECT_EQ(info.ulNumOutputSurfaces, tcu_ulong{NvdecSession::kOutputSurfaces});
  // There are two bytes for each sample, and half as many chroma samples as luma samples.
  EXPECT_EQ(session->bytes(), 176u * 146u * 3u * (info.ulNumDecodeSurfaces + 4u));
}

TEST_F(NvdecSessionTest, KeepsBelowTheDriversLimitOfSurfaces) {
  EXPECT_EQ(Create(Format(96, 64), 17)->num_surfaces(), 24);
  EXPECT_EQ(Create(Format(96, 64), 30)->num_surfaces(), 32);
  EXPECT_EQ(Create(Format(96, 64), 33)->num_surfaces(), 33);
}

TEST_F(NvdecSessionTest, WeavesFieldsOnItsOwnStream) {
  const auto session = Create(Format(96, 64));
  const auto surface = Map(session.get(), 2);
  ASSERT_TRUE(surface.ok()) << surface.status();
  EXPECT_EQ(gpu_.mapped_with[0].progressive_frame, 1);
  EXPECT_EQ(gpu_.mapped_with[0].unpaired_field, 0);
  ASSERT_EQ(gpu_.open["stream"].size(), 1u);
  EXPECT_EQ(gpu_.mapped_with[0].output_stream, *gpu_.open["stream"].begin());
  EXPECT_EQ((*surface)->pitch(), 512u);
  EXPECT_EQ((*surface)->rows(), 64);
  EXPECT_EQ(gpu_.Count("EventRecord"), 1);
  session->Release(*surface);
}

TEST_F(NvdecSessionTest, ASurfaceIsReusedOnlyAfterItsReaders) {
  const auto session = Create(Format(96, 64));
  NvdecSurface* surfaces[NvdecSession::kOutputSurfaces];
  for (int i = 0; i < NvdecSession::kOutputSurfaces; ++i) {
    surfaces[i] = Map(session.get(), i).value();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(Map(session.get(), 4).status()));

  ASSERT_TRUE(surfaces[1]->UsedOn(Stream(1)).ok());
  ASSERT_TRUE(surfaces[1]->UsedOn(Stream(2)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Map(session.get(), 4).status()));
  session->Release(surfaces[1]);
  gpu_.calls.clear();
  EXPECT_EQ(Map(session.get(), 4).value(), surfaces[1]);
  EXPECT_THAT(gpu_.calls, ElementsAre("EventSynchronize", "EventSynchronize", "Unmap", "Map 4",
                                      "GetDecodeStatus", HasSubstr("EventRecord")));

  // Nobody has read the new picture yet.
  session->Release(surfaces[1]);
  gpu_.calls.clear();
  EXPECT_TRUE(Map(session.get(), 5).ok());
  EXPECT_EQ(gpu_.Count("EventSynchronize"), 0);
  for (NvdecSurface* surface : surfaces) session->Release(surface);
}

TEST_F(NvdecSessionTest, WithoutAnEventTheReaderIsWaitedForAtOnce) {
  const auto session = Create(Format(96, 64));
  NvdecSurface* const surface = Map(session.get(), 0).value();
  gpu_.Fail("EventCreate", kCudaOutOfMemory);
  EXPECT_TRUE(surface->UsedOn(Stream(3)).ok());
  EXPECT_EQ(gpu_.Count("StreamSynchronize"), 1);
  session->Release(surface);
}

TEST_F(NvdecSessionTest, TellsDamageFromSuccess) {
  const auto session = Create(Format(96, 64));
  gpu_.decode_status = {{1, cuvidDecodeStatus_Error}, {2, cuvidDecodeStatus_Error_Concealed}};
  bool broken[3], concealed[3];
  for (int i = 0; i < 3; ++i) {
    NvdecSurface* const surface = Map(session.get(), i).value();
    broken[i] = surface->is_broken();
    concealed[i] = surface->is_concealed();
    session->Release(surface);
  }
  EXPECT_THAT(broken, ElementsAre(false, true, false));
  EXPECT_THAT(concealed, ElementsAre(false, false, true));
  // A damaged stream does not make the session fail.
  EXPECT_FALSE(session->failed());
}

TEST_F(NvdecSessionTest, CodecsWithoutAStatusAreNotDamaged) {
  const auto session = Create(Format(96, 64));
  gpu_.Fail("GetDecodeStatus", kCudaNotSupported);
  NvdecSurface* const surface = Map(session.get(), 0).value();
  EXPECT_FALSE(surface->is_broken());
  EXPECT_FALSE(session->failed());
  session->Release(surface);
}

TEST_F(NvdecSessionTest, ReconfiguresWithinWhatItWasCreatedFor) {
  const auto session = Create(Format(1920, 1088));
  EXPECT_TRUE(session->IsFor(Format(1920, 1088), 4));
  EXPECT_FALSE(session->IsFor(Format(1280, 720), 4));
  EXPECT_FALSE(session->IsFor(Format(1920, 1088), 16));
  EXPECT_TRUE(session->CanBecome(Format(1280, 720), 4));
  EXPECT_FALSE(session->CanBecome(Format(1088, 1920), 4));
  EXPECT_FALSE(session->CanBecome(Format(1280, 720, 10), 4));
  EXPECT_FALSE(session->CanBecome(Format(1280, 720), 16));

  session->Release(Map(session.get(), 0).value());
  ASSERT_TRUE(session->Reconfigure(Format(1280, 720)).ok());
  EXPECT_EQ(gpu_.Count("Unmap"), 1);  // the mapped picture had the old size
  EXPECT_EQ(gpu_.reconfigured[0].ulTargetWidth, 1280u);
  EXPECT_EQ(gpu_.reconfigured[0].ulTargetHeight, 720u);
  EXPECT_EQ(gpu_.reconfigured[0].ulNumDecodeSurfaces,
            static_cast<unsigned int>(session->num_surfaces()));
  EXPECT_TRUE(session->IsFor(Format(1280, 720), 4));
  EXPECT_TRUE(session->CanBecome(Format(1920, 1088), 4));
}

struct FailureCase {
  int code;
  absl::StatusCode status;
};

class NvdecFailureTest : public NvdecSessionTest,
                         public ::testing::WithParamInterface<FailureCase> {};

TEST_P(NvdecFailureTest, OfDecoding) {
  const auto session = Create(Format(96, 64));
  gpu_.Fail("Decode", GetParam().code);
  const absl::Status status = Decode(session.get(), 0);
  EXPECT_EQ(status.code(), GetParam().status) << status;
  EXPECT_THAT(status.message(), HasSubstr("cuvidDecodePicture on Fake H200"));
  EXPECT_TRUE(session->failed());
}

TEST_P(NvdecFailureTest, OfMapping) {
  const auto session = Create(Format(96, 64));
  gpu_.Fail("Map", GetParam().code);
  const absl::Status status = Map(session.get(), 0).status();
  EXPECT_EQ(status.code(), GetParam().status) << status;
  EXPECT_TRUE(session->failed());
}

INSTANTIATE_TEST_SUITE_P(
    Codes, NvdecFailureTest,
    ::testing::Values(FailureCase{kCudaOutOfMemory, absl::StatusCode::kResourceExhausted},
                      FailureCase{kCudaInvalidValue, absl::StatusCode::kDataLoss},
                      FailureCase{kCudaInvalidImage, absl::StatusCode::kDataLoss},
                      FailureCase{700, absl::StatusCode::kInternal},  // illegal address
                      FailureCase{719, absl::StatusCode::kInternal},  // launch failed
                      FailureCase{999, absl::StatusCode::kInternal},  // unknown
                      FailureCase{kCudaNoDevice, absl::StatusCode::kFailedPrecondition}));

TEST_F(NvdecSessionTest, AFailureToOpenLeavesNothing) {
  gpu_.Fail("CreateDecoder", kCudaOutOfMemory);
  const auto session = NvdecSession::Create(gpu_.device(), gpu_.cuvid(), Format(1920, 1088), 4);
  ASSERT_TRUE(absl::IsResourceExhausted(session.status())) << session.status();
  EXPECT_THAT(session.status().message(), HasSubstr("1920x1088"));
  EXPECT_THAT(session.status().message(), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
}

TEST_F(NvdecSessionTest, AFailureAfterMappingIsUnmapped) {
  const auto session = Create(Format(96, 64));
  gpu_.Fail("EventRecord", 719);
  EXPECT_EQ(Map(session.get(), 0).status().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(session->failed());
}

}  // namespace
}  // namespace nvc
