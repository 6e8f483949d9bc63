// Whether an address that came from outside points to anything: the driver reads handles without
// asking.
#ifndef TF_NVCODEC_NV_CUDA_READABLE_ADDRESS_H_
#define TF_NVCODEC_NV_CUDA_READABLE_ADDRESS_H_

namespace nvc {

// False only where the kernel says so. Other memory than what was meant may well be there.
bool IsReadable(const void* address);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_READABLE_ADDRESS_H_
