#include "tf_nvcodec/capi/decoder.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/capi/error.h"
#include "tf_nvcodec/capi/gpu_frames.h"
#include "tf_nvcodec/capi/packet_decoder.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/format/codec_table.h"
#include "tf_nvcodec/core/format/frame_format.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/nvdec_codecs.h"
#include "tf_nvcodec/nv/decode/nvdec_caps.h"

struct nvc_decoder {
  explicit nvc_decoder(const nvc::PacketDecoderOptions& options) : decoder(options) {}
  nvc::PacketDecoder decoder;
};

namespace nvc {
namespace {

absl::StatusOr<AVCodecID> CodecOf(int kind) {
  const AVCodecID codec = FactsOfNvdec(kind).id;
  if (codec != AV_CODEC_ID_NONE) return codec;
  return absl::UnimplementedError(absl::StrCat("codec ", kind,
                                               " can't be decoded; codecs that can: H264, HEVC, "
                                               "AV1, VP8, VP9, MPEG1, MPEG2, MPEG4, VC1, JPEG"));
}

absl::Status Create(const nvc_decoder_options& given, nvc_decoder** out) {
  PacketDecoderOptions options;
  if (given.codec >= 0) {
    NVC_ASSIGN_OR_RETURN(options.codec, CodecOf(given.codec));
  }
  options.color = static_cast<SurfaceColor>(given.color);
  options.limit.max_width = given.max_width;
  options.limit.max_height = given.max_height;
  options.low_latency = given.low_latency != 0;
  options.must_be_gpu = given.backend == kBackendNvdec;
  NVC_ASSIGN_OR_RETURN(options.gpu, ChooseGpu(given));
  *out = new nvc_decoder(options);
  return absl::OkStatus();
}

absl::Status Decode(PacketDecoder* decoder, const nvc_packet_input* input) {
  if (input == nullptr) return decoder->Finish();
  AvPacketPtr packet(av_packet_alloc());
  const absl::Status no_memory = absl::ResourceExhaustedError("out of memory for a packet");
  if (packet == nullptr) return no_memory;
  const nvc_packet* of = input->packet;
  const bool as_demuxed =
      of != nullptr && of->packet->data == input->data && of->packet->size == input->size;
  if (of != nullptr && of->stream == nullptr) {
    return absl::InvalidArgumentError(
        "the packet holds audio (its is_video is 0): a decoder takes only video packets");
  }
  if (as_demuxed) {
    if (av_packet_ref(packet.get(), of->packet.get()) < 0) return no_memory;
  } else {
    if (input->size > INT_MAX - AV_INPUT_BUFFER_PADDING_SIZE) {
      return absl::InvalidArgumentError(
          absl::StrCat("the packet is too large: ", input->size, " bytes"));
    }
    if (av_new_packet(packet.get(), static_cast<int>(input->size)) < 0) return no_memory;
    std::memcpy(packet->data, input->data, static_cast<size_t>(input->size));
  }
  packet->pts = input->pts;
  packet->dts = input->dts;
  packet->pos = input->pos;
  packet->flags &= ~(AV_PKT_FLAG_KEY | AV_PKT_FLAG_DISCARD);
  if (input->is_key != 0) packet->flags |= AV_PKT_FLAG_KEY;
  if (input->is_discarded != 0) packet->flags |= AV_PKT_FLAG_DISCARD;
  return decoder->Decode(*packet, of != nullptr ? of->stream : nullptr);
}

absl::Status GetCaps(int gpu, int codec, int chroma_format, int bit_depth, nvc_decoder_caps* caps) {
  *caps = nvc_decoder_caps{};
  NVC_ASSIGN_OR_RETURN(const AVCodecID id, CodecOf(codec));
  nvc_decoder_options any = {};
  any.gpu = gpu;
  NVC_ASSIGN_OR_RETURN(const GpuChoice choice, ChooseGpu(any));
  if (choice.device == nullptr || !NvdecCodec(id).ok()) {
    if (avcodec_find_decoder(id) == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("this FFmpeg has no decoder for codec '", avcodec_get_name(id), "'"));
    }
    // No engine limits the CPU; only the size of a frame is limited.
    caps->min_width = caps->min_height = 1;
    caps->max_width = caps->max_height = kMaxSide;
    caps->max_macroblocks = int64_t{kMaxSide / 16} * (kMaxSide / 16);
    return absl::OkStatus();
  }
  NVC_ASSIGN_OR_RETURN(
      const CUVIDDECODECAPS answer,
      NvdecCaps(choice.device, static_cast<cudaVideoCodec>(codec),
                static_cast<cudaVideoChromaFormat>(chroma_format), std::max(bit_depth, 8)));
  if (answer.bIsSupported == 0) {
    return absl::UnimplementedError(absl::StrCat(
        choice.device->name(), "'s NVDEC does not decode codec '", avcodec_get_name(id), "' of ",
        bit_depth, " bits with chroma format ", chroma_format));
  }
  caps->num_engines = answer.nNumNVDECs;
  caps->min_width = answer.nMinWidth;
  caps->min_height = answer.nMinHeight;
  caps->max_width = static_cast<int>(answer.nMaxWidth);
  caps->max_height = static_cast<int>(answer.nMaxHeight);
  caps->max_macroblocks = answer.nMaxMBCount;
  return absl::OkStatus();
}

}  // namespace
}  // namespace nvc

int nvc_decoder_create(const nvc_decoder_options* options, nvc_decoder** decoder) {
  return nvc::Guarded([&] { return nvc::Create(*options, decoder); });
}

void nvc_decoder_free(nvc_decoder* decoder) { delete decoder; }

int nvc_decoder_decode(nvc_decoder* decoder, const nvc_packet_input* input, int64_t* num_frames) {
  const int code = nvc::Guarded([&] { return nvc::Decode(&decoder->decoder, input); });
  *num_frames = static_cast<int64_t>(decoder->decoder.num_frames());
  return code;
}

nvc_frame* nvc_decoder_take_frame(nvc_decoder* decoder) {
  return decoder->decoder.TakeFrame().release();
}

int nvc_decoder_get_caps(int gpu, int codec, int chroma_format, int bit_depth,
                         nvc_decoder_caps* caps) {
  return nvc::Guarded([&] { return nvc::GetCaps(gpu, codec, chroma_format, bit_depth, caps); });
}

int nvc_gpu_count() {
  const absl::StatusOr<int> count = nvc::GpuDevice::Count();
  return count.ok() ? *count : 0;
}
