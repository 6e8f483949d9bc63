// The binary interface of DLPack before version 1.0, which every consumer takes: the structures of
// https://dmlc.github.io/dlpack, in our own words.
#ifndef TF_NVCODEC_CAPI_DLPACK_ABI_H_
#define TF_NVCODEC_CAPI_DLPACK_ABI_H_

#include <cstdint>

namespace nvc::dlpack {

enum : int32_t { kCpu = 1, kCuda = 2 };
enum : uint8_t { kUint = 1 };

struct Device {
  int32_t type;
  int32_t id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t num_dims;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements
  uint64_t byte_offset;
};

struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);
};

}  // namespace nvc::dlpack

#endif  // TF_NVCODEC_CAPI_DLPACK_ABI_H_
