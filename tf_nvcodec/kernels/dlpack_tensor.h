// Tensors over memory of others, and memory of tensors for others.
#ifndef TF_NVCODEC_KERNELS_DLPACK_TENSOR_H_
#define TF_NVCODEC_KERNELS_DLPACK_TENSOR_H_

#include <cstddef>
#include <functional>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.pb.h"
#include "tf_nvcodec/core/base/dlpack_abi.h"

namespace nvc {

// Who gives memory back, once nothing refers to it: now, or when a GPU is done with it.
using Releaser = std::function<void(std::function<void()> give_back)>;

// An array of someone else, found to be what a tensor can be.
struct DlpackArray {
  dlpack::Managed* managed;
  ::tensorflow::DataType dtype;
  ::tensorflow::TensorShape shape;
  void* data;
  size_t bytes;

  // Whether TensorFlow's kernels may be given the memory: they read whole vectors.
  bool IsAligned() const;
  // Runs the deleter through `release`.
  void GiveBack(const Releaser& release) const;
};

// InvalidArgument: no row-major array, or not of `dtype`.
absl::StatusOr<DlpackArray> ReadDlpack(dlpack::Managed* managed, ::tensorflow::DataType dtype);

// A tensor that shares the array's memory and gives it back when the last reference to it goes.
// TensorFlow's kernels never write to it.
::tensorflow::Tensor BorrowDlpack(const DlpackArray& array, Releaser release);

// Shares the tensor's memory, which stays as long as the result. Its deleter frees it.
// Unimplemented for types that DLPack has not.
absl::StatusOr<dlpack::Managed*> LendDlpack(const ::tensorflow::Tensor& tensor,
                                            dlpack::Device device);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DLPACK_TENSOR_H_
