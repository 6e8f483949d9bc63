// A fake libnvrtc. Its machine code is the list of compiler options, which tells a fake driver
// which kernel it gets. It refuses source text that contains "syntax error".
#include <cstddef>
#include <cstring>
#include <string>

namespace {

constexpr char kLog[] = "line 1: syntax error";

struct Program {
  std::string text, image;
  bool failed = false;
};

Program* Of(void* program) { return static_cast<Program*>(program); }

}  // namespace

#define NVC_EXPORT extern "C" __attribute__((visibility("default")))

NVC_EXPORT int nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 3;
  return 0;
}
NVC_EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  *count = 3;
  return 0;
}
NVC_EXPORT int nvrtcGetSupportedArchs(int* archs) {
  const int known[] = {50, 80, 90};
  std::memcpy(archs, known, sizeof(known));
  return 0;
}
NVC_EXPORT int nvrtcCreateProgram(void** program, const char* text, const char*, int headers,
                                  const char* const* texts, const char* const*) {
  auto* made = new Program;
  made->text = text;
  for (int i = 0; i < headers; ++i) made->text += texts[i];
  *program = made;
  return 0;
}
NVC_EXPORT int nvrtcDestroyProgram(void** program) {
  delete Of(*program);
  *program = nullptr;
  return 0;
}
NVC_EXPORT int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  for (int i = 0; i < count; ++i) Of(program)->image += std::string(options[i]) + "\n";
  Of(program)->failed = Of(program)->text.find("syntax error") != std::string::npos;
  return Of(program)->failed ? 6 : 0;
}
NVC_EXPORT int nvrtcGetProgramLogSize(void* program, size_t* bytes) {
  *bytes = Of(program)->failed ? sizeof(kLog) : 1;
  return 0;
}
NVC_EXPORT int nvrtcGetProgramLog(void* program, char* log) {
  std::memcpy(log, Of(program)->failed ? kLog : "", Of(program)->failed ? sizeof(kLog) : 1);
  return 0;
}
NVC_EXPORT int nvrtcGetCUBINSize(void* program, size_t* bytes) {
  *bytes = Of(program)->image.size() + 1;
  return 0;
}
NVC_EXPORT int nvrtcGetCUBIN(void* program, char* image) {
  std::memcpy(image, Of(program)->image.c_str(), Of(program)->image.size() + 1);
  return 0;
}
NVC_EXPORT int nvrtcGetPTXSize(void* program, size_t* bytes) {
  return nvrtcGetCUBINSize(program, bytes);
}
NVC_EXPORT int nvrtcGetPTX(void* program, char* image) { return nvrtcGetCUBIN(program, image); }
NVC_EXPORT const char* nvrtcGetErrorString(int result) {
  return result == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_OTHER";
}
