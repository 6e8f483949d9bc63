#include <algorithm>
#include <cstdint>
#include <iterator>

#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/nv/decode/decode_backend.h"
#include "tf_nvcodec/nv/decode/nvdec_pool.h"

namespace nvc {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

class DecoderPoolOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const NvdecPool::Stats s = NvdecPool::TotalStats();
    const int64_t counters[] = {s.created, s.reused, s.reconfigured, s.destroyed,
                                s.failed,  s.idle,   s.in_use,       SegmentsDecodedAgain()};
    Tensor* out = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(
                                0, TensorShape({static_cast<int64_t>(std::size(counters))}), &out));
    std::copy(std::begin(counters), std::end(counters), out->vec<int64_t>().data());
  }
};

REGISTER_KERNEL_BUILDER(Name("NvcDecoderPool").Device(::tensorflow::DEVICE_CPU), DecoderPoolOp);

}  // namespace
}  // namespace nvc
