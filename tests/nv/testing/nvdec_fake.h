// A fake GPU for tests of NVDEC. Its driver notes each call and decodes nothing. Its parser does
// what the words in a packet say.
#ifndef TF_NVCODEC_TESTS_NV_TESTING_NVDEC_FAKE_H_
#define TF_NVCODEC_TESTS_NV_TESTING_NVDEC_FAKE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

// Only one may exist at a time. Its destructor fails the test if an object of the driver is still
// open or a context is still current.
//
// The parser reads words:
//   S96x64    a sequence header of that size; S96x64/10 with 10 bits, S96x64+4 with 4 hidden rows
//   I3, P3    decodes a key frame or another picture into surface 3; O3 an intra-only picture
//   P3<1      an HEVC picture that refers to the earlier one in surface 1; P3>1 to a later one,
//   P3=1
//             to a long-term one. P3<1@7 if that should have the picture order count 7; a picture's
//             own is the number of its surface. P3<99 refers to no place of the table
//   D3        shows surface 3
class FakeGpu {
 public:
  FakeGpu();
  ~FakeGpu();

  GpuDevice* device() const { return device_; }
  static const CuvidDriver* cuvid();

  // Lets the next `good` calls of a function succeed and the `times` calls after them return
  // `code`.
  void Fail(const std::string& function, int code, int times = 1, int good = 0);

  // The calls in order, without queries and calls that make contexts current.
  std::vector<std::string> calls;
  std::vector<std::string> CallsOf(const std::string& function) const;
  int Count(const std::string& function) const {
    return static_cast<int>(CallsOf(function).size());
  }

  std::string at_end;                // words that the parser reads at the end of the stream
  std::map<int, int> decode_status;  // by surface; surfaces without an entry are decoded well
  int num_caps_asked = 0;
  int min_surfaces = 4;         // the number that the parser reports
  int matrix_coefficients = 2;  // the value that the parser reports
  std::vector<CUVIDDECODECREATEINFO> created;
  std::vector<CUVIDRECONFIGUREDECODERINFO> reconfigured;
  std::vector<CUVIDPROCPARAMS> mapped_with;

  // The callers' contexts, each with its id and the ordinal of its GPU. The driver knows no others
  // apart from the primary one.
  struct Context {
    unsigned long long id = 0;
    int ordinal = 0;
  };
  std::map<CUcontext, Context> foreign;
  std::map<CUstream, CUcontext> streams;  // the callers' streams

  // For the driver's functions.
  CUresult Call(const std::string& function, const std::string& details = "");
  void* Open(const std::string& kind);
  void Close(const std::string& kind, void* handle);
  std::vector<CUcontext> contexts;  // the stack of current contexts, innermost last
  std::set<CUcontext> used;         // the contexts that calls were made in
  std::map<std::string, std::set<void*>> open;
  CUVIDPARSERPARAMS parser = {};
  CUresult ParseWords(const std::string& words);

 private:
  struct Failure {
    int code, times, good;
  };
  GpuDevice* device_ = nullptr;
  std::map<std::string, Failure> failures_;
  uintptr_t next_handle_ = 0x10000;
};

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_NV_TESTING_NVDEC_FAKE_H_
