#include "tf_nvcodec/nv/cuda/availability.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/cuda/driver.h"
#include "tf_nvcodec/nv/cuda/nvdec_codecs.h"
#include "tf_nvcodec/nv/cuda/nvenc_gpu.h"

namespace nvc {
namespace {

// Makes a GPU's primary context current on this thread while the object lives.
class CurrentDevice {
 public:
  static absl::StatusOr<CurrentDevice> Enter(const CudaDriver& cuda, int ordinal) {
    CurrentDevice current(&cuda);
    NVC_RETURN_IF_ERROR(cuda.Check(cuda.cuDeviceGet(&current.device_, ordinal), "cuDeviceGet"));
    char name[256] = {};
    NVC_RETURN_IF_ERROR(
        cuda.Check(cuda.cuDeviceGetName(name, sizeof(name), current.device_), "cuDeviceGetName"));
    current.name_ = name;
    CUcontext context = nullptr;
    NVC_RETURN_IF_ERROR(cuda.Check(cuda.cuDevicePrimaryCtxRetain(&context, current.device_),
                                   absl::StrCat("creating a CUDA context on ", current.name_)));
    current.context_ = context;
    NVC_RETURN_IF_ERROR(cuda.Check(cuda.cuCtxPushCurrent(context), "cuCtxPushCurrent"));
    current.pushed_ = true;
    return current;
  }

  CurrentDevice(CurrentDevice&& other)
      : cuda_(other.cuda_),
        device_(other.device_),
        name_(std::move(other.name_)),
        context_(std::exchange(other.context_, nullptr)),
        pushed_(std::exchange(other.pushed_, false)) {}
  CurrentDevice& operator=(CurrentDevice&&) = delete;

  ~CurrentDevice() {
    CUcontext popped = nullptr;
    if (pushed_) cuda_->cuCtxPopCurrent(&popped);
    if (context_ != nullptr) cuda_->cuDevicePrimaryCtxRelease(device_);
  }

  const std::string& name() const { return name_; }
  CUcontext context() const { return context_; }

 private:
  explicit CurrentDevice(const CudaDriver* cuda) : cuda_(cuda) {}

  const CudaDriver* cuda_;
  CUdevice device_ = 0;
  std::string name_;
  CUcontext context_ = nullptr;
  bool pushed_ = false;
};

absl::StatusOr<std::string> DecodableCodecs(const CuvidDriver& cuvid, const CurrentDevice& device) {
  std::vector<absl::string_view> names;
  for (const cudaVideoCodec codec : NvdecCodecs()) {
    CUVIDDECODECAPS caps = {};
    caps.eCodecType = codec;
    caps.eChromaFormat = cudaVideoChromaFormat_420;
    if (cuvid.cuvidGetDecoderCaps(&caps) == CUDA_SUCCESS && caps.bIsSupported) {
      names.push_back(NvdecCodecName(codec));
    }
  }
  if (names.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(device.name(), " has no NVDEC"));
  }
  return absl::StrCat(device.name(), ": ", absl::StrJoin(names, ", "));
}

absl::StatusOr<std::string> EncodableCodecs(const NvencDriver& nvenc, const CurrentDevice& device) {
  NVC_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                       NvencCodecs(nvenc, device.context(), device.name()));
  return absl::StrCat(device.name(), ": ", absl::StrJoin(names, ", "));
}

// Returns the description of the first GPU that `describe` accepts, or the error of the last GPU.
template <typename Describe>
absl::StatusOr<std::string> FirstDevice(Describe describe) {
  NVC_ASSIGN_OR_RETURN(const CudaDriver* cuda, GetCudaDriver());
  int count = 0;
  NVC_RETURN_IF_ERROR(cuda->Check(cuda->cuDeviceGetCount(&count), "cuDeviceGetCount"));
  absl::StatusOr<std::string> answer = NoGpu();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    absl::StatusOr<CurrentDevice> device = CurrentDevice::Enter(*cuda, ordinal);
    answer = device.ok() ? describe(*device) : absl::StatusOr<std::string>(device.status());
    if (answer.ok()) break;
  }
  return answer;
}

}  // namespace

absl::StatusOr<std::string> FindNvdec() {
  NVC_RETURN_IF_ERROR(GetCudaDriver().status());
  NVC_ASSIGN_OR_RETURN(const CuvidDriver* cuvid, GetCuvidDriver());
  return FirstDevice(
      [cuvid](const CurrentDevice& device) { return DecodableCodecs(*cuvid, device); });
}

absl::StatusOr<std::string> FindNvenc() {
  NVC_RETURN_IF_ERROR(GetCudaDriver().status());
  NVC_ASSIGN_OR_RETURN(const NvencDriver* nvenc, GetNvencDriver());
  return FirstDevice(
      [nvenc](const CurrentDevice& device) { return EncodableCodecs(*nvenc, device); });
}

}  // namespace nvc
