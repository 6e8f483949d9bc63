// A driver made of tables that note each call: a GPU that decodes nothing, with a parser that does
// what the bytes say.
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

// One at a time. Its destructor fails the test when something of the driver's is left open, or a
// context is still current.
//
// The parser's bytes are words:
//   S96x64    a sequence header of that size; S96x64/10 of 10 bits, S96x64+4 shows all but 4 rows
//   I3, P3    decode a picture into surface 3, a key frame or not; O3 one that is only intra, B3
//             one that refers to later ones
//   D3        show surface 3
class FakeGpu {
 public:
  FakeGpu();
  ~FakeGpu();

  GpuDevice* device() const { return device_; }
  static const CuvidDriver* cuvid();

  // The next `times` calls of a function answer with this code, after `good` more good ones.
  void Fail(const std::string& function, int code, int times = 1, int good = 0);

  // What was called, in order, without the calls that only ask or that make contexts current.
  std::vector<std::string> calls;
  std::vector<std::string> CallsOf(const std::string& function) const;
  int Count(const std::string& function) const {
    return static_cast<int>(CallsOf(function).size());
  }

  std::string at_end;                // words that the parser reads at the end of the stream
  std::map<int, int> decode_status;  // of surfaces; all others were decoded well
  int num_caps_asked = 0;
  int min_surfaces = 4;         // that the parser asks for
  int matrix_coefficients = 2;  // and says
  std::vector<CUVIDDECODECREATEINFO> created;
  std::vector<CUVIDRECONFIGUREDECODERINFO> reconfigured;
  std::vector<CUVIDPROCPARAMS> mapped_with;
  std::vector<std::pair<int, int>> sizes_in_macroblocks;  // of what was decoded
  std::vector<unsigned int> stream_flags;                 // of what was created

  // A caller's contexts, with their ids, and of which GPU's ordinal each is. The driver knows no
  // others; the primary one is nobody's.
  struct Context {
    unsigned long long id = 0;
    int ordinal = 0;
  };
  std::map<CUcontext, Context> foreign;
  std::map<CUstream, CUcontext> streams;  // a caller's

  // Of the tables.
  CUresult Call(const std::string& function, const std::string& details = "");
  void* Open(const std::string& kind);
  void Close(const std::string& kind, void* handle);
  std::vector<CUcontext> contexts;  // current, the innermost last
  std::set<CUcontext> used;         // in which anything was called
  std::map<std::string, std::set<void*>> open;
  CUVIDPARSERPARAMS parser = {};
  int coded_width = 0, coded_height = 0;  // of the last sequence header
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
