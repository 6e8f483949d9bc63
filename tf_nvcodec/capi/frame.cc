#include "tf_nvcodec/capi/frame.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/capi/error.h"
#include "tf_nvcodec/core/base/dlpack_abi.h"

namespace nvc {
namespace {

class HostFrameMemory : public FrameMemory {
 public:
  explicit HostFrameMemory(Block block) : block_(std::move(block)) {}
  ~HostFrameMemory() override { BlockCache::Shared().Give(std::move(block_)); }
  HostFrameMemory(const HostFrameMemory&) = delete;
  HostFrameMemory& operator=(const HostFrameMemory&) = delete;

  void* data() const override { return block_.get(); }
  int device_type() const override { return dlpack::kCpu; }
  int device_id() const override { return 0; }

 private:
  Block block_;
};

// Everything that a DLManagedTensor owns.
struct Exported {
  dlpack::Managed managed{};
  std::shared_ptr<FrameMemory> memory;
  std::array<int64_t, 3> shape{}, strides{};
  const pid_t process = getpid();
};

// A forked process leaves the memory alone, because GPU memory belongs to the parent process.
void DeleteExported(dlpack::Managed* managed) {
  auto* const exported = static_cast<Exported*>(managed->context);
  if (exported->process == getpid()) delete exported;
}

constexpr char kCapsuleName[] = "dltensor";
std::atomic<int (*)(void*, const char*)> capsule_is_valid{nullptr};
std::atomic<void* (*)(void*, const char*)> capsule_get_pointer{nullptr};

absl::Status Export(const nvc_frame& frame, int plane, void** managed_tensor) {
  const SurfaceLayout& layout = frame.layout;
  if (plane >= layout.num_planes) {
    return absl::OutOfRangeError(absl::StrCat("plane ", plane, " does not exist: the frame has ",
                                              layout.num_planes, " planes"));
  }
  auto exported = std::make_unique<Exported>();
  exported->memory = frame.memory;
  dlpack::View& tensor = exported->managed.view;
  auto* data = static_cast<uint8_t*>(frame.memory->data());
  if (plane < 0) {
    exported->shape = layout.shape;
    exported->strides = layout.strides;
    tensor.ndim = layout.num_dims;
  } else {
    const SurfaceLayout::Plane& part = layout.planes[static_cast<size_t>(plane)];
    const auto row = static_cast<int64_t>(part.stride) / layout.sample_bytes;
    exported->shape = {part.height, part.width, part.channels};
    exported->strides = {row, part.channels, 1};
    tensor.ndim = 3;
    data += part.offset;
  }
  tensor.data = data;
  tensor.device = {frame.memory->device_type(), frame.memory->device_id()};
  tensor.dtype = {dlpack::kUint, static_cast<uint8_t>(8 * layout.sample_bytes), 1};
  tensor.shape = exported->shape.data();
  tensor.strides = exported->strides.data();
  exported->managed.context = exported.get();
  exported->managed.deleter = DeleteExported;
  *managed_tensor = &exported.release()->managed;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<FrameMemory>> AllocateHostFrame(size_t bytes) {
  Block block = BlockCache::Shared().Take(bytes);
  if (block == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("out of memory for a frame of ", bytes,
                                                     " bytes: let go of frames no longer needed"));
  }
  return std::make_shared<HostFrameMemory>(std::move(block));
}

}  // namespace nvc

void nvc_frame_free(nvc_frame* frame) { delete frame; }

void nvc_frame_get_info(const nvc_frame* frame, nvc_frame_info* info) {
  const nvc::SurfaceLayout& layout = frame->layout;
  *info = nvc_frame_info{};
  info->pts = frame->pts;
  info->data = reinterpret_cast<uint64_t>(frame->memory->data());
  info->bytes = layout.bytes;
  std::copy(layout.shape.begin(), layout.shape.end(), info->shape);
  std::copy(layout.strides.begin(), layout.strides.end(), info->strides);
  for (int i = 0; i < layout.num_planes; ++i) {
    const nvc::SurfaceLayout::Plane& plane = layout.planes[static_cast<size_t>(i)];
    info->planes[i] = {info->data + plane.offset, static_cast<int64_t>(plane.stride), plane.height,
                       plane.width, plane.channels};
  }
  info->num_dims = layout.num_dims;
  info->num_planes = layout.num_planes;
  info->format = static_cast<int32_t>(layout.format);
  info->sample_bytes = layout.sample_bytes;
  info->width = layout.width;
  info->height = layout.height;
  info->device_type = frame->memory->device_type();
  info->device_id = frame->memory->device_id();
}

int nvc_frame_to_dlpack(const nvc_frame* frame, int plane, void** managed_tensor) {
  return nvc::Guarded([&] { return nvc::Export(*frame, plane, managed_tensor); });
}

void nvc_set_capsule_functions(int (*is_valid)(void*, const char*),
                               void* (*get_pointer)(void*, const char*)) {
  nvc::capsule_get_pointer = get_pointer;
  nvc::capsule_is_valid = is_valid;
}

void nvc_destroy_dlpack_capsule(void* capsule) {
  const auto is_valid = nvc::capsule_is_valid.load();
  // A consumer that takes over the tensor renames the capsule.
  if (is_valid == nullptr || is_valid(capsule, nvc::kCapsuleName) == 0) return;
  auto* const managed = static_cast<nvc::dlpack::Managed*>(
      nvc::capsule_get_pointer.load()(capsule, nvc::kCapsuleName));
  if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
}
