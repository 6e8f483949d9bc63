#include "tf_nvcodec/capi/encoder_caps.h"

#include <algorithm>
#include <vector>

#include "tf_nvcodec/capi/error.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/encode_codec.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/nvenc_gpu.h"

int nvc_encoder_get_caps(const char* codec, nvc_encoder_caps* caps) {
  return nvc::Guarded([&]() -> absl::Status {
    NVC_ASSIGN_OR_RETURN(const nvc::EncodeCodec which, nvc::ParseEncodeCodec(codec));
    // Not a stand-in: the settings are those of x264.
    NVC_RETURN_IF_ERROR(nvc::FindEncoder(nvc::TraitsOf(which).encoding->encoder).status());
    NVC_ASSIGN_OR_RETURN(const std::vector<AVPixelFormat> formats, nvc::StreamFormats(which));
    const auto stores = [&formats](AVPixelFormat format) {
      return std::find(formats.begin(), formats.end(), format) != formats.end() ? 1 : 0;
    };
    const nvc::CodecTraits& traits = nvc::TraitsOf(which);
    caps->least_side = std::max(traits.min_side, traits.even_sides ? 2 : 1);
    caps->most_width = traits.max_width;
    caps->most_height = traits.max_height;
    caps->b_frames = traits.max_b_frames;
    caps->ten_bits = stores(AV_PIX_FMT_YUV420P10);
    caps->full_chroma = stores(AV_PIX_FMT_YUV444P);
    return absl::OkStatus();
  });
}

int nvc_nvenc_get_caps(int gpu, const char* codec, nvc_nvenc_cap* caps, int32_t room,
                       int32_t* count) {
  return nvc::Guarded([&]() -> absl::Status {
    NVC_ASSIGN_OR_RETURN(const nvc::NvencGpu* const found, nvc::GetNvencGpu(gpu));
    NVC_ASSIGN_OR_RETURN(const nvc::NvencDriver* const nvenc, nvc::GetNvencDriver());
    const nvc::ScopedContext current(*found->gpu);
    NVC_RETURN_IF_ERROR(current.status());
    NVC_ASSIGN_OR_RETURN(const std::vector<nvc::NvencCapability> told,
                         nvc::NvencCapabilities(*nvenc, found->gpu->context(), found->name, codec));
    *count = static_cast<int32_t>(told.size());
    for (int32_t i = 0; i < std::min(room, *count); ++i) {
      const nvc::NvencCapability& one = told[static_cast<size_t>(i)];
      caps[i] = {one.name, one.value};
    }
    return absl::OkStatus();
  });
}
