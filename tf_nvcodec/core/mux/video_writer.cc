#include "tf_nvcodec/core/mux/video_writer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/encoder.h"
#include "tf_nvcodec/core/encode/frame_loader.h"
#include "tf_nvcodec/core/encode/stream_spec.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/core/mux/muxer.h"

namespace nvc {
namespace {

absl::Status CheckFrameRate(const FrameTiming& timing, const EncodeOptions& options) {
  const CodecTraits& traits = TraitsOf(options.codec);
  const ContainerTraits& container = TraitsOf(options.container);
  const double fps = av_q2d(timing.frame_rate());
  if (fps > traits.max_fps) {
    return absl::InvalidArgumentError(absl::StrCat("codec ", traits.name, " takes at most ",
                                                   traits.max_fps, " frames a second; got ", fps));
  }
  if (fps < traits.min_fps && options.bitrate != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("codec ", traits.name, " can keep to a bitrate only from ", traits.min_fps,
                     " frames a second on; got ", fps, ": use crf"));
  }
  if (container.ticks_per_second != 0 && fps > container.ticks_per_second) {
    return absl::InvalidArgumentError(absl::StrCat(
        "container ", container.name, " can store at most ", container.ticks_per_second,
        " frames a second; got ", fps, ": use container mp4"));
  }
  return absl::OkStatus();
}

// True if the caller asks the encoder itself for B-frames, whatever max_b_frames says.
bool AsksForBFrames(const EncodeOptions& options) {
  return std::any_of(
      options.codec_options.begin(), options.codec_options.end(), [](const auto& option) {
        const absl::string_view name = option.first;
        return name == "bf" ||
               (absl::StrContains(name, "x26") && absl::StrContains(option.second, "bframes"));
      });
}

// Turns B-frames off for MP4 files with unevenly spaced frames. MP4 stores a frame's duration as
// the time from its packet's dts to the next one's. With frames that are unevenly spaced and coded
// out of order, that is the duration of another frame. Readers that follow the edit list, as FFmpeg
// does, then leave out the last frames.
absl::StatusOr<EncodeOptions> InOrderWhereUneven(EncodeOptions options, const FrameTiming& timing) {
  const ContainerTraits& container = TraitsOf(options.container);
  const bool has_b_frames = TraitsOf(options.codec).max_b_frames > 0;
  if (timing.constant() || !container.is_mp4_like || options.fragmented || !has_b_frames) {
    return options;
  }
  if ((options.max_b_frames > 0 && options.gop != 1) || AsksForBFrames(options)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "container ", container.name,
        " can't store the durations of frames that are unevenly spaced and coded out of order: "
        "for these pts set bf to 0 and no bframes in options, or pass fragmented, or use "
        "container mkv"));
  }
  options.max_b_frames = 0;
  return options;
}

}  // namespace

absl::Status WriteVideo(const FrameBatch& frames, const FrameTiming& timing,
                        const EncodeOptions& options, const Cancelled& cancelled,
                        GrowingBytes* out) {
  const OpenFrames open = [&](const StreamSpec& stream) {
    return FrameLoader::Create(frames, stream);
  };
  return WriteVideoFrom(frames, open, timing, options, cancelled, out);
}

absl::Status WriteVideoFrom(const FrameBatch& shape, const OpenFrames& open,
                            const FrameTiming& timing, const EncodeOptions& given,
                            const Cancelled& cancelled, GrowingBytes* out) {
  NVC_RETURN_IF_ERROR(shape.Validate());
  NVC_RETURN_IF_ERROR(given.Validate());
  NVC_ASSIGN_OR_RETURN(const EncodeOptions options, InOrderWhereUneven(given, timing));
  NVC_RETURN_IF_ERROR(CheckFrameRate(timing, options));
  NVC_ASSIGN_OR_RETURN(const StreamSpec stream, ChooseStream(shape, options));
  // The source outlives the encoder, which may keep frames.
  NVC_ASSIGN_OR_RETURN(const std::unique_ptr<FrameSource> frames, open(stream));
  NVC_ASSIGN_OR_RETURN(const std::unique_ptr<Muxer> muxer, Muxer::Create(options, out));
  NVC_ASSIGN_OR_RETURN(const std::unique_ptr<Encoder> encoder,
                       NewLibavcodecEncoder(stream, timing, options, muxer->wants_global_header(),
                                            frames->gpu_frames(), cancelled));

  const auto check = [&](int64_t done) {
    if (!IsCancelled(cancelled)) return absl::OkStatus();
    return absl::CancelledError(
        absl::StrCat("encoding was cancelled after ", done, " of ", shape.count, " frames"));
  };
  int64_t packets = 0;
  const PacketSink sink = [&](AVPacket* packet) -> absl::Status {
    NVC_RETURN_IF_ERROR(check(packets));
    if (packets == 0) NVC_RETURN_IF_ERROR(muxer->Start(encoder->context(), timing, *packet));
    ++packets;
    packet->duration = timing.DurationAt(packet->pts);
    return muxer->Write(packet);
  };
  for (int64_t i = 0; i < shape.count; ++i) {
    NVC_RETURN_IF_ERROR(check(i));
    NVC_ASSIGN_OR_RETURN(AvFramePtr frame, frames->Load(i));
    frame->pts = timing.Pts(i);
    SetDuration(timing.DurationAt(frame->pts), frame.get());
    NVC_RETURN_IF_ERROR(encoder->Encode(std::move(frame), sink));
  }
  NVC_RETURN_IF_ERROR(encoder->Finish(sink));
  if (packets != shape.count) {
    return absl::InternalError(absl::StrCat("codec ", TraitsOf(options.codec).name, " made ",
                                            packets, " packets of ", shape.count, " frames"));
  }
  return muxer->Finish();
}

}  // namespace nvc
