// An encoder that is fed frame by frame for as long as its owner likes, and whose packets are the
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
  // How RGB is converted, and the tags; unset: RGB by the size of the frame, YUV without tags.
  std::optional<ColorSpace> color_space;
  bool full_range = false;
  // Parameter sets before every key frame instead of the first only.
  bool repeat_headers = false;
  // num_units_in_tick and time_scale of the stream's timing information; unset: by frame_rate.
  std::optional<AVRational> tick;
  int gop = 0;           // frames from key frame to key frame; 0: codec's default
  CodecOptions options;  // of libavcodec's encoder and of every AVCodecContext
  CodecOptions params;   // of the encoder library: x264, x265 or SVT-AV1
  EncodeEngine engine = EncodeEngine::kCpu;
  // With kNvenc: libavutil's view of the GPU, which outlives the session; and whether the encoder
  // reads its frames there, in place of host memory.
  AVBufferRef* gpu = nullptr;
  bool frames_on_gpu = false;
};

struct SessionPacket {
  std::string data;
  int64_t timestamp = 0;  // as given with the frame
  int64_t pts = 0, dts = 0;
  AVPictureType type = AV_PICTURE_TYPE_NONE;
  bool key = false;
};

class EncodeSession {
 public:
  // InvalidArgument names what codec and encoder can't take; FailedPrecondition while another
  // session of SVT-AV1 is open, and when NVENC fails.
  static absl::StatusOr<std::unique_ptr<EncodeSession>> Create(const SessionSpec& spec);

  size_t frame_bytes() const { return input_.frame_bytes(); }
  // SPS and PPS, with the VPS in HEVC; AV1's sequence header OBU, final from the first packet on,
  // before which NVENC tells none.
  const std::string& parameter_sets() const { return parameter_sets_; }
  // Of the packets' times, one tick a frame whatever SetRate says.
  AVRational time_base() const { return encoder_->context().time_base; }

  // The frame's memory is not referred to once this returns. `force_key`: make it a key frame.
  absl::Status Encode(const void* data, size_t size, int64_t timestamp, bool force_key);
  // What the frames become.
  const StreamSpec& stream() const { return stream_; }
  // Where the encoder's frames come from if it reads them on the GPU; null otherwise.
  const GpuFramePool* gpu_frames() const { return gpu_frames_.get(); }
  // As Encode, with a written frame of gpu_frames().
  absl::Status EncodeGpuFrame(AvFramePtr frame, int64_t timestamp, bool force_key);
  // Drains the encoder; no frame may follow.
  absl::Status Finish();
  // The next packet in decoding order; false: there is none yet.
  bool Next(SessionPacket* packet);

  // From the next frame on. The stream's timing information stays as it is.
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
  std::map<int64_t, int64_t> timestamps_;  // by pts, of frames whose packet is due
  std::deque<SessionPacket> packets_;
  int64_t next_pts_ = 0, stored_ = 0;
  absl::Status failed_;
  bool finished_ = false;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_ENCODE_SESSION_H_
