#include "tf_nvcodec/nv/nvdec_packets.h"

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/av_log.h"
#include "tf_nvcodec/core/status.h"

namespace nvc {
namespace {

const char* FilterFor(AVCodecID codec) {
  switch (codec) {
    case AV_CODEC_ID_H264:
      return "h264_mp4toannexb";
    case AV_CODEC_ID_HEVC:
      return "hevc_mp4toannexb";
    case AV_CODEC_ID_MPEG4:
      return "mpeg4_unpack_bframes";
    default:
      return nullptr;
  }
}

// An av1C record is the four bytes before the sequence header that the parser wants.
constexpr int kAv1RecordBytes = 4;

}  // namespace

absl::StatusOr<NvdecPackets> NvdecPackets::Create(const AVCodecParameters& codec,
                                                  AVRational time_base) {
  AvLogScope log;
  NvdecPackets packets;
  packets.converted_.reset(av_packet_alloc());
  if (packets.converted_ == nullptr) return absl::ResourceExhaustedError("out of memory");
  const uint8_t* headers = codec.extradata;
  int size = headers != nullptr ? codec.extradata_size : 0;
  if (const char* name = FilterFor(codec.codec_id)) {
    const AVBitStreamFilter* filter = av_bsf_get_by_name(name);
    if (filter == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("this FFmpeg has no bitstream filter '", name, "', which NVDEC needs"));
    }
    AVBSFContext* context = nullptr;
    int error = av_bsf_alloc(filter, &context);
    packets.filter_.reset(context);
    if (error >= 0) error = avcodec_parameters_copy(context->par_in, &codec);
    if (error >= 0) {
      context->time_base_in = time_base;
      error = av_bsf_init(context);
    }
    if (error == AVERROR(ENOMEM)) return FfmpegError(error, name);
    if (error < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " refuses the stream: ", FfmpegErrorText(error), log.Detail()));
    }
    headers = context->par_out->extradata;
    size = headers != nullptr ? context->par_out->extradata_size : 0;
  } else if (codec.codec_id == AV_CODEC_ID_AV1 && size > 0 && (headers[0] & 0x80) != 0) {
    const int skipped = size < kAv1RecordBytes ? size : kAv1RecordBytes;
    headers += skipped;
    size -= skipped;
  } else if (codec.codec_id == AV_CODEC_ID_VP8 || codec.codec_id == AV_CODEC_ID_VP9 ||
             codec.codec_id == AV_CODEC_ID_MJPEG) {
    size = 0;  // what containers keep there is not of the stream
  }
  if (size > 0) packets.headers_.assign(headers, headers + size);
  return packets;
}

absl::StatusOr<const AVPacket*> NvdecPackets::Convert(const AVPacket& packet) {
  if (filter_ == nullptr) return &packet;
  AvLogScope log;
  // The filter takes what it is given.
  AvPacketPtr given(av_packet_alloc());
  if (given == nullptr) return absl::ResourceExhaustedError("out of memory");
  int error = av_packet_ref(given.get(), &packet);
  if (error >= 0) error = av_bsf_send_packet(filter_.get(), given.get());
  av_packet_unref(converted_.get());
  if (error >= 0) error = av_bsf_receive_packet(filter_.get(), converted_.get());
  if (error == AVERROR(EAGAIN)) return nullptr;
  if (error < 0) return FfmpegError(error, absl::StrCat(filter_->filter->name, log.Detail()));
  return converted_.get();
}

void NvdecPackets::Reset() {
  if (filter_ != nullptr) av_bsf_flush(filter_.get());
}

}  // namespace nvc
