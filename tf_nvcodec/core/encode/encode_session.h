// An encoder that takes one frame at a time, for as long as its owner likes. Its packets form the
// elementary stream: Annex B for H.264 and HEVC, temporal units of OBUs for AV1.
#ifndef TF_NVCODEC_CORE_ENCODE_ENCODE_SESSION_H_
#define TF_NVCODEC_CORE_ENCODE_ENCODE_SESSION_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/encode/encoder.h"
#include "tf_nvcodec/core/encode/session_input.h"
#include "tf_nvcodec/core/ffmpeg/bitstream_filter.h"
#include "tf_nvcodec/core/ffmpeg/gpu_frame_pool.h"

namespace nvc {

struct SessionSpec {
  EncodeCodec codec = EncodeCodec::kH264;
  InputFormat format = InputFormat::kNv12;
  int width = 0, height = 0;
  AVRational frame_rate = {30, 1};
  // The matrix for RGB and the colour tags. If unset, RGB uses a matrix chosen by the size of the
  // frame, and YUV gets no tags.
  std::optional<ColorSpace> color_space;
  bool full_range = false;
  // Whether parameter sets come before every key frame, or before the first one only.
  bool repeat_headers = false;
  // num_units_in_tick and time_scale of the stream's timing information; unset: taken from
  // frame_rate.
  std::optional<AVRational> tick;
  int gop = 0;           // frames from one key frame to the next; 0: codec's default
  CodecOptions options;  // of libavcodec's encoder and of AVCodecContext
  CodecOptions params;   // of the encoder library: x264, x265 or SVT-AV1
  EncodeEngine engine = EncodeEngine::kCpu;
  // With kNvenc: libavutil's context for the GPU, which outlives the session, and whether the
  // encoder reads its frames in GPU memory instead of host memory.
  AVBufferRef* gpu = nullptr;
  bool frames_on_gpu = false;
};

struct SessionPacket {
  std::string data;
  int64_t timestamp = 0;  // the frame's timestamp
  int64_t pts = 0, dts = 0;
  AVPictureType type = AV_PICTURE_TYPE_NONE;
  bool key = false;
};

class EncodeSession {
 public:
  // Returns InvalidArgument, which names what the codec or encoder does not support. Returns
  // FailedPrecondition if another SVT-AV1 session is open or if NVENC fails.
  static absl::StatusOr<std::unique_ptr<EncodeSession>> Create(const SessionSpec& spec);

  size_t frame_bytes() const { return input_.frame_bytes(); }
  // SPS and PPS, with the VPS for HEVC; the sequence header OBU for AV1. AV1's is final from the
  // first packet on; before it, NVENC has none.
  const std::string& parameter_sets() const { return parameter_sets_; }
  // The unit of the packets' times: one tick per frame, whatever SetRate says.
  AVRational time_base() const { return encoder_->context().time_base; }

  // Encodes a frame. `timestamp` comes back with its packet. `force_key` makes it a key frame. The
  // caller may change the frame's memory when this returns.
  absl::Status Encode(const void* data, size_t size, int64_t timestamp, bool force_key);
  // The stream that the frames become.
  const StreamSpec& stream() const { return stream_; }
  // Returns the pool of frames if the encoder reads them in GPU memory, else null.
  const GpuFramePool* gpu_frames() const { return gpu_frames_.get(); }
  // Encodes a frame of gpu_frames() that the caller has written.
  absl::Status EncodeGpuFrame(AvFramePtr frame, int64_t timestamp, bool force_key);
  // Drains the encoder. No frame may follow.
  absl::Status Finish();
  // Takes the next packet in decoding order. Returns false if none is ready.
  bool Next(SessionPacket* packet);

  // Changes the rates from the next frame on. The stream's timing information stays the same.
  absl::Status SetRate(const EncoderRate& rate, AVRational frame_rate);

 private:
  EncodeSession(const SessionSpec& spec, const FrameBatch& shape, const StreamSpec& stream)
      : spec_(spec), stream_(stream), input_(spec.format, shape, stream) {}
  absl::Status CheckOpen(bool force_key) const;
  absl::Status Send(AvFramePtr frame, int64_t timestamp, bool force_key);
  absl::Status MakeFilter();
  absl::Status Store(AVPacket* packet);

  const SessionSpec spec_;
  const StreamSpec stream_;
  SessionInput input_;
  std::unique_ptr<GpuFramePool> gpu_frames_;
  std::unique_ptr<Encoder> encoder_;
  std::optional<BitstreamFilter> filter_;
  std::string parameter_sets_;
  std::map<int64_t, int64_t> timestamps_;  // by pts, for frames whose packets are still to come
  std::deque<SessionPacket> packets_;
  int64_t next_pts_ = 0, stored_ = 0;
  absl::Status failed_;
  bool finished_ = false;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_ENCODE_SESSION_H_
