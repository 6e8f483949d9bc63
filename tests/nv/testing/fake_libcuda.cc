// A fake libcuda with the functions that libavutil and libavcodec need to open a device and to
// allocate frames. Its device memory is host memory. It queues no work; the fake driver of
// lazy_cuda.h does.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#define NVC_EXPORT extern "C" __attribute__((visibility("default")))

// Functions that do nothing when called, or are only looked up.
#define NVC_NOTHING(name) \
  NVC_EXPORT int name() { return 0; }

NVC_NOTHING(cuInit)
NVC_NOTHING(cuDeviceComputeCapability)
NVC_NOTHING(cuCtxCreate_v2)
NVC_NOTHING(cuCtxSetLimit)
NVC_NOTHING(cuCtxPushCurrent_v2)
NVC_NOTHING(cuCtxPopCurrent_v2)
NVC_NOTHING(cuCtxDestroy_v2)
NVC_NOTHING(cuMemAllocPitch_v2)
NVC_NOTHING(cuMemAllocManaged)
NVC_NOTHING(cuMemsetD8Async)
NVC_NOTHING(cuMemcpy)
NVC_NOTHING(cuMemcpyAsync)
NVC_NOTHING(cuMemcpy2D_v2)
NVC_NOTHING(cuMemcpy2DAsync_v2)
NVC_NOTHING(cuMemcpyHtoD_v2)
NVC_NOTHING(cuMemcpyHtoDAsync_v2)
NVC_NOTHING(cuMemcpyDtoH_v2)
NVC_NOTHING(cuMemcpyDtoHAsync_v2)
NVC_NOTHING(cuMemcpyDtoD_v2)
NVC_NOTHING(cuMemcpyDtoDAsync_v2)
NVC_NOTHING(cuGetErrorName)
NVC_NOTHING(cuGetErrorString)
NVC_NOTHING(cuCtxGetDevice)
NVC_NOTHING(cuDevicePrimaryCtxRetain)
NVC_NOTHING(cuDevicePrimaryCtxRelease)
NVC_NOTHING(cuDevicePrimaryCtxSetFlags)
NVC_NOTHING(cuDevicePrimaryCtxGetState)
NVC_NOTHING(cuDevicePrimaryCtxReset)
NVC_NOTHING(cuStreamCreate)
NVC_NOTHING(cuStreamQuery)
NVC_NOTHING(cuStreamSynchronize)
NVC_NOTHING(cuStreamDestroy_v2)
NVC_NOTHING(cuStreamAddCallback)
NVC_NOTHING(cuEventCreate)
NVC_NOTHING(cuEventDestroy_v2)
NVC_NOTHING(cuEventSynchronize)
NVC_NOTHING(cuEventQuery)
NVC_NOTHING(cuEventRecord)
NVC_NOTHING(cuLaunchKernel)
NVC_NOTHING(cuLinkCreate)
NVC_NOTHING(cuLinkAddData)
NVC_NOTHING(cuLinkComplete)
NVC_NOTHING(cuLinkDestroy)
NVC_NOTHING(cuModuleLoadData)
NVC_NOTHING(cuModuleUnload)
NVC_NOTHING(cuModuleGetFunction)
NVC_NOTHING(cuModuleGetGlobal)
NVC_NOTHING(cuTexObjectCreate)
NVC_NOTHING(cuTexObjectDestroy)
NVC_NOTHING(cuGLGetDevices_v2)
NVC_NOTHING(cuGraphicsGLRegisterImage)
NVC_NOTHING(cuGraphicsUnregisterResource)
NVC_NOTHING(cuGraphicsMapResources)
NVC_NOTHING(cuGraphicsUnmapResources)
NVC_NOTHING(cuGraphicsSubResourceGetMappedArray)
NVC_NOTHING(cuGraphicsResourceGetMappedPointer_v2)
NVC_NOTHING(cuArray3DCreate_v2)
NVC_NOTHING(cuArrayDestroy)
NVC_NOTHING(cuEGLStreamProducerConnect)
NVC_NOTHING(cuEGLStreamProducerDisconnect)
NVC_NOTHING(cuEGLStreamConsumerDisconnect)
NVC_NOTHING(cuEGLStreamProducerPresentFrame)
NVC_NOTHING(cuEGLStreamProducerReturnFrame)

NVC_EXPORT int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
NVC_EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
NVC_EXPORT int cuDeviceGetName(char* name, int bytes, int) {
  if (bytes > 0) *name = 0;
  return 0;
}
// Returns the alignment of textures, to which libavutil pads rows.
NVC_EXPORT int cuDeviceGetAttribute(int* value, int, int) {
  *value = 512;
  return 0;
}
NVC_EXPORT int cuMemAlloc_v2(uint64_t* memory, size_t bytes) {
  *memory = reinterpret_cast<uintptr_t>(std::malloc(bytes));
  return 0;
}
NVC_EXPORT int cuMemFree_v2(uint64_t memory) {
  std::free(reinterpret_cast<void*>(static_cast<uintptr_t>(memory)));
  return 0;
}
