#include "tf_nvcodec/nv/cuda/nvrtc.h"

#include <glob.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/cuda/dynamic_library.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {
namespace {

// The Python package puts the folders where pip installed NVRTC into this variable.
constexpr char kFoldersVariable[] = "TF_NVCODEC_NVRTC_FOLDERS";
constexpr char kCure[] = "pip install nvidia-cuda-nvrtc-cu12";
// The driver's own major version comes first, because code from a newer compiler may be too new for
// the driver.
constexpr const char* kNames[] = {"libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so.11.2",
                                  "libnvrtc.so"};
// The folders of NVIDIA's Python packages, below site-packages, and of the toolkit's installer.
constexpr const char* kPackageFolders[] = {"/nvidia/cuda_nvrtc/lib", "/nvidia/cu13/lib"};
constexpr const char* kToolkitFolder = "/usr/local/cuda/lib64";

struct Folders {
  std::mutex mutex;
  std::vector<std::string> list;
};
Folders& SetFolders() {
  static auto* folders = new Folders;
  return *folders;
}

// The loader calls this for each library of the process. It collects the site-packages folders that
// libraries came from. NVIDIA's packages are beside TensorFlow's.
int CollectPackages(dl_phdr_info* info, size_t, void* collected) {
  auto* const packages = static_cast<std::vector<std::string>*>(collected);
  const absl::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
  constexpr absl::string_view kEnd = "-packages/";
  const size_t at = path.find(kEnd);
  if (at == absl::string_view::npos) return 0;
  const std::string folder(path.substr(0, at + kEnd.size() - 1));
  if (std::find(packages->begin(), packages->end(), folder) == packages->end()) {
    packages->push_back(folder);
  }
  return 0;
}

// Returns paths and plain names in the order to try.
std::vector<std::string> Candidates() {
  std::vector<std::string> candidates;
  const auto add_folder = [&candidates](absl::string_view folder) {
    for (const char* name : kNames) candidates.push_back(absl::StrCat(folder, "/", name));
  };
  {
    std::lock_guard<std::mutex> lock(SetFolders().mutex);
    for (const std::string& folder : SetFolders().list) add_folder(folder);
  }
  if (const char* const folders = std::getenv(kFoldersVariable)) {
    for (const auto folder : absl::StrSplit(folders, ':', absl::SkipEmpty())) add_folder(folder);
  }
  candidates.insert(candidates.end(), std::begin(kNames), std::end(kNames));
  std::vector<std::string> packages;
  dl_iterate_phdr(CollectPackages, &packages);
  for (const std::string& package : packages) {
    for (const char* folder : kPackageFolders) add_folder(absl::StrCat(package, folder));
  }
  add_folder(kToolkitFolder);
  return candidates;
}

// NVRTC opens its second library by name alone. The loader finds that library in NVRTC's folder
// only if it is loaded already.
void OpenBuiltins(const std::string& library) {
  const size_t slash = library.rfind('/');
  if (slash == std::string::npos) return;
  glob_t found = {};
  const std::string pattern = absl::StrCat(library.substr(0, slash), "/libnvrtc-builtins.so*");
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      DynamicLibrary::Open(found.gl_pathv[i], kCure).IgnoreError();
    }
  }
  globfree(&found);
}

}  // namespace

void SetNvrtcFolders(std::vector<std::string> folders) {
  std::lock_guard<std::mutex> lock(SetFolders().mutex);
  SetFolders().list = std::move(folders);
}

absl::StatusOr<const Nvrtc*> Nvrtc::Get() {
  static const auto* nvrtc = new absl::StatusOr<Nvrtc>(Open());
  if (!nvrtc->ok()) return nvrtc->status();
  return &**nvrtc;
}

absl::StatusOr<Nvrtc> Nvrtc::Open() {
  absl::Status first_error;
  for (const std::string& candidate : Candidates()) {
    const absl::StatusOr<DynamicLibrary> library = DynamicLibrary::Open(candidate, kCure);
    if (!library.ok()) {
      first_error.Update(library.status());
      continue;
    }
    OpenBuiltins(candidate);
    Nvrtc nvrtc;
    nvrtc.library_ = candidate;
    const absl::Status status = nvrtc.Load(*library);
    if (status.ok()) return nvrtc;
    first_error.Update(status);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "colours are converted on the GPU by a kernel that NVIDIA's run-time compiler makes, and ",
      kNames[0], " is not to be found: ", kCure, ". (", first_error.message(), ")"));
}

absl::Status Nvrtc::Load(const DynamicLibrary& library) {
  absl::Status status;
  status.Update(library.Resolve("nvrtcVersion", &call_.version));
  status.Update(library.Resolve("nvrtcGetNumSupportedArchs", &call_.num_archs));
  status.Update(library.Resolve("nvrtcGetSupportedArchs", &call_.archs));
  status.Update(library.Resolve("nvrtcCreateProgram", &call_.create));
  status.Update(library.Resolve("nvrtcDestroyProgram", &call_.destroy));
  status.Update(library.Resolve("nvrtcCompileProgram", &call_.compile));
  status.Update(library.Resolve("nvrtcGetProgramLogSize", &call_.log_size));
  status.Update(library.Resolve("nvrtcGetProgramLog", &call_.log));
  status.Update(library.Resolve("nvrtcGetCUBINSize", &call_.cubin_size));
  status.Update(library.Resolve("nvrtcGetCUBIN", &call_.cubin));
  status.Update(library.Resolve("nvrtcGetPTXSize", &call_.ptx_size));
  status.Update(library.Resolve("nvrtcGetPTX", &call_.ptx));
  status.Update(library.Resolve("nvrtcGetErrorString", &call_.error_string));
  if (!status.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(library.name(), " is too old; CUDA 11.2 or later is needed"));
  }
  int major = 0, minor = 0, count = 0;
  NVC_RETURN_IF_ERROR(Check(call_.version(&major, &minor), "nvrtcVersion"));
  version_ = 100 * major + minor;
  NVC_RETURN_IF_ERROR(Check(call_.num_archs(&count), "nvrtcGetNumSupportedArchs"));
  archs_.resize(static_cast<size_t>(std::max(count, 0)));
  NVC_RETURN_IF_ERROR(Check(call_.archs(archs_.data()), "nvrtcGetSupportedArchs"));
  std::sort(archs_.begin(), archs_.end());
  return absl::OkStatus();
}

absl::Status Nvrtc::Check(int result, absl::string_view doing) const {
  if (result == 0) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(doing, " of ", library_, ": ", call_.error_string(result)));
}

absl::StatusOr<std::string> Nvrtc::Compile(const CudaSource& source, int compute_capability,
                                           const std::vector<std::string>& macros) const {
  const auto above = std::upper_bound(archs_.begin(), archs_.end(), compute_capability);
  if (above == archs_.begin()) {
    return absl::FailedPreconditionError(
        absl::StrCat(library_, " (CUDA ", version_ / 100, ".", version_ % 100,
                     ") no longer compiles for this GPU's compute capability ",
                     compute_capability / 10, ".", compute_capability % 10));
  }
  const int arch = *(above - 1);
  const bool exact = arch == compute_capability;
  std::vector<std::string> options = {
      absl::StrCat("--gpu-architecture=", exact ? "sm_" : "compute_", arch), "--std=c++17"};
  for (const std::string& macro : macros) options.push_back(absl::StrCat("-D", macro));

  std::vector<const char*> texts, names;
  for (const auto& header : source.headers) {
    names.push_back(header.first.c_str());
    texts.push_back(header.second.c_str());
  }
  Program program = nullptr;
  NVC_RETURN_IF_ERROR(
      Check(call_.create(&program, source.text.c_str(), source.name.c_str(),
                         static_cast<int>(names.size()), texts.data(), names.data()),
            "nvrtcCreateProgram"));
  std::string image;
  absl::Status status = CompileProgram(program, options);
  if (status.ok()) {
    size_t bytes = 0;
    status = Check((exact ? call_.cubin_size : call_.ptx_size)(program, &bytes), "nvrtcGetSize");
    image.resize(bytes);
    if (status.ok()) {
      status = Check((exact ? call_.cubin : call_.ptx)(program, image.data()), "nvrtcGetImage");
    }
  }
  call_.destroy(&program);
  if (!status.ok()) return status;
  return image;
}

absl::Status Nvrtc::CompileProgram(Program program, const std::vector<std::string>& options) const {
  std::vector<const char*> arguments;
  for (const std::string& option : options) arguments.push_back(option.c_str());
  const int result = call_.compile(program, static_cast<int>(arguments.size()), arguments.data());
  if (result == 0) return absl::OkStatus();
  size_t bytes = 0;
  std::string log;
  if (call_.log_size(program, &bytes) == 0 && bytes > 1) {
    log.resize(bytes);
    if (call_.log(program, log.data()) != 0) log.clear();
    while (!log.empty() && log.back() == '\0') log.pop_back();
  }
  return Check(result, absl::StrCat("nvrtcCompileProgram with ", absl::StrJoin(options, " "), "\n",
                                    log, "\n"));
}

namespace {

struct Entry {
  std::mutex mutex;  // held while compiling
  CUfunction function = nullptr;
};

struct Cache {
  std::mutex mutex;
  std::map<std::pair<GpuDevice*, std::string>, std::shared_ptr<Entry>> entries;
};

Cache& SharedCache() {
  static auto* cache = new Cache;
  return *cache;
}

absl::StatusOr<CUfunction> Load(GpuDevice* device, const std::string& image,
                                const std::string& function) {
  const ScopedContext context(*device);
  NVC_RETURN_IF_ERROR(context.status());
  const CudaDriver& cuda = device->cuda();
  CUmodule module = nullptr;
  NVC_RETURN_IF_ERROR(device->Check(cuda.cuModuleLoadData(&module, image.data()),
                                    absl::StrCat("loading the kernel ", function)));
  CUfunction found = nullptr;
  // The module stays loaded until the process ends.
  NVC_RETURN_IF_ERROR(device->Check(cuda.cuModuleGetFunction(&found, module, function.c_str()),
                                    absl::StrCat("finding the kernel ", function)));
  return found;
}

}  // namespace

absl::StatusOr<CUfunction> GetKernel(GpuDevice* device, const CudaSource& source,
                                     const std::string& function,
                                     const std::vector<std::string>& macros) {
  std::shared_ptr<Entry> entry;
  {
    const std::string key =
        absl::StrCat(source.name, "\n", function, "\n", absl::StrJoin(macros, "\n"));
    std::lock_guard<std::mutex> lock(SharedCache().mutex);
    std::shared_ptr<Entry>& slot = SharedCache().entries[{device, key}];
    if (slot == nullptr) slot = std::make_shared<Entry>();
    entry = slot;
  }
  std::lock_guard<std::mutex> lock(entry->mutex);
  if (entry->function == nullptr) {
    NVC_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, Nvrtc::Get());
    NVC_ASSIGN_OR_RETURN(const std::string image,
                         nvrtc->Compile(source, device->compute_capability(), macros));
    NVC_ASSIGN_OR_RETURN(entry->function, Load(device, image, function));
  }
  return entry->function;
}

}  // namespace nvc
