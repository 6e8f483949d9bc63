// A fake libnvidia-encode for libavcodec's wrapper of NVENC, for one session at a time. Each packet
// is a start code, the header of an IDR slice and the picture's samples without padding. It reads a
// surface as nvEncodeAPI.h describes the surface's format. As in a real encoder, B-frames come
// after the frame that follows them. Pictures are read only when their packets come out, so a
// surface that is reused too early gives wrong packets.
#include "tests/nv/testing/fake_nvenc.h"

#include <ffnvcodec/nvEncodeAPI.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#define NVC_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

FakeNvenc state = {0, 0, 0, 0, 0, -1, 0};
int registered = 0;

struct Surface {
  const uint8_t* data;
  uint32_t width, height, pitch;
  NV_ENC_BUFFER_FORMAT format;
};

struct Bitstream {
  std::string bytes;
  uint64_t time = 0;
  NV_ENC_PIC_TYPE type = NV_ENC_PIC_TYPE_IDR;
};

struct Waiting {
  const Surface* surface;
  uint64_t time;
  Bitstream* out;
};
std::vector<Waiting> waiting;  // in display order
int interval = 1;              // the distance between frames that are not B-frames
bool is_first = true;

// The SPS and PPS of H.264, High profile, 96x64, with B-frames.
constexpr uint8_t kSets[] = {0x00, 0x00, 0x00, 0x01, 0x67, 0x64, 0x00, 0x0a, 0xac, 0xd9,
                             0x46, 0x26, 0xc0, 0x44, 0x00, 0x00, 0x03, 0x00, 0x04, 0x00,
                             0x00, 0x03, 0x00, 0xc8, 0x3c, 0x48, 0x96, 0x58, 0x00, 0x00,
                             0x00, 0x01, 0x68, 0xeb, 0xe3, 0xcb, 0x22, 0xc0};

void Append(const uint8_t* from, size_t pitch, size_t row_bytes, size_t rows, std::string* out) {
  for (size_t y = 0; y < rows; ++y) {
    out->append(reinterpret_cast<const char*>(from + y * pitch), row_bytes);
  }
}

std::string Read(const Surface& surface) {
  std::string out("\0\0\0\1\x65", 5);
  const size_t width = surface.width, height = surface.height, pitch = surface.pitch;
  const uint8_t* const chroma = surface.data + pitch * height;
  switch (surface.format) {
    case NV_ENC_BUFFER_FORMAT_NV12:
      Append(surface.data, pitch, width, height * 3 / 2, &out);
      break;
    case NV_ENC_BUFFER_FORMAT_YUV420_10BIT:
      Append(surface.data, pitch, width * 2, height * 3 / 2, &out);
      break;
    case NV_ENC_BUFFER_FORMAT_YV12:  // V comes before U
      Append(surface.data, pitch, width, height, &out);
      Append(chroma + pitch / 2 * (height / 2), pitch / 2, width / 2, height / 2, &out);
      Append(chroma, pitch / 2, width / 2, height / 2, &out);
      break;
    case NV_ENC_BUFFER_FORMAT_YUV444:
      Append(surface.data, pitch, width, height * 3, &out);
      break;
    default:
      break;
  }
  return out;
}

// Writes the packets of the waiting pictures, the last picture first and the B-frames after it.
// Fills the buffers in the order in which they were given.
void Encode() {
  for (size_t i = 0; i < waiting.size(); ++i) {
    const Waiting& picture = waiting[i == 0 ? waiting.size() - 1 : i - 1];
    Bitstream* const out = waiting[i].out;
    out->bytes = Read(*picture.surface);
    out->time = picture.time;
    out->type = i > 0                       ? NV_ENC_PIC_TYPE_B
                : is_first || interval == 1 ? NV_ENC_PIC_TYPE_IDR
                                            : NV_ENC_PIC_TYPE_P;
    is_first = false;
  }
  waiting.clear();
}

NVENCSTATUS Open(NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS* params, void** session) {
  if (params->deviceType != NV_ENC_DEVICE_TYPE_CUDA) return NV_ENC_ERR_UNSUPPORTED_DEVICE;
  *session = &state;
  ++state.opened;
  ++state.living;
  return NV_ENC_SUCCESS;
}
NVENCSTATUS Close(void*) {
  waiting.clear();
  --state.living;
  return NV_ENC_SUCCESS;
}

NVENCSTATUS CountCodecs(void*, uint32_t* count) {
  *count = 2;
  return NV_ENC_SUCCESS;
}
NVENCSTATUS ListCodecs(void*, GUID* guids, uint32_t, uint32_t* count) {
  guids[0] = NV_ENC_CODEC_H264_GUID;
  guids[1] = NV_ENC_CODEC_HEVC_GUID;
  *count = 2;
  return NV_ENC_SUCCESS;
}
// Answers that every capability is there: sizes, B-frames, 4:4:4, ten bits.
NVENCSTATUS AskCapability(void*, GUID, NV_ENC_CAPS_PARAM*, int* value) {
  *value = 4096;
  return NV_ENC_SUCCESS;
}
NVENCSTATUS DescribePreset(void*, GUID, GUID, NV_ENC_TUNING_INFO, NV_ENC_PRESET_CONFIG* preset) {
  preset->presetCfg.frameIntervalP = 1;
  preset->presetCfg.gopLength = 250;
  return NV_ENC_SUCCESS;
}
NVENCSTATUS Initialize(void*, NV_ENC_INITIALIZE_PARAMS* params) {
  interval = std::max(params->encodeConfig->frameIntervalP, 1);
  is_first = true;
  return NV_ENC_SUCCESS;
}
NVENCSTATUS TellHeaders(void*, NV_ENC_SEQUENCE_PARAM_PAYLOAD* payload) {
  if (payload->inBufferSize < sizeof(kSets)) return NV_ENC_ERR_INVALID_PARAM;
  std::memcpy(payload->spsppsBuffer, kSets, sizeof(kSets));
  *payload->outSPSPPSPayloadSize = sizeof(kSets);
  return NV_ENC_SUCCESS;
}
NVENCSTATUS SetStreams(void*, NV_ENC_CUSTREAM_PTR, NV_ENC_CUSTREAM_PTR) { return NV_ENC_SUCCESS; }

NVENCSTATUS Register(void*, NV_ENC_REGISTER_RESOURCE* resource) {
  resource->registeredResource =
      new Surface{static_cast<const uint8_t*>(resource->resourceToRegister), resource->width,
                  resource->height, resource->pitch, resource->bufferFormat};
  ++state.living;
  state.surfaces = std::max(state.surfaces, ++registered);
  return NV_ENC_SUCCESS;
}
NVENCSTATUS Unregister(void*, NV_ENC_REGISTERED_PTR resource) {
  delete static_cast<Surface*>(resource);
  --registered;
  --state.living;
  return NV_ENC_SUCCESS;
}
NVENCSTATUS Map(void*, NV_ENC_MAP_INPUT_RESOURCE* resource) {
  resource->mappedResource = resource->registeredResource;
  resource->mappedBufferFmt = static_cast<Surface*>(resource->registeredResource)->format;
  return NV_ENC_SUCCESS;
}
NVENCSTATUS Unmap(void*, NV_ENC_INPUT_PTR) { return NV_ENC_SUCCESS; }

NVENCSTATUS NewBitstream(void*, NV_ENC_CREATE_BITSTREAM_BUFFER* buffer) {
  buffer->bitstreamBuffer = new Bitstream;
  ++state.living;
  return NV_ENC_SUCCESS;
}
NVENCSTATUS FreeBitstream(void*, NV_ENC_OUTPUT_PTR buffer) {
  delete static_cast<Bitstream*>(buffer);
  --state.living;
  return NV_ENC_SUCCESS;
}

NVENCSTATUS EncodePicture(void*, NV_ENC_PIC_PARAMS* picture) {
  if ((picture->encodePicFlags & NV_ENC_PIC_FLAG_EOS) != 0) {
    Encode();
    return NV_ENC_SUCCESS;
  }
  if (state.pictures++ == state.fail_at) return static_cast<NVENCSTATUS>(state.fail_with);
  if ((picture->encodePicFlags & NV_ENC_PIC_FLAG_FORCEIDR) != 0) ++state.forced_keys;
  waiting.push_back({static_cast<const Surface*>(picture->inputBuffer), picture->inputTimeStamp,
                     static_cast<Bitstream*>(picture->outputBitstream)});
  if (!is_first && waiting.size() < static_cast<size_t>(interval))
    return NV_ENC_ERR_NEED_MORE_INPUT;
  Encode();
  return NV_ENC_SUCCESS;
}

NVENCSTATUS Lock(void*, NV_ENC_LOCK_BITSTREAM* lock) {
  auto* const bitstream = static_cast<Bitstream*>(lock->outputBitstream);
  lock->bitstreamBufferPtr = &bitstream->bytes[0];
  lock->bitstreamSizeInBytes = static_cast<uint32_t>(bitstream->bytes.size());
  lock->outputTimeStamp = bitstream->time;
  lock->pictureType = bitstream->type;
  return NV_ENC_SUCCESS;
}
NVENCSTATUS Unlock(void*, NV_ENC_OUTPUT_PTR) { return NV_ENC_SUCCESS; }

const char* LastError(void*) { return "asked for"; }

}  // namespace

NVC_EXPORT FakeNvenc* nvc_fake_nvenc() { return &state; }

NVC_EXPORT NVENCSTATUS NvEncodeAPIGetMaxSupportedVersion(uint32_t* version) {
  *version = NVENCAPI_MAJOR_VERSION << 4 | NVENCAPI_MINOR_VERSION;
  return NV_ENC_SUCCESS;
}

NVC_EXPORT NVENCSTATUS NvEncodeAPICreateInstance(NV_ENCODE_API_FUNCTION_LIST* list) {
  list->nvEncOpenEncodeSessionEx = Open;
  list->nvEncDestroyEncoder = Close;
  list->nvEncGetEncodeGUIDCount = CountCodecs;
  list->nvEncGetEncodeGUIDs = ListCodecs;
  list->nvEncGetEncodeCaps = AskCapability;
  list->nvEncGetEncodePresetConfigEx = DescribePreset;
  list->nvEncInitializeEncoder = Initialize;
  list->nvEncGetSequenceParams = TellHeaders;
  list->nvEncSetIOCudaStreams = SetStreams;
  list->nvEncRegisterResource = Register;
  list->nvEncUnregisterResource = Unregister;
  list->nvEncMapInputResource = Map;
  list->nvEncUnmapInputResource = Unmap;
  list->nvEncCreateBitstreamBuffer = NewBitstream;
  list->nvEncDestroyBitstreamBuffer = FreeBitstream;
  list->nvEncEncodePicture = EncodePicture;
  list->nvEncLockBitstream = Lock;
  list->nvEncUnlockBitstream = Unlock;
  list->nvEncGetLastErrorString = LastError;
  return NV_ENC_SUCCESS;
}
