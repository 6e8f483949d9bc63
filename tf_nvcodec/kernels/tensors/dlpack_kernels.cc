#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/kernels/tensors/dlpack_tensor.h"
#include "tf_nvcodec/kernels/tensors/gpu_stream.h"
#include "tf_nvcodec/kernels/tensors/kernel_util.h"
#include "tf_nvcodec/nv/cuda/gpu_copy.h"
#include "tf_nvcodec/nv/cuda/stream_order.h"
#include "tf_nvcodec/nv/encode/gpu_frame_input.h"

namespace nvc {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

constexpr int64_t kNoStream = -1;

// Writes `value` to an output as two int32, the lower half first.
absl::Status SetWords(OpKernelContext* context, int output, int64_t value) {
  Tensor* words = nullptr;
  TF_RETURN_IF_ERROR(context->allocate_output(output, {2}, &words));
  std::memcpy(words->data(), &value, sizeof(value));
  return absl::OkStatus();
}

class DlpackOp : public OpKernel {
 public:
  explicit DlpackOp(OpKernelConstruction* context)
      : OpKernel(context), on_gpu_(context->device_type() == ::tensorflow::DEVICE_GPU) {}

  void Compute(OpKernelContext* context) final {
    ReleaseDone();
    OP_REQUIRES_OK(context, Run(context));
  }

 protected:
  virtual absl::Status Run(OpKernelContext* context) = 0;

  // Returns the op's GPU and stream; both are null if the op runs on the CPU.
  absl::StatusOr<GpuStream> Gpu(OpKernelContext* context) const {
    if (!on_gpu_) return GpuStream();
    return GpuStreamOf(context);
  }

 private:
  const bool on_gpu_;
};

class ImportOp : public DlpackOp {
 public:
  explicit ImportOp(OpKernelConstruction* context) : DlpackOp(context) {
    OP_REQUIRES_OK(context, context->GetAttr("dtype", &dtype_));
  }

 private:
  absl::Status Run(OpKernelContext* context) override {
    int64_t address = 0;
    NVC_RETURN_IF_ERROR(ReadScalar(context, 0, "managed", &address));
    auto* const managed = reinterpret_cast<dlpack::Managed*>(static_cast<uintptr_t>(address));
    NVC_ASSIGN_OR_RETURN(const GpuStream gpu, Gpu(context));
    NVC_ASSIGN_OR_RETURN(const DlpackArray array, ReadDlpack(managed, dtype_));
    NVC_RETURN_IF_ERROR(CheckPlace(managed->view.device, gpu));
    NVC_RETURN_IF_ERROR(CheckMemory(managed->view.device, array, gpu));
    // The GPU may still be reading the memory when the last reference to it goes.
    Releaser release = [](const std::function<void()>& give_back) { give_back(); };
    if (gpu.device != nullptr) {
      release = [gpu](std::function<void()> give_back) {
        ReleaseAfter(gpu.device, gpu.stream, std::move(give_back));
      };
    }
    if (array.IsAligned()) {
      context->set_output(0, BorrowDlpack(array, std::move(release)));
      return absl::OkStatus();
    }
    Tensor* copy = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(0, array.shape, &copy));
    NVC_RETURN_IF_ERROR(Copy(gpu, array, copy->data()));
    array.GiveBack(release);
    return absl::OkStatus();
  }

  static absl::Status CheckPlace(const dlpack::Device& device, const GpuStream& gpu) {
    const bool fits =
        gpu.device == nullptr
            ? device.type == dlpack::kCpu || device.type == dlpack::kCudaHost
            : device.type == dlpack::kCudaManaged ||
                  (device.type == dlpack::kCuda && device.id == gpu.device->ordinal());
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "the array is on DLPack device (", device.type, ", ", device.id, "), but this op runs on ",
        gpu.device == nullptr ? "the CPU" : gpu.device->name()));
  }

  // If an array names no GPU, the caller guesses one. Returns InvalidArgument if the driver says
  // that the memory is on another GPU. Trusts the caller if the driver does not know the memory.
  static absl::Status CheckMemory(const dlpack::Device& device, const DlpackArray& array,
                                  const GpuStream& gpu) {
    if (gpu.device == nullptr || device.type != dlpack::kCuda || array.bytes == 0) {
      return absl::OkStatus();
    }
    const auto owner = GpuOfMemory(reinterpret_cast<CUdeviceptr>(array.data));
    if (!owner.ok() || (*owner)->ordinal() == gpu.device->ordinal()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the array's memory is on GPU ", (*owner)->ordinal(), ", not on GPU ",
                     gpu.device->ordinal(),
                     ": give an array that names its device, such as one with __dlpack__"));
  }

  static absl::Status Copy(const GpuStream& gpu, const DlpackArray& from, void* to) {
    if (from.bytes == 0) return absl::OkStatus();
    if (gpu.device != nullptr) {
      return CopyOnDevice(gpu.device, gpu.stream, reinterpret_cast<CUdeviceptr>(to),
                          reinterpret_cast<CUdeviceptr>(from.data), from.bytes);
    }
    std::memcpy(to, from.data, from.bytes);
    return absl::OkStatus();
  }

  ::tensorflow::DataType dtype_ = ::tensorflow::DT_INVALID;
};

class ExportOp : public DlpackOp {
 public:
  using DlpackOp::DlpackOp;

 private:
  absl::Status Run(OpKernelContext* context) override {
    int64_t number = kNoStream;
    NVC_RETURN_IF_ERROR(ReadScalar(context, 1, "stream", &number));
    NVC_ASSIGN_OR_RETURN(const GpuStream gpu, Gpu(context));
    dlpack::Device device = {dlpack::kCpu, 0};
    if (gpu.device != nullptr) {
      device = {dlpack::kCuda, gpu.device->ordinal()};
      if (number != kNoStream) {
        NVC_ASSIGN_OR_RETURN(const CUstream consumer, StreamOfNumber(number));
        NVC_RETURN_IF_ERROR(OrderStreams(gpu.device, gpu.stream, consumer));
      }
    }
    NVC_ASSIGN_OR_RETURN(dlpack::Managed* const lent, LendDlpack(context->input(0), device));
    const absl::Status told =
        SetWords(context, 0, static_cast<int64_t>(reinterpret_cast<uintptr_t>(lent)));
    if (!told.ok()) lent->deleter(lent);
    return told;
  }
};

class StreamOp : public DlpackOp {
 public:
  using DlpackOp::DlpackOp;

 private:
  absl::Status Run(OpKernelContext* context) override {
    int64_t number = kNoStream;
    NVC_RETURN_IF_ERROR(ReadScalar(context, 0, "wait_for", &number));
    NVC_ASSIGN_OR_RETURN(const GpuStream gpu, Gpu(context));
    int64_t stream = 0;
    int32_t ordinal = -1;
    if (gpu.device != nullptr) {
      stream = NumberOfStream(gpu.stream);
      ordinal = gpu.device->ordinal();
      if (number != kNoStream) {
        NVC_ASSIGN_OR_RETURN(const CUstream producer, StreamOfNumber(number));
        NVC_RETURN_IF_ERROR(OrderStreams(gpu.device, producer, gpu.stream));
      }
    }
    NVC_RETURN_IF_ERROR(SetWords(context, 0, stream));
    return SetScalar(context, 1, ordinal);
  }
};

#define NVC_REGISTER_DLPACK(DEVICE)                                                          \
  REGISTER_KERNEL_BUILDER(                                                                   \
      Name("NvcDlpackImport").Device(::tensorflow::DEVICE).HostMemory("managed"), ImportOp); \
  REGISTER_KERNEL_BUILDER(Name("NvcDlpackExport")                                            \
                              .Device(::tensorflow::DEVICE)                                  \
                              .HostMemory("stream")                                          \
                              .HostMemory("managed"),                                        \
                          ExportOp);                                                         \
  REGISTER_KERNEL_BUILDER(Name("NvcStream")                                                  \
                              .Device(::tensorflow::DEVICE)                                  \
                              .HostMemory("wait_for")                                        \
                              .HostMemory("stream")                                          \
                              .HostMemory("gpu"),                                            \
                          StreamOp);

NVC_REGISTER_DLPACK(DEVICE_CPU)
NVC_REGISTER_DLPACK(DEVICE_GPU)
#undef NVC_REGISTER_DLPACK

}  // namespace
}  // namespace nvc
