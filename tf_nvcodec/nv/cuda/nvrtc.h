// Compiles CUDA C++ for the GPU with NVRTC, NVIDIA's run-time compiler, so that the build needs no
// nvcc. Like the driver, NVRTC is opened on first use.
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

// Sets the folders to search first for libnvrtc. After them come the loader's own folders and the
// NVIDIA packages beside loaded Python packages. Has no effect after the first use of NVRTC.
void SetNvrtcFolders(std::vector<std::string> folders);

struct CudaSource {
  std::string name;  // for the compiler's messages
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers;  // (name as included, text)
};

class Nvrtc {
 public:
  // Opens NVRTC at the first call and gives the same answer ever after. Returns FailedPrecondition,
  // which names what it tried and the package to install.
  static absl::StatusOr<const Nvrtc*> Get();

  // Returns an image for cuModuleLoadData. If this NVRTC knows the GPU, the image is a cubin; else
  // it is PTX for the newest older GPU, which the driver then compiles. A `compute_capability` of
  // 90 means 9.0. `macros` have the form "NAME=value". Returns Internal with the compiler's log if
  // the text does not compile.
  absl::StatusOr<std::string> Compile(const CudaSource& source, int compute_capability,
                                      const std::vector<std::string>& macros) const;

  const std::string& library() const { return library_; }  // the name or path that was opened
  int version() const { return version_; }                 // 1203 means 12.3

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
  // Returns OK for a `result` of 0, else Internal: "<doing> of <library>: <NVRTC's message>".
  absl::Status Check(int result, absl::string_view doing) const;
  absl::Status CompileProgram(Program program, const std::vector<std::string>& options) const;

  std::string library_;
  int version_ = 0;
  std::vector<int> archs_;  // ascending
  Functions call_;
};

class GpuDevice;

// Returns `function` of `source`, compiled with `macros` for `device`. The first call with the same
// device, source name, function and macros compiles; other threads that need the same kernel wait
// for it. A failed call is tried again next time. Thread-safe.
absl::StatusOr<CUfunction> GetKernel(GpuDevice* device, const CudaSource& source,
                                     const std::string& function,
                                     const std::vector<std::string>& macros);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_NVRTC_H_
