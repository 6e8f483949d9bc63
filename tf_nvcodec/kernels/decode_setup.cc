#include "tf_nvcodec/kernels/decode_setup.h"

#include <string>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/kernels/fallback_log.h"
#include "tf_nvcodec/nv/convert/gpu_targets.h"
#include "tf_nvcodec/nv/cuda/nvrtc.h"

namespace nvc {
namespace {

void OnTheCpu(const std::string& why) { LogFallback("decodes on the CPU, not with NVDEC", why); }

bool MayBeInterlaced(const AVCodecParameters& codec) {
  switch (codec.codec_id) {
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_AV1:
      return false;
    default:
      return codec.field_order != AV_FIELD_PROGRESSIVE;
  }
}

}  // namespace

absl::StatusOr<DecodeSetup> SetUpDecoding(const DecodeAttributes& attributes, const GpuStream* gpu,
                                          const StreamInfo& stream, const Cancelled& cancelled) {
  DecodeSetup setup;
  setup.options.num_threads = attributes.num_threads;
  setup.options.max_pixels = attributes.max_pixels;
  setup.options.cancelled = cancelled;
  std::string why_not;
  NVC_ASSIGN_OR_RETURN(GpuDevice * decoder,
                       ChooseDecoder(attributes.backend, gpu == nullptr ? nullptr : gpu->device,
                                     *stream.codec, &why_not));
  if (decoder != nullptr && attributes.backend == Backend::kAuto &&
      attributes.output.deinterlace != Deinterlace::kNone && MayBeInterlaced(*stream.codec)) {
    decoder = nullptr;
    why_not =
        "deinterlace goes by which frames FFmpeg's decoder marks, NVDEC's may mark others; "
        "backend=\"nvdec\" takes those";
  }
  if (decoder != nullptr && attributes.backend == Backend::kAuto && !Nvrtc::Get().ok()) {
    decoder = nullptr;
    why_not = std::string(Nvrtc::Get().status().message());
  }
  if (!why_not.empty()) OnTheCpu(why_not);
  if (decoder != nullptr) {
    setup.share = std::make_unique<NvdecShare>(*decoder, attributes.num_threads);
    setup.options.other = DecodeOnGpu(decoder, attributes.backend, setup.share.get(), OnTheCpu);
  }
  if (gpu != nullptr) {
    setup.target = std::make_unique<DeviceTarget>(gpu->device, gpu->stream);
  } else if (decoder != nullptr) {
    setup.target = std::make_unique<DownloadTarget>(decoder);
  } else {
    setup.target = std::make_unique<HostTarget>();
  }
  return setup;
}

}  // namespace nvc
