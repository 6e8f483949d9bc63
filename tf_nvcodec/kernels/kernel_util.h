// Helpers that every kernel uses: scalar inputs and outputs, and cancellation of the step.
#ifndef TF_NVCODEC_KERNELS_KERNEL_UTIL_H_
#define TF_NVCODEC_KERNELS_KERNEL_UTIL_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {

// Gets the bytes of input 0, a scalar string. They stay valid as long as `context`.
inline absl::Status GetContents(::tensorflow::OpKernelContext* context,
                                absl::string_view* contents) {
  const ::tensorflow::Tensor& tensor = context->input(0);
  if (tensor.dims() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("contents must be a scalar string, got shape ", tensor.shape().DebugString(),
                     "; decode one video a call, e.g. with tf.map_fn or Dataset.map"));
  }
  const ::tensorflow::tstring& bytes = tensor.scalar<::tensorflow::tstring>()();
  *contents = absl::string_view(bytes.data(), bytes.size());
  return absl::OkStatus();
}

// Reads a scalar input. Returns InvalidArgument, which names the input, if it is not a scalar.
template <typename T>
absl::Status ReadScalar(::tensorflow::OpKernelContext* context, int input, const char* name,
                        T* value) {
  const ::tensorflow::Tensor& tensor = context->input(input);
  if (tensor.dims() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be a scalar, got shape ", tensor.shape().DebugString()));
  }
  *value = tensor.scalar<T>()();
  return absl::OkStatus();
}

template <typename T>
absl::Status SetScalar(::tensorflow::OpKernelContext* context, int output, const T& value) {
  ::tensorflow::Tensor* tensor = nullptr;
  absl::Status status = context->allocate_output(output, ::tensorflow::TensorShape({}), &tensor);
  if (status.ok()) tensor->scalar<T>()() = value;
  return status;
}

// Returns a function that says whether TensorFlow has cancelled the step; null if it can't be
// cancelled.
inline Cancelled StepCancelled(::tensorflow::OpKernelContext* context) {
  ::tensorflow::CancellationManager* manager = context->cancellation_manager();
  if (manager == nullptr) return nullptr;
  return [manager] { return manager->IsCancelled(); };
}

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_KERNEL_UTIL_H_
