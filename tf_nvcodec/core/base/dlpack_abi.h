// Declares the structures of DLPack before version 1 (https://dmlc.github.io/dlpack), which every
// consumer accepts. A capsule named "dltensor" points to a Managed.
#ifndef TF_NVCODEC_CORE_BASE_DLPACK_ABI_H_
#define TF_NVCODEC_CORE_BASE_DLPACK_ABI_H_

#include <cstdint>

namespace nvc::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };
enum TypeCode : uint8_t { kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

struct Device {
  int32_t type;
  int32_t id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct View {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};

struct Managed {
  View view;
  void* context;
  void (*deleter)(Managed* self);  // may be null
};

static_assert(sizeof(View) == 48 && sizeof(Managed) == 64, "as in dlpack.h");

}  // namespace nvc::dlpack

#endif  // TF_NVCODEC_CORE_BASE_DLPACK_ABI_H_
