#include "tf_nvcodec/core/index/stream_info_io.h"

#include <climits>
#include <cstring>

#include "tf_nvcodec/core/base/status.h"

extern "C" {
#include <libavutil/pixfmt.h>
}

namespace nvc {
namespace {

void WriteRational(AVRational value, ByteWriter* out) {
  out->Signed(value.num);
  out->Signed(value.den);
}

AVRational ReadRational(ByteReader* in, int lowest) {
  AVRational value;
  value.num = static_cast<int>(in->Between(lowest, INT_MAX));
  value.den = static_cast<int>(in->Between(lowest, INT_MAX));
  return value;
}

int ReadInt(ByteReader* in) { return static_cast<int>(in->Between(INT_MIN, INT_MAX)); }

// Of an enumeration that FFmpeg knows up to `end`.
template <typename T>
T ReadEnum(ByteReader* in, int begin, int end) {
  return static_cast<T>(in->Between(begin, end - 1));
}

void WriteCodec(const AVCodecParameters& codec, ByteWriter* out) {
  out->Signed(codec.codec_id);
  out->Unsigned(codec.codec_tag);
  out->Bytes(
      {reinterpret_cast<const char*>(codec.extradata), static_cast<size_t>(codec.extradata_size)});
  out->Signed(codec.bit_rate);
  for (const int field :
       {codec.format, codec.bits_per_coded_sample, codec.bits_per_raw_sample, codec.profile,
        codec.level, codec.width, codec.height, static_cast<int>(codec.field_order),
        static_cast<int>(codec.color_range), static_cast<int>(codec.color_primaries),
        static_cast<int>(codec.color_trc), static_cast<int>(codec.color_space),
        static_cast<int>(codec.chroma_location), codec.video_delay}) {
    out->Signed(field);
  }
  WriteRational(codec.sample_aspect_ratio, out);
}

absl::Status ReadCodec(ByteReader* in, AVCodecParameters* codec) {
  codec->codec_type = AVMEDIA_TYPE_VIDEO;
  codec->codec_id = ReadEnum<AVCodecID>(in, AV_CODEC_ID_NONE + 1, AV_CODEC_ID_FIRST_AUDIO);
  codec->codec_tag = static_cast<uint32_t>(in->Unsigned());
  const absl::string_view extradata = in->Bytes();
  if (!extradata.empty()) {
    codec->extradata =
        static_cast<uint8_t*>(av_mallocz(extradata.size() + AV_INPUT_BUFFER_PADDING_SIZE));
    if (codec->extradata == nullptr) {
      return absl::ResourceExhaustedError("out of memory for a frame index");
    }
    std::memcpy(codec->extradata, extradata.data(), extradata.size());
    codec->extradata_size = static_cast<int>(extradata.size());
  }
  codec->bit_rate = in->Signed();
  codec->format = ReadEnum<int>(in, -1, AV_PIX_FMT_NB);
  for (int* field : {&codec->bits_per_coded_sample, &codec->bits_per_raw_sample, &codec->profile,
                     &codec->level}) {
    *field = ReadInt(in);
  }
  for (int* field : {&codec->width, &codec->height}) {
    *field = static_cast<int>(in->Between(0, INT_MAX));
  }
  codec->field_order = ReadEnum<AVFieldOrder>(in, AV_FIELD_UNKNOWN, AV_FIELD_BT + 1);
  codec->color_range = ReadEnum<AVColorRange>(in, 0, AVCOL_RANGE_NB);
  codec->color_primaries = ReadEnum<AVColorPrimaries>(in, 0, AVCOL_PRI_NB);
  codec->color_trc = ReadEnum<AVColorTransferCharacteristic>(in, 0, AVCOL_TRC_NB);
  codec->color_space = ReadEnum<AVColorSpace>(in, 0, AVCOL_SPC_NB);
  codec->chroma_location = ReadEnum<AVChromaLocation>(in, 0, AVCHROMA_LOC_NB);
  codec->video_delay = ReadInt(in);
  codec->sample_aspect_ratio = ReadRational(in, INT_MIN);
  return absl::OkStatus();
}

}  // namespace

void WriteStream(const StreamInfo& stream, ByteWriter* out) {
  out->Bytes(stream.container);
  WriteCodec(*stream.codec, out);
  WriteRational(stream.time_base, out);
  WriteRational(stream.frame_rate, out);
  WriteRational(stream.sample_aspect_ratio, out);
  out->Signed(stream.rotation / 90);
  out->Signed(stream.has_audio ? 1 : 0);
}

absl::Status ReadStream(ByteReader* in, StreamInfo* stream) {
  stream->container = std::string(in->Bytes());
  stream->codec.reset(avcodec_parameters_alloc());
  if (stream->codec == nullptr) {
    return absl::ResourceExhaustedError("out of memory for a frame index");
  }
  NVC_RETURN_IF_ERROR(ReadCodec(in, stream->codec.get()));
  stream->time_base = ReadRational(in, 1);
  stream->frame_rate = ReadRational(in, INT_MIN);
  stream->sample_aspect_ratio = ReadRational(in, INT_MIN);
  stream->rotation = static_cast<int>(in->Between(0, 3)) * 90;
  stream->has_audio = in->Between(0, 1) != 0;
  return absl::OkStatus();
}

}  // namespace nvc
