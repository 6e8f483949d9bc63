#include "tf_nvcodec/nv/cuda/nvenc_gpu.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

extern "C" {
// This header takes CUDA's types from the driver's headers above.
#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_cuda.h>
}

namespace nvc {
namespace {

// NVENC's API has this since version 12; these headers have version 11.1.
constexpr GUID kAv1Guid = {
    0x0a352289, 0x0aa7, 0x4759, {0x86, 0x2d, 0x5d, 0x15, 0xcd, 0x16, 0xd2, 0x54}};

bool Same(const GUID& a, const GUID& b) { return std::memcmp(&a, &b, sizeof(GUID)) == 0; }

const char* NameOf(const GUID& codec) {
  if (Same(codec, NV_ENC_CODEC_H264_GUID)) return "h264";
  if (Same(codec, NV_ENC_CODEC_HEVC_GUID)) return "hevc";
  if (Same(codec, kAv1Guid)) return "av1";
  return nullptr;
}

constexpr std::pair<NV_ENC_CAPS, const char*> kCapabilities[] = {
    {NV_ENC_CAPS_NUM_MAX_BFRAMES, "num_max_bframes"},
    {NV_ENC_CAPS_SUPPORTED_RATECONTROL_MODES, "supported_ratecontrol_modes"},
    {NV_ENC_CAPS_SUPPORT_FIELD_ENCODING, "support_field_encoding"},
    {NV_ENC_CAPS_SUPPORT_MONOCHROME, "support_monochrome"},
    {NV_ENC_CAPS_SUPPORT_FMO, "support_fmo"},
    {NV_ENC_CAPS_SUPPORT_QPELMV, "support_qpelmv"},
    {NV_ENC_CAPS_SUPPORT_BDIRECT_MODE, "support_bdirect_mode"},
    {NV_ENC_CAPS_SUPPORT_CABAC, "support_cabac"},
    {NV_ENC_CAPS_SUPPORT_ADAPTIVE_TRANSFORM, "support_adaptive_transform"},
    {NV_ENC_CAPS_SUPPORT_STEREO_MVC, "support_stereo_mvc"},
    {NV_ENC_CAPS_NUM_MAX_TEMPORAL_LAYERS, "num_max_temporal_layers"},
    {NV_ENC_CAPS_SUPPORT_HIERARCHICAL_PFRAMES, "support_hierarchical_pframes"},
    {NV_ENC_CAPS_SUPPORT_HIERARCHICAL_BFRAMES, "support_hierarchical_bframes"},
    {NV_ENC_CAPS_LEVEL_MAX, "level_max"},
    {NV_ENC_CAPS_LEVEL_MIN, "level_min"},
    {NV_ENC_CAPS_SEPARATE_COLOUR_PLANE, "separate_colour_plane"},
    {NV_ENC_CAPS_WIDTH_MAX, "width_max"},
    {NV_ENC_CAPS_HEIGHT_MAX, "height_max"},
    {NV_ENC_CAPS_SUPPORT_TEMPORAL_SVC, "support_temporal_svc"},
    {NV_ENC_CAPS_SUPPORT_DYN_RES_CHANGE, "support_dyn_res_change"},
    {NV_ENC_CAPS_SUPPORT_DYN_BITRATE_CHANGE, "support_dyn_bitrate_change"},
    {NV_ENC_CAPS_SUPPORT_DYN_FORCE_CONSTQP, "support_dyn_force_constqp"},
    {NV_ENC_CAPS_SUPPORT_DYN_RCMODE_CHANGE, "support_dyn_rcmode_change"},
    {NV_ENC_CAPS_SUPPORT_SUBFRAME_READBACK, "support_subframe_readback"},
    {NV_ENC_CAPS_SUPPORT_CONSTRAINED_ENCODING, "support_constrained_encoding"},
    {NV_ENC_CAPS_SUPPORT_INTRA_REFRESH, "support_intra_refresh"},
    {NV_ENC_CAPS_SUPPORT_CUSTOM_VBV_BUF_SIZE, "support_custom_vbv_buf_size"},
    {NV_ENC_CAPS_SUPPORT_DYNAMIC_SLICE_MODE, "support_dynamic_slice_mode"},
    {NV_ENC_CAPS_SUPPORT_REF_PIC_INVALIDATION, "support_ref_pic_invalidation"},
    {NV_ENC_CAPS_PREPROC_SUPPORT, "preproc_support"},
    {NV_ENC_CAPS_ASYNC_ENCODE_SUPPORT, "async_encode_support"},
    {NV_ENC_CAPS_MB_NUM_MAX, "mb_num_max"},
    {NV_ENC_CAPS_MB_PER_SEC_MAX, "mb_per_sec_max"},
    {NV_ENC_CAPS_SUPPORT_YUV444_ENCODE, "support_yuv444_encode"},
    {NV_ENC_CAPS_SUPPORT_LOSSLESS_ENCODE, "support_lossless_encode"},
    {NV_ENC_CAPS_SUPPORT_SAO, "support_sao"},
    {NV_ENC_CAPS_SUPPORT_MEONLY_MODE, "support_meonly_mode"},
    {NV_ENC_CAPS_SUPPORT_LOOKAHEAD, "support_lookahead"},
    {NV_ENC_CAPS_SUPPORT_TEMPORAL_AQ, "support_temporal_aq"},
    {NV_ENC_CAPS_SUPPORT_10BIT_ENCODE, "support_10bit_encode"},
    {NV_ENC_CAPS_NUM_MAX_LTR_FRAMES, "num_max_ltr_frames"},
    {NV_ENC_CAPS_SUPPORT_WEIGHTED_PREDICTION, "support_weighted_prediction"},
    {NV_ENC_CAPS_DYNAMIC_QUERY_ENCODER_CAPACITY, "dynamic_query_encoder_capacity"},
    {NV_ENC_CAPS_SUPPORT_BFRAME_REF_MODE, "support_bframe_ref_mode"},
    {NV_ENC_CAPS_SUPPORT_EMPHASIS_LEVEL_MAP, "support_emphasis_level_map"},
    {NV_ENC_CAPS_WIDTH_MIN, "width_min"},
    {NV_ENC_CAPS_HEIGHT_MIN, "height_min"},
    {NV_ENC_CAPS_SUPPORT_MULTIPLE_REF_FRAMES, "support_multiple_ref_frames"},
    {NV_ENC_CAPS_SUPPORT_ALPHA_LAYER_ENCODING, "support_alpha_layer_encoding"},
    {NV_ENC_CAPS_NUM_ENCODER_ENGINES, "num_encoder_engines"},
    {NV_ENC_CAPS_SINGLE_SLICE_INTRA_REFRESH, "single_slice_intra_refresh"},
};

// Opens a session and returns what `ask` returns for it, or the error of opening.
template <typename Ask>
NVENCSTATUS InSession(const NvencDriver& nvenc, CUcontext context, Ask&& ask) {
  NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS params = {};
  params.version = NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS_VER;
  params.deviceType = NV_ENC_DEVICE_TYPE_CUDA;
  params.device = context;
  params.apiVersion = NVENCAPI_VERSION;
  void* session = nullptr;
  NVENCSTATUS status = nvenc.api.nvEncOpenEncodeSessionEx(&params, &session);
  if (status == NV_ENC_SUCCESS) status = ask(session);
  // NVENC's manual requires this after a failed open too.
  if (session != nullptr) nvenc.api.nvEncDestroyEncoder(session);
  return status;
}

NVENCSTATUS GetCodecs(const NvencDriver& nvenc, void* session, std::vector<GUID>* guids) {
  uint32_t count = 0;
  NVENCSTATUS status = nvenc.api.nvEncGetEncodeGUIDCount(session, &count);
  if (status != NV_ENC_SUCCESS || count == 0) return status;
  guids->resize(count);
  status = nvenc.api.nvEncGetEncodeGUIDs(session, guids->data(), count, &count);
  guids->resize(std::min<size_t>(guids->size(), count));
  return status;
}

absl::Status NoNvenc(NVENCSTATUS status, absl::string_view gpu_name) {
  if (status == NV_ENC_ERR_OUT_OF_MEMORY) {
    return absl::ResourceExhaustedError(
        absl::StrCat(gpu_name, " has no NVENC session or memory left: wait for other encoders"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("no NVENC on ", gpu_name, " (NVENCSTATUS ", int{status}, ")"));
}

absl::StatusOr<NvencGpu> TryGpu(int ordinal) {
  NVC_RETURN_IF_ERROR(GetCudaDriver().status());
  NVC_ASSIGN_OR_RETURN(const NvencDriver* const nvenc, GetNvencDriver());
  NVC_ASSIGN_OR_RETURN(GpuDevice* const gpu, GpuDevice::Get(ordinal));
  const ScopedContext current(*gpu);
  NVC_RETURN_IF_ERROR(current.status());
  NvencGpu found;
  found.gpu = gpu;
  found.name = gpu->name();
  NVC_ASSIGN_OR_RETURN(found.codecs, NvencCodecs(*nvenc, gpu->context(), gpu->name()));
  NVC_ASSIGN_OR_RETURN(found.device, NewCudaDevice(*gpu));
  return found;
}

}  // namespace

absl::StatusOr<AVBufferRef*> NewCudaDevice(const GpuDevice& gpu) {
  AVBufferRef* device = av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA);
  if (device == nullptr) {
    return absl::FailedPreconditionError("this machine's libavutil is built without CUDA");
  }
  auto* const context = reinterpret_cast<AVHWDeviceContext*>(device->data);
  static_cast<AVCUDADeviceContext*>(context->hwctx)->cuda_ctx = gpu.context();
  const int result = av_hwdevice_ctx_init(device);
  if (result >= 0) return device;
  av_buffer_unref(&device);
  return absl::FailedPreconditionError(absl::StrCat("libavutil takes no CUDA context on ",
                                                    gpu.name(), ": ", FfmpegErrorText(result)));
}

absl::StatusOr<std::vector<std::string>> NvencCodecs(const NvencDriver& nvenc, CUcontext context,
                                                     absl::string_view gpu_name) {
  std::vector<GUID> guids;
  const NVENCSTATUS status =
      InSession(nvenc, context, [&](void* session) { return GetCodecs(nvenc, session, &guids); });
  std::vector<std::string> names;
  for (const GUID& guid : guids) {
    if (NameOf(guid) != nullptr) names.emplace_back(NameOf(guid));
  }
  if (status == NV_ENC_SUCCESS && !names.empty()) return names;
  return NoNvenc(status, gpu_name);
}

absl::StatusOr<std::vector<NvencCapability>> NvencCapabilities(const NvencDriver& nvenc,
                                                               CUcontext context,
                                                               absl::string_view gpu_name,
                                                               absl::string_view codec) {
  bool has_codec = false;
  std::vector<NvencCapability> capabilities;
  const NVENCSTATUS status = InSession(nvenc, context, [&](void* session) {
    std::vector<GUID> guids;
    const NVENCSTATUS listed = GetCodecs(nvenc, session, &guids);
    for (const GUID& guid : guids) {
      if (NameOf(guid) == nullptr || codec != NameOf(guid)) continue;
      has_codec = true;
      for (const auto& [which, name] : kCapabilities) {
        NV_ENC_CAPS_PARAM asked = {};
        asked.version = NV_ENC_CAPS_PARAM_VER;
        asked.capsToQuery = which;
        int value = 0;
        if (nvenc.api.nvEncGetEncodeCaps(session, guid, &asked, &value) == NV_ENC_SUCCESS) {
          capabilities.push_back({name, value});
        }
      }
    }
    return listed;
  });
  if (status != NV_ENC_SUCCESS) return NoNvenc(status, gpu_name);
  if (has_codec) return capabilities;
  return absl::UnimplementedError(
      absl::StrCat("the NVENC of ", gpu_name, " has no encoder of ", codec));
}

absl::StatusOr<const NvencGpu*> GetNvencGpu(int ordinal) {
  NVC_RETURN_IF_ERROR(GetCudaDriver().status());  // fails in a forked process
  static std::mutex mutex;
  static auto* const known = new std::map<int, const NvencGpu*>;
  std::lock_guard<std::mutex> lock(mutex);
  const NvencGpu*& gpu = (*known)[ordinal];
  if (gpu == nullptr) {
    NVC_ASSIGN_OR_RETURN(NvencGpu found, TryGpu(ordinal));
    gpu = new NvencGpu(std::move(found));
  }
  return gpu;
}

absl::StatusOr<const NvencGpu*> FindNvencGpu() {
  NVC_RETURN_IF_ERROR(GetCudaDriver().status());
  NVC_RETURN_IF_ERROR(GetNvencDriver().status());
  NVC_ASSIGN_OR_RETURN(const int count, GpuDevice::Count());
  absl::StatusOr<const NvencGpu*> found = NoGpu();
  for (int ordinal = 0; ordinal < count && !found.ok(); ++ordinal) found = GetNvencGpu(ordinal);
  return found;
}

}  // namespace nvc
