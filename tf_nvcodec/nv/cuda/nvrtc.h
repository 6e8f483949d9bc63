// NVIDIA's run-time compiler, opened on first use like the driver: CUDA C++ text to machine code
// for the GPU found, so that nothing here needs nvcc.
#ifndef TF_NVCODEC_NV_CUDA_NVRTC_H_
#define TF_NVCODEC_NV_CUDA_NVRTC_H_

#include <ffnvcodec/dynlink_cuda.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nvc {

class DynamicLibrary;

// Where to look for libnvrtc first. Without it: where the loader looks, then beside the Python
// packages that are loaded. Counts before the first use only.
void SetNvrtcFolders(std::vector<std::string> folders);

struct CudaSource {
  std::string name;  // in the compiler's messages
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers;  // name as included, text
};

class Nvrtc {
 public:
  // FailedPrecondition names what was tried and the package to install. Answers the same ever
  // after.
  static absl::StatusOr<const Nvrtc*> Get();

  // An image for cuModuleLoadData: a cubin where this NVRTC knows the GPU (compute capability 9.0
  // is 90), else PTX for the newest older one, which the driver then compiles. `macros` are
  // "NAME=value". Internal with the compiler's log when the text does not compile.
  absl::StatusOr<std::string> Compile(const CudaSource& source, int compute_capability,
                                      const std::vector<std::string>& macros) const;

  const std::string& library() const { return library_; }  // as it was opened
  int version() const { return version_; }                 // 12.3 is 1203

 private:
  using Program = struct NvrtcProgram*;
  struct Functions {
    int (*version)(int*, int*) = nullptr;
    int (*num_archs)(int*) = nullptr;
    int (*archs)(int*) = nullptr;
    int (*create)(Program*, const char*, const char*, int, const char* const*,
                  const char* const*) = nullptr;
    int (*destroy)(Program*) = nullptr;
    int (*compile)(Program, int, const char* const*) = nullptr;
    int (*log_size)(Program, size_t*) = nullptr;
    int (*log)(Program, char*) = nullptr;
    int (*cubin_size)(Program, size_t*) = nullptr;
    int (*cubin)(Program, char*) = nullptr;
    int (*ptx_size)(Program, size_t*) = nullptr;
    int (*ptx)(Program, char*) = nullptr;
    const char* (*error_string)(int) = nullptr;
  };

  static absl::StatusOr<Nvrtc> Open();
  absl::Status Load(const DynamicLibrary& library);
  // Internal, "<doing> of <library>: <NVRTC's words>".
  absl::Status Check(int result, absl::string_view doing) const;
  absl::Status CompileProgram(Program program, const std::vector<std::string>& options) const;

  std::string library_;
  int version_ = 0;
  std::vector<int> archs_;  // rising
  Functions call_;
};

class GpuDevice;

// `function` of `source` compiled with `macros` for `device`. The first call for a (device, source
// name, function, macros) compiles; calls for the same at that time wait for it. A failure is not
// kept. Thread-safe.
absl::StatusOr<CUfunction> GetKernel(GpuDevice* device, const CudaSource& source,
                                     const std::string& function,
                                     const std::vector<std::string>& macros);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_NVRTC_H_
