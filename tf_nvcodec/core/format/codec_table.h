// Lists the facts about each codec, one row for each. All other code gets them from FactsOf. To add
// a codec, add its row here. Some facts need code elsewhere: an inspector of packets
// (packet_info.cc), the check of NVIDIA's number (nvdec_codecs.cc), special cases of NVDEC
// (nvdec_stream.h, nvdec_headers.h), and the limits and settings of an encoder (encode_codec.cc,
// codec_settings.cc).
#ifndef TF_NVCODEC_CORE_FORMAT_CODEC_TABLE_H_
#define TF_NVCODEC_CORE_FORMAT_CODEC_TABLE_H_

#include <cstdint>  // must come before FFmpeg's headers

extern "C" {
#include <libavcodec/codec_id.h>
}

namespace nvc {

// Which inspector of packet_info.cc reads the packets.
enum class PacketSyntax {
  kUnknown,  // no inspector: only decoding the stream counts its frames
  kKeyFlag,  // each packet shows one frame; the container's flags mark the key frames
  kIntra,    // each packet is one key frame
  kH264,
  kHevc,
  kVp8,
  kVp9,
  kAv1,
  kMpeg2,  // and MPEG-1
  kMpeg4,
};

// Which bytes of a packet its inspector needs (packet_headers.cc).
enum class HeaderBytes { kWhole, kFirstBytes, kNalUnits, kVp9Frames, kAv1Units };

// What the header of an MP4 or Matroska file must have so that the stream can be opened without
// looking at its packets.
enum class HeaderNeeds {
  kPackets,  // no header is enough, packets are needed
  kSize,
  kSizeAndExtradata,
};

// How FFmpeg's decoder is set up.
struct SoftwareDecoding {
  // AV_CODEC_FLAG_BITEXACT makes decoders follow the standard to the bit. JPEG 2000's decoder then
  // uses integers where the standard has real numbers.
  bool bitexact_flag = true;
  // FFmpeg 5.1's decoder repeats a frame when it uses frame threads.
  bool one_thread = false;
  // The decoder (dav1d) keeps all its threads busy, so that spare threads only slow it down.
  bool no_spare_threads = false;
  // The decoder reports errors inside a slice only with AV_EF_EXPLODE.
  bool hides_errors = false;
  // The decoder leaves out parts of damaged pictures and does not say so (unwritten_marks.h).
  bool leaves_gaps = false;
  // The decoder accepts the number of reordered frames, which a stream's headers may leave out.
  bool takes_reorder_depth = false;
  // The decoder opens only with extradata: the headers that containers keep beside the packets.
  bool needs_extradata = false;
};

// How NVDEC and NVIDIA's parser are used.
struct NvdecDecoding {
  int id = -1;           // cudaVideoCodec's number
  bool is_used = false;  // only where NVDEC's pictures equal FFmpeg's to the bit
  // FFmpeg's bitstream filter that prepares packets for the parser; null: none is necessary.
  const char* filter = nullptr;
  bool extradata_is_headers = true;  // the parser must read the container's extradata first
  // A filtered packet holds one picture. For H.264 it may hold two fields, which we split.
  bool piece_is_picture = true;
  bool tells_color = false;  // the parser reads matrix, primaries and range from the stream
  // A packet may show a picture of an earlier packet, and the picture size may change without a key
  // frame.
  bool may_show_again = false;
};

// How we encode to the codec. `encoder` is null for codecs that are only decoded.
struct Encoding {
  const char* encoder = nullptr;        // FFmpeg's software encoder
  const char* stand_in = nullptr;       // the one to take where FFmpeg has no `encoder`
  const char* nvenc_encoder = nullptr;  // FFmpeg's encoder on NVENC
  const char* raw_muxer = nullptr;      // FFmpeg's muxer of the elementary stream
  const char* containers = "";          // the other containers, by their names in the Python API
  const char* tag_filter = nullptr;     // FFmpeg's bitstream filter that writes colour tags
};

struct CodecFacts {
  AVCodecID id = AV_CODEC_ID_NONE;
  const char* name = "";  // FFmpeg's name, also used in the Python API

  PacketSyntax syntax = PacketSyntax::kUnknown;
  HeaderBytes header_bytes = HeaderBytes::kWhole;
  HeaderNeeds header_needs = HeaderNeeds::kPackets;
  // Each MP4 sample is a frame, so that an index needs only the header with its sample table.
  bool sample_table_tells = false;
  // Every coded picture is shown. If a picture after the first random access point is not shown, it
  // refers to pictures before that point which were cut off.
  bool shows_every_picture = false;
  // A decoder that starts at a random access point drops the leading pictures (HEVC's RASL).
  bool skips_leading = false;
  // Pictures are shown in the order of their packets.
  bool shown_in_order = false;
  // FFmpeg's bitstream filter that converts the container's packets to an elementary stream.
  const char* elementary_filter = nullptr;

  SoftwareDecoding software;
  NvdecDecoding nvdec;
  Encoding encoding;
};

namespace codec_rows {

constexpr CodecFacts H264() {
  CodecFacts row;
  row.id = AV_CODEC_ID_H264;
  row.name = "h264";
  row.syntax = PacketSyntax::kH264;
  row.header_bytes = HeaderBytes::kNalUnits;
  row.header_needs = HeaderNeeds::kSizeAndExtradata;
  row.sample_table_tells = true;
  row.shows_every_picture = true;
  row.elementary_filter = "h264_mp4toannexb";
  row.software.takes_reorder_depth = true;
  row.nvdec.id = 4;
  row.nvdec.is_used = true;
  row.nvdec.filter = "h264_mp4toannexb";
  row.nvdec.tells_color = true;
  row.encoding.encoder = "libx264";
  row.encoding.stand_in = "libopenh264";
  row.encoding.nvenc_encoder = "h264_nvenc";
  row.encoding.raw_muxer = "h264";
  row.encoding.containers = "mp4 mov mkv avi ts";
  row.encoding.tag_filter = "h264_metadata";
  return row;
}

constexpr CodecFacts Hevc() {
  CodecFacts row;
  row.id = AV_CODEC_ID_HEVC;
  row.name = "hevc";
  row.syntax = PacketSyntax::kHevc;
  row.header_bytes = HeaderBytes::kNalUnits;
  row.header_needs = HeaderNeeds::kSizeAndExtradata;
  row.sample_table_tells = true;
  row.shows_every_picture = true;
  row.skips_leading = true;
  row.elementary_filter = "hevc_mp4toannexb";
  row.software.hides_errors = true;
  row.software.leaves_gaps = true;
  row.nvdec.id = 8;
  row.nvdec.is_used = true;
  row.nvdec.filter = "hevc_mp4toannexb";
  row.nvdec.tells_color = true;
  row.encoding.encoder = "libx265";
  row.encoding.nvenc_encoder = "hevc_nvenc";
  row.encoding.raw_muxer = "hevc";
  row.encoding.containers = "mp4 mov mkv ts";
  row.encoding.tag_filter = "hevc_metadata";
  return row;
}

constexpr CodecFacts Av1() {
  CodecFacts row;
  row.id = AV_CODEC_ID_AV1;
  row.name = "av1";
  row.syntax = PacketSyntax::kAv1;
  row.header_bytes = HeaderBytes::kAv1Units;
  row.header_needs = HeaderNeeds::kSizeAndExtradata;
  row.sample_table_tells = true;
  row.shown_in_order = true;
  row.software.no_spare_threads = true;
  row.nvdec.id = 11;
  row.nvdec.is_used = true;
  row.nvdec.filter = "av1_frame_split";
  row.nvdec.piece_is_picture = false;
  row.nvdec.may_show_again = true;
  row.encoding.encoder = "libsvtav1";
  row.encoding.nvenc_encoder = "av1_nvenc";
  row.encoding.raw_muxer = "obu";
  row.encoding.containers = "mp4 mkv webm ivf obu";
  row.encoding.tag_filter = "av1_metadata";
  return row;
}

constexpr CodecFacts Vp9() {
  CodecFacts row;
  row.id = AV_CODEC_ID_VP9;
  row.name = "vp9";
  row.syntax = PacketSyntax::kVp9;
  row.header_bytes = HeaderBytes::kVp9Frames;
  row.header_needs = HeaderNeeds::kSize;
  row.sample_table_tells = true;
  row.shown_in_order = true;
  row.nvdec.id = 10;
  row.nvdec.is_used = true;
  row.nvdec.filter = "vp9_superframe_split";
  row.nvdec.extradata_is_headers = false;
  row.nvdec.may_show_again = true;
  row.encoding.encoder = "libvpx-vp9";
  row.encoding.raw_muxer = "ivf";
  row.encoding.containers = "mp4 mkv webm ivf";
  return row;
}

constexpr CodecFacts Vp8() {
  CodecFacts row;
  row.id = AV_CODEC_ID_VP8;
  row.name = "vp8";
  row.syntax = PacketSyntax::kVp8;
  row.header_bytes = HeaderBytes::kFirstBytes;
  row.header_needs = HeaderNeeds::kSize;
  row.sample_table_tells = true;
  row.shown_in_order = true;
  row.software.leaves_gaps = true;
  row.nvdec.id = 9;
  row.nvdec.is_used = true;
  row.nvdec.extradata_is_headers = false;
  return row;
}

constexpr CodecFacts Mpeg1() {
  CodecFacts row;
  row.id = AV_CODEC_ID_MPEG1VIDEO;
  row.name = "mpeg1video";
  row.syntax = PacketSyntax::kMpeg2;
  row.nvdec.id = 0;
  return row;
}

constexpr CodecFacts Mpeg2() {
  CodecFacts row;
  row.id = AV_CODEC_ID_MPEG2VIDEO;
  row.name = "mpeg2video";
  row.syntax = PacketSyntax::kMpeg2;
  row.shows_every_picture = true;
  row.nvdec.id = 1;
  return row;
}

constexpr CodecFacts Mpeg4() {
  CodecFacts row;
  row.id = AV_CODEC_ID_MPEG4;
  row.name = "mpeg4";
  row.syntax = PacketSyntax::kMpeg4;
  row.elementary_filter = "mpeg4_unpack_bframes";  // DivX in AVI packs two pictures in a packet
  row.nvdec.id = 2;
  return row;
}

constexpr CodecFacts Vc1() {
  CodecFacts row;
  row.id = AV_CODEC_ID_VC1;
  row.name = "vc1";
  row.software.needs_extradata = true;
  row.nvdec.id = 3;
  return row;
}

constexpr CodecFacts Mjpeg() {
  CodecFacts row;
  row.id = AV_CODEC_ID_MJPEG;
  row.name = "mjpeg";
  row.syntax = PacketSyntax::kIntra;
  row.header_bytes = HeaderBytes::kFirstBytes;
  row.header_needs = HeaderNeeds::kSize;
  row.sample_table_tells = true;
  row.software.leaves_gaps = true;
  row.nvdec.id = 5;
  row.encoding.encoder = "mjpeg";
  row.encoding.raw_muxer = "mjpeg";
  row.encoding.containers = "mp4 mov mkv avi";
  return row;
}

constexpr CodecFacts Ffv1() {
  CodecFacts row;
  row.id = AV_CODEC_ID_FFV1;
  row.name = "ffv1";
  row.syntax = PacketSyntax::kKeyFlag;
  row.header_needs = HeaderNeeds::kSize;
  row.encoding.encoder = "ffv1";
  row.encoding.containers = "mov mkv avi";
  return row;
}

constexpr CodecFacts Intra(AVCodecID id, const char* name) {
  CodecFacts row;
  row.id = id;
  row.name = name;
  row.syntax = PacketSyntax::kIntra;
  return row;
}

constexpr CodecFacts JpegLs() {
  CodecFacts row = Intra(AV_CODEC_ID_JPEGLS, "jpegls");
  row.software.leaves_gaps = true;
  return row;
}

constexpr CodecFacts Prores() {
  CodecFacts row = Intra(AV_CODEC_ID_PRORES, "prores");
  row.header_bytes = HeaderBytes::kFirstBytes;
  row.header_needs = HeaderNeeds::kSize;
  return row;
}

constexpr CodecFacts Png() {
  CodecFacts row = Intra(AV_CODEC_ID_PNG, "png");
  row.header_needs = HeaderNeeds::kSize;
  return row;
}

constexpr CodecFacts Jpeg2000() {
  CodecFacts row;
  row.id = AV_CODEC_ID_JPEG2000;
  row.name = "jpeg2000";
  row.software.bitexact_flag = false;
  return row;
}

constexpr CodecFacts Theora(AVCodecID id, const char* name) {
  CodecFacts row;
  row.id = id;
  row.name = name;
  row.software.one_thread = true;
  return row;
}

}  // namespace codec_rows

// Error messages list codecs in this order.
inline constexpr CodecFacts kCodecTable[] = {
    codec_rows::H264(),
    codec_rows::Hevc(),
    codec_rows::Av1(),
    codec_rows::Vp9(),
    codec_rows::Vp8(),
    codec_rows::Mpeg1(),
    codec_rows::Mpeg2(),
    codec_rows::Mpeg4(),
    codec_rows::Vc1(),
    codec_rows::Mjpeg(),
    codec_rows::Ffv1(),
    codec_rows::Prores(),
    codec_rows::Png(),
    codec_rows::Intra(AV_CODEC_ID_RAWVIDEO, "rawvideo"),
    codec_rows::Intra(AV_CODEC_ID_DNXHD, "dnxhd"),
    codec_rows::Intra(AV_CODEC_ID_HUFFYUV, "huffyuv"),
    codec_rows::Intra(AV_CODEC_ID_FFVHUFF, "ffvhuff"),
    codec_rows::JpegLs(),
    codec_rows::Intra(AV_CODEC_ID_UTVIDEO, "utvideo"),
    codec_rows::Jpeg2000(),
    codec_rows::Theora(AV_CODEC_ID_THEORA, "theora"),
    codec_rows::Theora(AV_CODEC_ID_VP3, "vp3"),
};

// The facts of codecs without a row. FFmpeg decodes them, and an index needs to decode every frame.
inline constexpr CodecFacts kUnknownCodec = {};

constexpr const CodecFacts& FactsOf(AVCodecID id) {
  for (const CodecFacts& row : kCodecTable) {
    if (row.id == id) return row;
  }
  return kUnknownCodec;
}

// Returns the row of the codec with this number in cudaVideoCodec.
constexpr const CodecFacts& FactsOfNvdec(int nvdec_id) {
  for (const CodecFacts& row : kCodecTable) {
    if (row.nvdec.id == nvdec_id && nvdec_id >= 0) return row;
  }
  return kUnknownCodec;
}

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FORMAT_CODEC_TABLE_H_
