#include "tests/nv/testing/nvdec_fake.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace nvc {
namespace {

FakeGpu* gpu = nullptr;

constexpr CUresult kOk = CUDA_SUCCESS;
const auto kPrimary = reinterpret_cast<CUcontext>(uintptr_t{1});

template <typename Handle>
CUresult OpenHandle(const char* function, const char* kind, Handle* handle) {
  const CUresult result = gpu->Call(function);
  if (result == kOk) *handle = static_cast<Handle>(gpu->Open(kind));
  return result;
}

CUdeviceptr Address(void* handle) { return reinterpret_cast<uintptr_t>(handle); }
void* Handle(CUdeviceptr address) { return reinterpret_cast<void*>(uintptr_t{address}); }

// Reads the part of a word from `<`, `>` or `=` on.
void SetReferences(const std::string& word, CUVIDHEVCPICPARAMS* picture) {
  const size_t at = word.find_first_of("<>=");
  if (at == std::string::npos) return;
  const int surface = std::atoi(word.c_str() + at + 1);
  int order_count = surface;
  const size_t count_at = word.find('@');
  if (count_at != std::string::npos) order_count = std::atoi(word.c_str() + count_at + 1);
  // Not the first place, so that a test sees a mixed-up table.
  const unsigned char place = surface == 99 ? 0xff : 2;
  if (word[at] == '<') {
    picture->NumPocStCurrBefore = 1;
    picture->RefPicSetStCurrBefore[0] = place;
  } else if (word[at] == '>') {
    picture->NumPocStCurrAfter = 1;
    picture->RefPicSetStCurrAfter[0] = place;
  } else {
    picture->NumPocLtCurr = 1;
    picture->RefPicSetLtCurr[0] = place;
  }
  picture->RefPicIdx[2] = surface;
  picture->PicOrderCntVal[2] = order_count;
}

CudaDriver MakeCuda() {
  CudaDriver cuda;
  cuda.cuGetErrorName = [](CUresult result, const char** name) {
    *name = static_cast<int>(result) == kCudaOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : nullptr;
    return kOk;
  };
  cuda.cuGetErrorString = [](CUresult, const char** words) {
    *words = "made up";
    return kOk;
  };
  cuda.cuDeviceGet = [](CUdevice* device, int ordinal) {
    *device = ordinal;
    return kOk;
  };
  cuda.cuDeviceGetName = [](char* name, int size, CUdevice) {
    std::snprintf(name, static_cast<size_t>(size), "Fake H200");
    return kOk;
  };
  cuda.cuDeviceGetAttribute = [](int* value, CUdevice_attribute attribute, CUdevice) {
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
    return kOk;
  };
  cuda.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) {
    *context = kPrimary;
    return kOk;
  };
  cuda.cuMemGetInfo = [](size_t* free, size_t* total) {
    *free = *total = size_t{32} << 30;
    return kOk;
  };
  cuda.cuCtxPushCurrent = [](CUcontext context) {
    EXPECT_TRUE(context == kPrimary || gpu->foreign.count(context) == 1) << "no such context";
    gpu->contexts.push_back(context);
    return kOk;
  };
  cuda.cuCtxPopCurrent = [](CUcontext*) {
    gpu->contexts.pop_back();
    return kOk;
  };
  cuda.cuCtxGetId = [](CUcontext context, unsigned long long* id) {
    const auto found = gpu->foreign.find(context);
    if (found == gpu->foreign.end()) return static_cast<CUresult>(kCudaInvalidContext);
    *id = found->second.id;
    return kOk;
  };
  cuda.cuCtxGetDevice = [](CUdevice* device) {
    *device = gpu->foreign.at(gpu->contexts.back()).ordinal;
    return kOk;
  };
  cuda.cuCtxSynchronize = [] { return gpu->Call("CtxSynchronize"); };
  cuda.cuMemcpy2DAsync = [](const CUDA_MEMCPY2D*, CUstream) { return gpu->Call("Memcpy2D"); };
  cuda.cuStreamGetCtx = [](CUstream stream, CUcontext* context) {
    const auto found = gpu->streams.find(stream);
    if (found == gpu->streams.end()) return static_cast<CUresult>(kCudaInvalidHandle);
    *context = found->second;
    return kOk;
  };
  cuda.cuStreamCreate = [](CUstream* stream, unsigned int flags) {
    EXPECT_EQ(flags, CU_STREAM_NON_BLOCKING);
    void* handle = nullptr;
    const CUresult result = OpenHandle("StreamCreate", "stream", &handle);
    *stream = static_cast<CUstream>(handle);
    return result;
  };
  cuda.cuStreamDestroy = [](CUstream stream) {
    gpu->Close("stream", stream);
    return gpu->Call("StreamDestroy");
  };
  cuda.cuStreamSynchronize = [](CUstream) { return gpu->Call("StreamSynchronize"); };
  cuda.cuStreamWaitEvent = [](CUstream, CUevent, unsigned int) {
    return gpu->Call("StreamWaitEvent");
  };
  cuda.cuEventCreate = [](CUevent* event, unsigned int flags) {
    EXPECT_EQ(flags, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
    void* handle = nullptr;
    const CUresult result = OpenHandle("EventCreate", "event", &handle);
    *event = static_cast<CUevent>(handle);
    return result;
  };
  cuda.cuEventDestroy = [](CUevent event) {
    gpu->Close("event", event);
    return kOk;
  };
  cuda.cuEventRecord = [](CUevent, CUstream stream) {
    return gpu->Call("EventRecord", absl::StrCat(" ", Address(stream)));
  };
  cuda.cuEventQuery = [](CUevent) { return gpu->Call("EventQuery"); };
  cuda.cuEventSynchronize = [](CUevent) { return gpu->Call("EventSynchronize"); };
  cuda.cuMemAlloc = [](CUdeviceptr* memory, size_t bytes) {
    const CUresult result = gpu->Call("MemAlloc", absl::StrCat(" ", bytes));
    if (result == kOk) *memory = Address(gpu->Open("memory"));
    return result;
  };
  cuda.cuMemFree = [](CUdeviceptr memory) {
    gpu->Close("memory", Handle(memory));
    return kOk;
  };
  return cuda;
}

CUresult GetCaps(CUVIDDECODECAPS* caps) {
  ++gpu->num_caps_asked;
  const CUresult result = gpu->Call("GetDecoderCaps");
  if (result != kOk) return result;
  const bool is_420 = caps->eChromaFormat == cudaVideoChromaFormat_420;
  const bool hevc = caps->eCodecType == cudaVideoCodec_HEVC;
  const bool is_444 = caps->eChromaFormat == cudaVideoChromaFormat_444;
  const unsigned int depth = caps->nBitDepthMinus8;
  if (caps->eCodecType == cudaVideoCodec_AV1) return static_cast<CUresult>(kCudaNotSupported);
  caps->bIsSupported = (is_420 && depth == 0) || (hevc && depth <= 2 && (is_420 || is_444));
  if (!caps->bIsSupported) return kOk;
  caps->nOutputFormatMask = static_cast<unsigned short>(
      1u << (is_444 ? cudaVideoSurfaceFormat_YUV444 : cudaVideoSurfaceFormat_NV12) << (depth > 0));
  caps->nMinWidth = 48;
  caps->nMinHeight = 16;
  caps->nMaxWidth = caps->nMaxHeight = 4096;
  caps->nMaxMBCount = 32768;
  return kOk;
}

CUresult Parse(CUvideoparser, CUVIDSOURCEDATAPACKET* packet) {
  const bool end = (packet->flags & CUVID_PKT_ENDOFSTREAM) != 0;
  const bool whole = (packet->flags & CUVID_PKT_ENDOFPICTURE) != 0;
  const std::string words =
      end ? gpu->at_end
          : std::string(reinterpret_cast<const char*>(packet->payload), packet->payload_size);
  const CUresult result =
      gpu->Call("Parse", end ? " end" : absl::StrCat(whole ? " whole " : " ", words));
  return result == kOk ? gpu->ParseWords(words) : result;
}

CuvidDriver MakeCuvid() {
  CuvidDriver cuvid;
  cuvid.cuvidGetDecoderCaps = GetCaps;
  cuvid.cuvidCreateDecoder = [](CUvideodecoder* decoder, CUVIDDECODECREATEINFO* info) {
    gpu->created.push_back(*info);
    const std::string size = absl::StrCat(" ", info->ulWidth, "x", info->ulHeight);
    const CUresult result = gpu->Call("CreateDecoder", size);
    if (result == kOk) *decoder = gpu->Open("decoder");
    return result;
  };
  cuvid.cuvidDestroyDecoder = [](CUvideodecoder decoder) {
    gpu->Close("decoder", decoder);
    return gpu->Call("DestroyDecoder");
  };
  cuvid.cuvidReconfigureDecoder = [](CUvideodecoder, CUVIDRECONFIGUREDECODERINFO* info) {
    gpu->reconfigured.push_back(*info);
    return gpu->Call("Reconfigure", absl::StrCat(" ", info->ulWidth, "x", info->ulHeight));
  };
  cuvid.cuvidDecodePicture = [](CUvideodecoder, CUVIDPICPARAMS* picture) {
    return gpu->Call("Decode", absl::StrCat(" ", picture->CurrPicIdx));
  };
  cuvid.cuvidGetDecodeStatus = [](CUvideodecoder, int picture, CUVIDGETDECODESTATUS* status) {
    const auto found = gpu->decode_status.find(picture);
    const int value = found != gpu->decode_status.end() ? found->second : cuvidDecodeStatus_Success;
    status->decodeStatus = static_cast<cuvidDecodeStatus>(value);
    return gpu->Call("GetDecodeStatus");
  };
  cuvid.cuvidMapVideoFrame64 = [](CUvideodecoder, int picture, unsigned long long* memory,
                                  unsigned int* pitch, CUVIDPROCPARAMS* params) {
    gpu->mapped_with.push_back(*params);
    const CUresult result = gpu->Call("Map", absl::StrCat(" ", picture));
    if (result != kOk) return result;
    *memory = Address(gpu->Open("mapped"));
    *pitch = 512;
    return kOk;
  };
  cuvid.cuvidUnmapVideoFrame64 = [](CUvideodecoder, unsigned long long memory) {
    gpu->Close("mapped", Handle(memory));
    return gpu->Call("Unmap");
  };
  cuvid.cuvidCreateVideoParser = [](CUvideoparser* parser, CUVIDPARSERPARAMS* params) {
    gpu->parser = *params;
    const CUresult result = gpu->Call("CreateParser");
    if (result == kOk) *parser = gpu->Open("parser");
    return result;
  };
  cuvid.cuvidParseVideoData = Parse;
  cuvid.cuvidDestroyVideoParser = [](CUvideoparser parser) {
    gpu->Close("parser", parser);
    return gpu->Call("DestroyParser");
  };
  return cuvid;
}

}  // namespace

FakeGpu::FakeGpu() {
  static const auto* const cuda = new CudaDriver(MakeCuda());
  // A device's NVDEC capabilities are cached forever, so each test needs a device of its own.
  static auto* const devices = new std::vector<GpuDevice*>;
  gpu = this;
  device_ = GpuDevice::Make(cuda, cuvid(), static_cast<int>(devices->size())).value();
  devices->push_back(device_);
  calls.clear();
}

FakeGpu::~FakeGpu() {
  for (const auto& [kind, handles] : open) {
    EXPECT_TRUE(handles.empty()) << handles.size() << " of " << kind << " left open";
  }
  EXPECT_TRUE(contexts.empty());
  gpu = nullptr;
}

const CuvidDriver* FakeGpu::cuvid() {
  static const auto* const table = new CuvidDriver(MakeCuvid());
  return table;
}

void FakeGpu::Fail(const std::string& function, int code, int times, int good) {
  failures_[function] = {code, times, good};
}

std::vector<std::string> FakeGpu::CallsOf(const std::string& function) const {
  std::vector<std::string> found;
  for (const std::string& call : calls) {
    if (call == function || absl::StartsWith(call, function + " ")) found.push_back(call);
  }
  return found;
}

CUresult FakeGpu::Call(const std::string& function, const std::string& details) {
  EXPECT_FALSE(contexts.empty()) << function << " without a current context";
  if (!contexts.empty()) used.insert(contexts.back());
  calls.push_back(function + details);
  const auto failure = failures_.find(function);
  if (failure == failures_.end()) return kOk;
  if (failure->second.good-- > 0) return kOk;
  const int code = failure->second.code;
  if (--failure->second.times <= 0) failures_.erase(failure);
  return static_cast<CUresult>(code);
}

void* FakeGpu::Open(const std::string& kind) {
  void* const handle = reinterpret_cast<void*>(next_handle_ += 0x100000);
  open[kind].insert(handle);
  return handle;
}

void FakeGpu::Close(const std::string& kind, void* handle) {
  EXPECT_EQ(open[kind].erase(handle), 1u) << "a " << kind << " that is not open";
}

CUresult FakeGpu::ParseWords(const std::string& words) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    int index = 0, width = 0, height = 0, depth = 8, hidden = 0;
    int went_on = 1;
    if (word[0] == 'S') {
      std::sscanf(word.c_str(), "S%dx%d", &width, &height);
      if (const char* slash = std::strchr(word.c_str(), '/')) depth = std::atoi(slash + 1);
      if (const char* plus = std::strchr(word.c_str(), '+')) hidden = std::atoi(plus + 1);
      CUVIDEOFORMAT format = {};
      format.codec = parser.CodecType;
      format.chroma_format = cudaVideoChromaFormat_420;
      format.bit_depth_luma_minus8 = format.bit_depth_chroma_minus8 =
          static_cast<unsigned char>(depth - 8);
      format.coded_width = static_cast<unsigned int>(width);
      format.coded_height = static_cast<unsigned int>(height);
      format.display_area.right = width;
      format.display_area.bottom = height - hidden;
      format.min_num_decode_surfaces = static_cast<unsigned char>(min_surfaces);
      format.progressive_sequence = 1;
      format.video_signal_description.matrix_coefficients =
          static_cast<unsigned char>(matrix_coefficients);
      went_on = parser.pfnSequenceCallback(parser.pUserData, &format);
      calls.push_back(absl::StrCat("sequence ", went_on));
    } else if (absl::StrContains("IPO", word.substr(0, 1))) {
      std::sscanf(word.c_str(), "%*c%d", &index);
      CUVIDPICPARAMS picture = {};
      picture.CurrPicIdx = index;
      picture.intra_pic_flag = word[0] == 'I' || word[0] == 'O';
      if (parser.CodecType == cudaVideoCodec_H264) {
        picture.CodecSpecific.h264.frame_mbs_only_flag = 1;
      } else if (parser.CodecType == cudaVideoCodec_HEVC) {
        SetReferences(word, &picture.CodecSpecific.hevc);
        picture.CodecSpecific.hevc.CurrPicOrderCntVal = index;
      } else if (parser.CodecType == cudaVideoCodec_VP9) {
        picture.CodecSpecific.vp9.frameType = word[0] != 'I';
        picture.CodecSpecific.vp9.intraOnly = word[0] == 'O';
      }
      went_on = parser.pfnDecodePicture(parser.pUserData, &picture);
    } else {
      std::sscanf(word.c_str(), "%*c%d", &index);
      CUVIDPARSERDISPINFO info = {};
      info.picture_index = index;
      info.top_field_first = 1;
      went_on = parser.pfnDisplayPicture(parser.pUserData, &info);
    }
    // The real parser does not report a failed callback either.
    if (went_on == 0) return kOk;
  }
  return kOk;
}

}  // namespace nvc
