// Decodes packets as they come, from one stream after another, into frames for Python.
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
#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"

namespace nvc {

struct PacketDecoderOptions {
  AVCodecID codec = AV_CODEC_ID_NONE;  // none: that of the packets' stream
  SurfaceColor color = SurfaceColor::kNative;
  int max_width = 0, max_height = 0;  // 0: any
  bool low_latency = false;           // each frame as soon as it can come
  GpuChoice gpu;
  bool must_be_gpu = false;  // not FFmpeg for what it can't decode
};

// Not thread-safe.
class PacketDecoder {
 public:
  explicit PacketDecoder(const PacketDecoderOptions& options) : options_(options) {}

  // Decodes the packet; its frames, and others that it lets go, come from TakeFrame in the order
  // shown. An error does not keep frames from coming, nor the next packet from being decoded.
  // `stream`: what the packet is of, and then it is a whole one; null: any piece of an elementary
  // stream.
  absl::Status Decode(const AVPacket& packet, const std::shared_ptr<const PacketStream>& stream);
  // Lets go of all frames still held back. A new stream, or a new part of this one, may follow.
  absl::Status Finish();

  size_t num_frames() const { return frames_.size(); }
  // Null when there is none.
  std::unique_ptr<nvc_frame> TakeFrame();

 private:
  absl::Status Follow(const std::shared_ptr<const PacketStream>& stream);
  absl::Status Open();
  // NVDEC's where that takes the stream, else FFmpeg's.
  absl::Status OpenDecoder();
  absl::Status DecodeWhole(const AVPacket* packet);
  // `refused`: what NVDEC says that does not take the packet, where FFmpeg may; no error then.
  absl::Status SendAndReceive(const AVPacket* packet, absl::Status* refused);
  // Only the stream's own headers told that it is none for NVDEC.
  absl::Status GoOnWithFfmpeg(const AVPacket* packet, const absl::Status& refused);
  // Packets from one to the frame that comes out with it, says the stream.
  int Delay() const;
  // RASL pictures after a start in the middle, which FFmpeg leaves out by itself: they refer to
  // what never came.
  bool IsSkippedLeading(const AVPacket& packet);
  absl::Status Drain();
  absl::Status Keep(const AVFrame& frame);

  const PacketDecoderOptions options_;
  std::shared_ptr<const PacketStream> stream_;  // null: pieces without one
  std::unique_ptr<PacketParser> parser_;        // for those
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<FrameMaker> maker_;
  std::unique_ptr<PacketInspector> inspector_;  // of HEVC, where NVDEC decodes
  std::optional<OutputTimes> times_;            // where NVDEC decodes
  int random_access_points_ = 0;                // of this run of packets
  bool may_be_refused_ = false;                 // NVDEC decodes, and FFmpeg may do it
  bool gpu_refuses_ = false;
  bool finished_ = false;  // nothing may be sent before a Reset
  bool at_start_ = true;   // nothing was sent of this run of packets
  bool joining_ = false;   // which began without a key frame, and no frame has come of it
  std::deque<std::unique_ptr<nvc_frame>> frames_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CAPI_PACKET_DECODER_H_
