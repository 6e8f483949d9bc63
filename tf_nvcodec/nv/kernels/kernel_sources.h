// The source texts of the CUDA kernels, which NVRTC compiles, and the names of their entry points.
// The build makes a source file with the text of each kernel's header.
#ifndef TF_NVCODEC_NV_KERNELS_KERNEL_SOURCES_H_
#define TF_NVCODEC_NV_KERNELS_KERNEL_SOURCES_H_

#include "tf_nvcodec/nv/cuda/nvrtc.h"

namespace nvc {

constexpr char kFrameKernel[] = "NvcConvertFrame";
const CudaSource& FrameKernelSource();

constexpr char kRgbKernel[] = "NvcRgb";
const CudaSource& RgbKernelSource();

constexpr char kPlanesKernel[] = "NvcPlanes";
const CudaSource& PlanesKernelSource();

}  // namespace nvc

#endif  // TF_NVCODEC_NV_KERNELS_KERNEL_SOURCES_H_
