// A decoded frame as Python holds it: memory of its own, shared by all that look at it.
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

// Memory of a frame; destroyed with the last that uses it, on any thread.
class FrameMemory {
 public:
  virtual ~FrameMemory() = default;
  virtual void* data() const = 0;  // a device pointer on CUDA devices
  // As DLPack numbers devices.
  virtual int device_type() const = 0;
  virtual int device_id() const = 0;
};

// ResourceExhausted when memory is out. Aligned to 64 bytes at least.
absl::StatusOr<std::shared_ptr<FrameMemory>> AllocateHostFrame(size_t bytes);

}  // namespace nvc

// Filled by nvc_frame_get_info; ctypes mirrors it field by field.
struct nvc_plane_info {
  uint64_t data;
  int64_t stride;  // bytes
  int32_t height, width, channels;
};
struct nvc_frame_info {
  int64_t pts;  // as of its packet; -2^63: the stream does not say
  uint64_t data;
  uint64_t bytes;
  int64_t shape[3], strides[3];  // of the whole, in samples
  nvc_plane_info planes[3];
  int32_t num_dims, num_planes;
  int32_t format;  // SurfaceFormat
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
// A DLManagedTensor of the frame, or of one plane ([height, width, channels]) where `plane` is not
// negative, that keeps the memory until its deleter runs.
NVC_API int nvc_frame_to_dlpack(const nvc_frame* frame, int plane, void** managed_tensor);

// Python's functions that the destructor below needs; this library does not link Python.
NVC_API void nvc_set_capsule_functions(int (*is_valid)(void* capsule, const char* name),
                                       void* (*get_pointer)(void* capsule, const char* name));
// Of capsules named "dltensor": frees the tensor that nobody took over.
NVC_API void nvc_destroy_dlpack_capsule(void* capsule);

#endif  // TF_NVCODEC_CAPI_FRAME_H_
