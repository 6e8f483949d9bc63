// The C API's frame: decoded samples in memory that everyone who uses the frame shares.
#ifndef TF_NVCODEC_CAPI_FRAME_H_
#define TF_NVCODEC_CAPI_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/capi/export.h"
#include "tf_nvcodec/core/base/block_cache.h"
#include "tf_nvcodec/core/convert/surface.h"

namespace nvc {

// Memory of a frame. It is freed when its last user lets it go, on any thread.
class FrameMemory {
 public:
  virtual ~FrameMemory() = default;
  virtual void* data() const = 0;  // a device pointer for CUDA devices
  // DLPack's numbers of the device.
  virtual int device_type() const = 0;
  virtual int device_id() const = 0;
};

// Allocates `bytes` bytes, aligned to at least 64. Returns ResourceExhausted if memory runs out.
absl::StatusOr<std::shared_ptr<FrameMemory>> AllocateHostFrame(size_t bytes);

}  // namespace nvc

// nvc_frame_get_info fills these. Python's ctypes mirrors them field by field.
struct nvc_plane_info {
  uint64_t data;
  int64_t stride;  // in bytes
  int32_t height, width, channels;
};
struct nvc_frame_info {
  int64_t pts;  // pts of its packet; -2^63: unknown
  uint64_t data;
  uint64_t bytes;
  int64_t shape[3], strides[3];  // of the whole frame, in samples
  nvc_plane_info planes[3];
  int32_t num_dims, num_planes;
  int32_t format;  // a SurfaceFormat
  int32_t sample_bytes;
  int32_t width, height;
  int32_t device_type, device_id;
};

struct nvc_frame {
  std::shared_ptr<nvc::FrameMemory> memory;
  nvc::SurfaceLayout layout;
  int64_t pts = 0;
};

NVC_API void nvc_frame_free(nvc_frame* frame);
NVC_API void nvc_frame_get_info(const nvc_frame* frame, nvc_frame_info* info);
// Makes a DLManagedTensor of the frame or, if `plane` is not negative, of one plane ([height,
// width, channels]). It keeps the memory until the caller calls its deleter.
NVC_API int nvc_frame_to_dlpack(const nvc_frame* frame, int plane, void** managed_tensor);

// Sets the Python functions that nvc_destroy_dlpack_capsule needs, because this library does not
// link Python.
NVC_API void nvc_set_capsule_functions(int (*is_valid)(void* capsule, const char* name),
                                       void* (*get_pointer)(void* capsule, const char* name));
// The destructor of capsules named "dltensor". Frees the tensor if no consumer took it over.
NVC_API void nvc_destroy_dlpack_capsule(void* capsule);

#endif  // TF_NVCODEC_CAPI_FRAME_H_
