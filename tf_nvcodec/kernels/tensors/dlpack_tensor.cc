#include "tf_nvcodec/kernels/tensors/dlpack_tensor.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::Tensor;
using ::tensorflow::TensorBuffer;
using ::tensorflow::TensorShape;

// In bytes. TensorFlow's allocators align to this, and no kernel loads a wider vector.
constexpr uintptr_t kAlignment = 64;

class BorrowedBuffer : public TensorBuffer {
 public:
  BorrowedBuffer(const DlpackArray& array, Releaser release)
      : TensorBuffer(array.data), array_(array), release_(std::move(release)) {}
  ~BorrowedBuffer() override { array_.GiveBack(release_); }

  size_t size() const override { return array_.bytes; }
  TensorBuffer* root_buffer() override { return this; }
  void FillAllocationDescription(::tensorflow::AllocationDescription*) const override {}
  // False keeps kernels from reusing this memory for their results.
  bool OwnsMemory() const override { return false; }

 private:
  const DlpackArray array_;
  const Releaser release_;
};

// Holds what a Managed points to, and a reference to the tensor that keeps its memory.
struct Lent {
  dlpack::Managed managed;
  std::vector<int64_t> shape, strides;
  Tensor tensor;
};

absl::StatusOr<dlpack::DataType> DlpackType(DataType dtype) {
  dlpack::DataType type = {};
  type.bits = static_cast<uint8_t>(8 * ::tensorflow::DataTypeSize(dtype));
  type.lanes = 1;
  switch (dtype) {
    case ::tensorflow::DT_UINT8:
    case ::tensorflow::DT_UINT16:
    case ::tensorflow::DT_UINT32:
    case ::tensorflow::DT_UINT64:
      type.code = dlpack::kUint;
      return type;
    case ::tensorflow::DT_INT8:
    case ::tensorflow::DT_INT16:
    case ::tensorflow::DT_INT32:
    case ::tensorflow::DT_INT64:
      type.code = dlpack::kInt;
      return type;
    case ::tensorflow::DT_HALF:
    case ::tensorflow::DT_FLOAT:
    case ::tensorflow::DT_DOUBLE:
      type.code = dlpack::kFloat;
      return type;
    case ::tensorflow::DT_BFLOAT16:
      type.code = dlpack::kBfloat;
      return type;
    case ::tensorflow::DT_COMPLEX64:
    case ::tensorflow::DT_COMPLEX128:
      type.code = dlpack::kComplex;
      return type;
    case ::tensorflow::DT_BOOL:
      type.code = dlpack::kBool;
      return type;
    default:
      return absl::UnimplementedError(
          absl::StrCat("DLPack has no type for a tensor of ", ::tensorflow::DataTypeString(dtype)));
  }
}

absl::Status CheckRowMajor(const dlpack::View& view) {
  // For empty arrays, some libraries give other strides (NumPy 2 gives zeros).
  const bool is_empty = std::find(view.shape, view.shape + view.ndim, 0) != view.shape + view.ndim;
  if (view.strides == nullptr || is_empty) return absl::OkStatus();
  int64_t stride = 1;
  for (int i = view.ndim - 1; i >= 0; --i) {
    if (view.shape[i] != 1 && view.strides[i] != stride) {
      return absl::InvalidArgumentError(
          absl::StrCat("the array is not row-major: dimension ", i, " has stride ", view.strides[i],
                       ", not ", stride, "; make a contiguous copy of it first"));
    }
    stride *= view.shape[i];
  }
  return absl::OkStatus();
}

}  // namespace

bool DlpackArray::IsAligned() const { return reinterpret_cast<uintptr_t>(data) % kAlignment == 0; }

void DlpackArray::GiveBack(const Releaser& release) const {
  release([owner = managed] {
    if (owner->deleter != nullptr) owner->deleter(owner);
  });
}

absl::StatusOr<DlpackArray> ReadDlpack(dlpack::Managed* managed, DataType dtype) {
  if (managed == nullptr) return absl::InvalidArgumentError("a DLPack capsule holds no array");
  const dlpack::View& view = managed->view;
  NVC_ASSIGN_OR_RETURN(const dlpack::DataType type, DlpackType(dtype));
  if (view.dtype.code != type.code || view.dtype.bits != type.bits || view.dtype.lanes != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the array's type (DLPack code ", int{view.dtype.code}, ", ", int{view.dtype.bits},
        " bits, ", int{view.dtype.lanes}, " lanes) is not ", ::tensorflow::DataTypeString(dtype)));
  }
  if (view.ndim < 0 || view.ndim > TensorShape::MaxDimensions()) {
    return absl::InvalidArgumentError(absl::StrCat("the array has ", view.ndim,
                                                   " dimensions; a tensor has from 0 to ",
                                                   TensorShape::MaxDimensions()));
  }
  TensorShape shape;
  for (int i = 0; i < view.ndim; ++i) TF_RETURN_IF_ERROR(shape.AddDimWithStatus(view.shape[i]));
  NVC_RETURN_IF_ERROR(CheckRowMajor(view));
  if (view.data == nullptr && shape.num_elements() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the array of shape ", shape.DebugString(),
                     " has elements but no memory (its data pointer is null)"));
  }
  const size_t bytes = static_cast<size_t>(shape.num_elements()) * (type.bits / 8);
  return DlpackArray{managed, dtype, shape, static_cast<char*>(view.data) + view.byte_offset,
                     bytes};
}

Tensor BorrowDlpack(const DlpackArray& array, Releaser release) {
  auto* const buffer = new BorrowedBuffer(array, std::move(release));
  Tensor tensor(array.dtype, array.shape, buffer);
  buffer->Unref();  // the tensor keeps its own reference
  return tensor;
}

absl::StatusOr<dlpack::Managed*> LendDlpack(const Tensor& tensor, dlpack::Device device) {
  NVC_ASSIGN_OR_RETURN(const dlpack::DataType type, DlpackType(tensor.dtype()));
  auto* const lent = new Lent;
  lent->tensor = tensor;
  int64_t stride = 1;
  lent->shape.resize(static_cast<size_t>(tensor.dims()));
  lent->strides.resize(lent->shape.size());
  for (int i = tensor.dims() - 1; i >= 0; --i) {
    lent->shape[static_cast<size_t>(i)] = tensor.dim_size(i);
    lent->strides[static_cast<size_t>(i)] = stride;
    stride *= tensor.dim_size(i);
  }
  lent->managed.view = {tensor.data(),        device, tensor.dims(), type, lent->shape.data(),
                        lent->strides.data(),
                        /*byte_offset=*/0};
  lent->managed.context = lent;
  lent->managed.deleter = [](dlpack::Managed* self) { delete static_cast<Lent*>(self->context); };
  return &lent->managed;
}

}  // namespace nvc
