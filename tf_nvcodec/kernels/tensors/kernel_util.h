// Helpers that every kernel uses: scalar inputs and outputs, and cancellation of the step.
#ifndef TF_NVCODEC_KERNELS_TENSORS_KERNEL_UTIL_H_
#define TF_NVCODEC_KERNELS_TENSORS_KERNEL_UTIL_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_nvcodec/core/base/cancelled.h"
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

// Returns a condition that is true when TensorFlow has cancelled the step, or `timeout` seconds
// from now; 0 means no time limit.
inline Cancelled StepCancelled(::tensorflow::OpKernelContext* context, double timeout) {
  ::tensorflow::CancellationManager* manager = context->cancellation_manager();
  Cancelled cancelled;
  if (manager != nullptr) cancelled = [manager] { return manager->IsCancelled(); };
  return cancelled.Before(Deadline(timeout));
}

// Reads the attribute "timeout", in seconds.
inline absl::Status ReadTimeout(::tensorflow::OpKernelConstruction* context, double* timeout) {
  float seconds = 0;
  absl::Status status = context->GetAttr("timeout", &seconds);
  if (!status.ok()) return status;
  if (!(seconds >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("timeout must be at least 0 seconds, got ", seconds));
  }
  *timeout = seconds;
  return absl::OkStatus();
}

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_TENSORS_KERNEL_UTIL_H_
