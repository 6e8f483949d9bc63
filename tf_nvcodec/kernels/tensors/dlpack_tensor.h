// Makes tensors from DLPack arrays and DLPack arrays from tensors without copying.
#ifndef TF_NVCODEC_KERNELS_TENSORS_DLPACK_TENSOR_H_
#define TF_NVCODEC_KERNELS_TENSORS_DLPACK_TENSOR_H_

#include <cstddef>
#include <functional>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.pb.h"
#include "tf_nvcodec/core/base/dlpack_abi.h"

namespace nvc {

// Calls `give_back` when the memory is free again: at once, or when the GPU has finished with it.
using Releaser = std::function<void(std::function<void()> give_back)>;

// A DLPack array whose memory a tensor can share: its type, shape and strides have been checked.
struct DlpackArray {
  dlpack::Managed* managed;
  ::tensorflow::DataType dtype;
  ::tensorflow::TensorShape shape;
  void* data;
  size_t bytes;

  // Returns whether TensorFlow's kernels can use the memory directly. They load whole aligned
  // vectors.
  bool IsAligned() const;
  // Passes the array's deleter to `release`, which decides when to call it.
  void GiveBack(const Releaser& release) const;
};

// Checks the array behind `managed`. Returns InvalidArgument if it is not row-major or its type is
// not `dtype`.
absl::StatusOr<DlpackArray> ReadDlpack(dlpack::Managed* managed, ::tensorflow::DataType dtype);

// Returns a tensor that shares the array's memory. When its last reference goes, it passes the
// memory to `release`. TensorFlow's kernels never write to this memory.
::tensorflow::Tensor BorrowDlpack(const DlpackArray& array, Releaser release);

// Returns a DLPack array that shares the tensor's memory. The memory stays valid until the caller
// calls the array's deleter. Returns Unimplemented for types that DLPack does not have.
absl::StatusOr<dlpack::Managed*> LendDlpack(const ::tensorflow::Tensor& tensor,
                                            dlpack::Device device);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_TENSORS_DLPACK_TENSOR_H_
