#include "tf_nvcodec/capi/frame.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "tf_nvcodec/capi/error.h"
#include "tf_nvcodec/core/base/dlpack_abi.h"

namespace nvc {
namespace {

nvc_frame* NewFrame() {
  auto* const frame = new nvc_frame;
  frame->layout = SurfaceLayout::Of(AV_PIX_FMT_YUV420P10LE, SurfaceColor::kNative, 7, 5).value();
  frame->memory = AllocateHostFrame(frame->layout.bytes).value();
  frame->pts = 42;
  std::memset(frame->memory->data(), 7, frame->layout.bytes);
  return frame;
}

TEST(FrameTest, TellsWhereItsPlanesAre) {
  nvc_frame* const frame = NewFrame();
  nvc_frame_info info;
  nvc_frame_get_info(frame, &info);
  EXPECT_EQ(info.pts, 42);
  EXPECT_EQ(info.bytes, 2u * 8 * (5 + 3));
  EXPECT_EQ(info.data % 64, 0u);
  EXPECT_EQ(info.num_planes, 2);
  EXPECT_EQ(info.planes[1].data, info.data + 2 * 8 * 5);
  EXPECT_EQ(info.planes[1].stride, 16);
  EXPECT_EQ(info.planes[1].width, 4);
  EXPECT_EQ(info.shape[0], 8);
  EXPECT_EQ(info.strides[0], 8);
  EXPECT_EQ(info.device_type, dlpack::kCpu);
  nvc_frame_free(frame);
}

TEST(FrameTest, ATensorKeepsTheMemory) {
  nvc_frame* const frame = NewFrame();
  const std::weak_ptr<FrameMemory> memory = frame->memory;
  void* exported = nullptr;
  ASSERT_EQ(nvc_frame_to_dlpack(frame, -1, &exported), 0);
  nvc_frame_free(frame);
  ASSERT_FALSE(memory.expired());
  auto* const managed = static_cast<dlpack::Managed*>(exported);
  EXPECT_EQ(managed->view.ndim, 2);
  EXPECT_EQ(managed->view.shape[0], 8);
  EXPECT_EQ(managed->view.shape[1], 7);
  EXPECT_EQ(managed->view.strides[0], 8);
  EXPECT_EQ(managed->view.dtype.bits, 16);
  EXPECT_EQ(static_cast<uint8_t*>(managed->view.data)[127], 7);
  managed->deleter(managed);
  EXPECT_TRUE(memory.expired());
}

TEST(FrameTest, AForkLeavesTheMemoryAlone) {
  nvc_frame* const frame = NewFrame();
  const std::weak_ptr<FrameMemory> memory = frame->memory;
  void* exported = nullptr;
  ASSERT_EQ(nvc_frame_to_dlpack(frame, -1, &exported), 0);
  nvc_frame_free(frame);
  auto* const managed = static_cast<dlpack::Managed*>(exported);
  const pid_t child = fork();
  if (child == 0) {
    managed->deleter(managed);
    _exit(memory.expired() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  managed->deleter(managed);
  EXPECT_TRUE(memory.expired());
}

TEST(FrameTest, APlaneIsATensorToo) {
  nvc_frame* const frame = NewFrame();
  void* exported = nullptr;
  ASSERT_EQ(nvc_frame_to_dlpack(frame, 1, &exported), 0);
  auto* const managed = static_cast<dlpack::Managed*>(exported);
  EXPECT_EQ(managed->view.ndim, 3);
  EXPECT_EQ(managed->view.shape[0], 3);
  EXPECT_EQ(managed->view.shape[1], 4);
  EXPECT_EQ(managed->view.shape[2], 2);
  EXPECT_EQ(managed->view.strides[1], 2);
  managed->deleter(managed);
  EXPECT_EQ(nvc_frame_to_dlpack(frame, 2, &exported),
            static_cast<int>(absl::StatusCode::kOutOfRange));
  EXPECT_STREQ(nvc_last_error(), "plane 2 does not exist: the frame has 2 planes");
  nvc_frame_free(frame);
}

// Stands in for a Python capsule, which has a name and a pointer.
struct Capsule {
  std::string name = "dltensor";
  void* pointer = nullptr;
};

int IsValid(void* capsule, const char* name) {
  return static_cast<Capsule*>(capsule)->name == name;
}

void* GetPointer(void* capsule, const char*) { return static_cast<Capsule*>(capsule)->pointer; }

TEST(FrameTest, ACapsuleFreesWhatNobodyTook) {
  nvc_set_capsule_functions(IsValid, GetPointer);
  for (const bool taken : {false, true}) {
    nvc_frame* const frame = NewFrame();
    const std::weak_ptr<FrameMemory> memory = frame->memory;
    Capsule capsule;
    ASSERT_EQ(nvc_frame_to_dlpack(frame, -1, &capsule.pointer), 0);
    nvc_frame_free(frame);
    if (taken) capsule.name = "used_dltensor";
    nvc_destroy_dlpack_capsule(&capsule);
    EXPECT_EQ(memory.expired(), !taken);
    if (!taken) continue;
    auto* const managed = static_cast<dlpack::Managed*>(capsule.pointer);
    managed->deleter(managed);
    EXPECT_TRUE(memory.expired());
  }
}

}  // namespace
}  // namespace nvc
