#include "tf_nvcodec/nv/decode/nvdec_parser.h"

#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

NvdecParserEvents* EventsOf(void* opaque) { return static_cast<NvdecParserEvents*>(opaque); }

int CUDAAPI HandleSequence(void* opaque, CUVIDEOFORMAT* format) {
  return EventsOf(opaque)->OnSequence(*format);
}

int CUDAAPI HandlePicture(void* opaque, CUVIDPICPARAMS* picture) {
  return EventsOf(opaque)->OnPicture(picture) ? 1 : 0;
}

int CUDAAPI HandleDisplay(void* opaque, CUVIDPARSERDISPINFO* info) {
  // Null marks the end of the stream, for parsers that request such a call.
  if (info != nullptr) EventsOf(opaque)->OnDisplay(*info);
  return 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<NvdecParser>> NvdecParser::Create(GpuDevice* device,
                                                                 const CuvidDriver* cuvid,
                                                                 cudaVideoCodec codec,
                                                                 NvdecParserEvents* events) {
  const ScopedContext current(*device);
  NVC_RETURN_IF_ERROR(current.status());
  CUVIDPARSERPARAMS params = {};
  params.CodecType = codec;
  params.ulMaxNumDecodeSurfaces = 1;  // until OnSequence returns the number
  // With this threshold the parser does not treat pictures as broken when earlier ones were left
  // out on purpose.
  params.ulErrorThreshold = 100;
  // The caller itself delays the display, as far as the surfaces allow.
  params.ulMaxDisplayDelay = 0;
  params.pUserData = events;
  params.pfnSequenceCallback = HandleSequence;
  params.pfnDecodePicture = HandlePicture;
  params.pfnDisplayPicture = HandleDisplay;
  std::unique_ptr<NvdecParser> parser(new NvdecParser(device, cuvid));
  NVC_RETURN_IF_ERROR(device->Check(cuvid->cuvidCreateVideoParser(&parser->parser_, &params),
                                    "cuvidCreateVideoParser"));
  return parser;
}

NvdecParser::~NvdecParser() {
  if (parser_ == nullptr) return;
  const ScopedContext current(*device_);
  if (current.status().ok()) cuvid_.cuvidDestroyVideoParser(parser_);
}

absl::Status NvdecParser::Parse(const uint8_t* data, size_t size, bool whole) {
  CUVIDSOURCEDATAPACKET packet = {};
  packet.flags = whole ? CUVID_PKT_ENDOFPICTURE : 0;
  packet.payload = data;
  packet.payload_size = static_cast<tcu_ulong>(size);
  return Parse(&packet);
}

absl::Status NvdecParser::Finish() {
  CUVIDSOURCEDATAPACKET packet = {};
  packet.flags = CUVID_PKT_ENDOFSTREAM;
  return Parse(&packet);
}

absl::Status NvdecParser::Parse(CUVIDSOURCEDATAPACKET* packet) {
  const ScopedContext current(*device_);
  NVC_RETURN_IF_ERROR(current.status());
  const CUresult result = cuvid_.cuvidParseVideoData(parser_, packet);
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const absl::Status status = device_->Check(result, "cuvidParseVideoData");
  // The parser itself does not use the GPU, so that all errors but a lack of memory come from the
  // bytes.
  return absl::IsResourceExhausted(status) ? status : absl::DataLossError(status.message());
}

}  // namespace nvc
