// Decodes packets one by one, from one stream after another, into the C API's frames.
#ifndef TF_NVCODEC_CAPI_PACKET_DECODER_H_
#define TF_NVCODEC_CAPI_PACKET_DECODER_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/capi/demuxer.h"
#include "tf_nvcodec/capi/frame.h"
#include "tf_nvcodec/capi/frame_maker.h"
#include "tf_nvcodec/capi/output_times.h"
#include "tf_nvcodec/capi/packet_parser.h"
#include "tf_nvcodec/capi/picture_limit.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"

namespace nvc {

struct PacketDecoderOptions {
  AVCodecID codec = AV_CODEC_ID_NONE;  // none: the codec of the packets' stream
  SurfaceColor color = SurfaceColor::kNative;
  PictureLimit limit;
  bool low_latency = false;  // return each frame as soon as possible
  GpuChoice gpu;
  bool must_be_gpu = false;  // FFmpeg must not step in
};

// Decodes packets with NVDEC or FFmpeg. Not thread-safe.
class PacketDecoder {
 public:
  explicit PacketDecoder(const PacketDecoderOptions& options) : options_(options) {}

  // Decodes a packet. TakeFrame then returns its frames, and others that were waiting for it, in
  // display order. After an error, frames still come and the next packet can be decoded. If
  // `stream` is given, the packet is a whole packet of that stream. If it is null, the packet is
  // any piece of an elementary stream.
  absl::Status Decode(const AVPacket& packet, const std::shared_ptr<const PacketStream>& stream);
  // Releases all frames that are still held back. A new stream, or a new part of this one, may
  // follow.
  absl::Status Finish();

  size_t num_frames() const { return frames_.size(); }
  // Returns null if no frame is ready.
  std::unique_ptr<nvc_frame> TakeFrame();

 private:
  absl::Status Follow(const std::shared_ptr<const PacketStream>& stream);
  absl::Status Open();
  // Opens NVDEC's decoder if it takes the stream, else FFmpeg's.
  absl::Status OpenDecoder();
  absl::Status DecodeWhole(const AVPacket* packet);
  // Sets `refused`, and returns OK for it, if NVDEC refuses the packet and FFmpeg may decode it.
  absl::Status SendAndReceive(const AVPacket* packet, absl::Status* refused);
  // Switches to FFmpeg. Needed if only the headers in the packets show that NVDEC can't decode the
  // stream.
  absl::Status GoOnWithFfmpeg(const AVPacket* packet, const absl::Status& refused);
  // Returns the stream's delay: the number of packets from one packet to the one with which its
  // frame comes out.
  int Delay() const;
  // Returns whether the packet is a RASL picture after a start in the middle of the stream. It
  // refers to pictures that never came. FFmpeg leaves such pictures out by itself.
  bool IsSkippedLeading(const AVPacket& packet);
  absl::Status Drain();
  absl::Status Keep(const AVFrame& frame);

  const PacketDecoderOptions options_;
  std::shared_ptr<const PacketStream> stream_;  // null: pieces of an elementary stream
  std::unique_ptr<PacketParser> parser_;        // for such pieces
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<FrameMaker> maker_;
  std::unique_ptr<PacketInspector> inspector_;  // for HEVC that NVDEC decodes
  std::optional<OutputTimes> times_;            // if NVDEC decodes
  int random_access_points_ = 0;                // in this run of packets
  bool may_be_refused_ = false;                 // NVDEC decodes, and FFmpeg may take over
  bool gpu_refuses_ = false;
  bool finished_ = false;  // the next packet needs a Reset first
  bool at_start_ = true;   // no packet of this run was sent yet
  bool joining_ = false;   // this run began without a key frame and gave no frame yet
  std::deque<std::unique_ptr<nvc_frame>> frames_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CAPI_PACKET_DECODER_H_
