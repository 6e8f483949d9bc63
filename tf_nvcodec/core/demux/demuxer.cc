#include "tf_nvcodec/core/demux/demuxer.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/ffmpeg/av_log.h"
#include "tf_nvcodec/core/ffmpeg/color_tags.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/core/format/codec_table.h"

extern "C" {
#include <libavutil/encryption_info.h>
}

namespace nvc {
namespace {

constexpr int kIoBufferBytes = 64 << 10;
// Containers and elementary streams that hold their own bytes. Playlists, concatenations, devices
// and network inputs are left out: contents must not make FFmpeg open anything else.
constexpr char kFormats[] =
    "mov,matroska,avi,mpegts,mpeg,flv,h264,hevc,ivf,obu,mpegvideo,m4v,mjpeg,ogg,nut,"
    "yuv4mpegpipe,asf,mxf,gif,apng";
constexpr int64_t kLongestPath = 4096;  // Linux's PATH_MAX
constexpr int64_t kProbeBytes = 4 << 20;
constexpr int64_t kAnalyzeMicroseconds = 2'000'000;
constexpr int64_t kPixelsOfRounding = 1 << 16;

int RefuseToOpen(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EPERM);
}

// True when the header has the codec's parameters. Then the costly avformat_find_stream_info can be
// left out: the index is made from packets, and the first decoded frame tells the rest.
bool HeaderIsEnough(const AVFormatContext& format, const AVCodecParameters& codec) {
  const absl::string_view name = format.iformat->name;
  if (!absl::StrContains(name, "mov") && !absl::StrContains(name, "matroska")) return false;
  if (codec.width <= 0 || codec.height <= 0) return false;
  switch (FactsOf(codec.codec_id).header_needs) {
    case HeaderNeeds::kPackets:
      return false;
    case HeaderNeeds::kSize:
      return true;
    case HeaderNeeds::kSizeAndExtradata:
      return codec.extradata_size > 0;
  }
  return false;
}

// Users often pass a path instead of the file's bytes. The error then says so.
const char* HintOf(const ByteSource& source) {
  char text[kLongestPath];
  const bool in_memory = dynamic_cast<const MemorySource*>(&source) != nullptr;
  if (!in_memory || source.Size() > kLongestPath) return "";
  const absl::StatusOr<size_t> read = source.ReadAt(0, text, sizeof text);
  const auto in_paths = [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; };
  const bool may_be_path = read.ok() && std::all_of(text, text + *read, in_paths);
  return may_be_path ? "; if that is a path, pass the bytes of its file, tf.io.read_file(path)"
                     : "";
}

// FFmpeg would choose an image reader for a single JPEG picture. Those are not in kFormats, so that
// the caller chooses mjpeg for such contents.
bool IsJpeg(const ByteSource& source) {
  uint8_t begin[3];
  if (source.IsSequential()) return false;
  const absl::StatusOr<size_t> read = source.ReadAt(0, begin, sizeof begin);
  return read.ok() && *read == sizeof begin && std::memcmp(begin, "\xff\xd8\xff", 3) == 0;
}

// Names the format of contents that FFmpeg would not open. `io` is still at their beginning.
// FFmpeg's own error for a format outside kFormats only lists the formats it allows.
std::string WhyNot(int opened, const std::string& detail, AVIOContext* io) {
  if (!absl::StrContains(detail, "whitelist")) {
    return absl::StrCat(FfmpegErrorText(opened), detail);
  }
  const AVInputFormat* format = nullptr;
  if (av_probe_input_buffer2(io, &format, "", nullptr, 0, kProbeBytes) < 0 || format == nullptr) {
    return "tf_nvcodec does not read its format";
  }
  const absl::string_view name = format->name;
  if (absl::EndsWith(name, "_pipe")) {
    return absl::StrCat("it is a still image (", name, "), which tf.io.decode_image may read");
  }
  return absl::StrCat("it is ", format->long_name, " (", name,
                      "), which tf_nvcodec does not read; remux a video by ffmpeg -i FILE -c copy "
                      "out.mkv, or without -c copy where MKV can't hold its codec");
}

absl::Status Encrypted(absl::string_view container, absl::string_view scheme) {
  return absl::InvalidArgumentError(
      absl::StrCat("contents (", container, ") is encrypted (", scheme, "): decrypt it first",
                   scheme == "cenc" ? ", ffmpeg -decryption_key KEY -i FILE -c copy out.mp4" : ""));
}

// Returns the four letters of a scheme of Common Encryption, such as cenc or cbcs; empty if the
// packet is not encrypted.
std::string EncryptionScheme(const AVPacket& packet) {
  size_t bytes = 0;
  const uint8_t* const data = av_packet_get_side_data(&packet, AV_PKT_DATA_ENCRYPTION_INFO, &bytes);
  if (data == nullptr) return "";
  AVEncryptionInfo* const info = av_encryption_info_get_side_data(data, bytes);
  std::string scheme = "an unknown scheme";
  if (info != nullptr && info->scheme != 0) {
    scheme.clear();
    for (int shift = 24; shift >= 0; shift -= 8) {
      scheme += static_cast<char>(info->scheme >> shift & 0xff);
    }
  }
  av_encryption_info_free(info);
  return scheme;
}

void SetOrientation(const AVStream& stream, StreamInfo* info) {
  const auto* const matrix = reinterpret_cast<const int32_t*>(DisplayMatrix(stream));
  if (matrix == nullptr) return;
  const std::optional<Orientation> orientation = OrientationOf(matrix);
  info->orientation = orientation.value_or(Orientation{});
  if (orientation.has_value()) return;
  const auto fixed = [](int32_t value) { return value / 65536.0; };
  info->odd_matrix =
      absl::StrCat(fixed(matrix[0]), " ", fixed(matrix[1]), " ", fixed(matrix[3]), " ",
                   fixed(matrix[4]), matrix[2] != 0 || matrix[5] != 0 ? " with perspective" : "");
}

}  // namespace

Demuxer::Demuxer(const ByteSource& source, const Cancelled& cancelled, Look look,
                 const DemuxLimits& limits)
    : source_(&source),
      cancelled_(cancelled),
      look_(look),
      limits_(limits),
      declared_(limits.max_packets) {}

Demuxer::~Demuxer() {
  avformat_close_input(&format_);
  if (io_ != nullptr) {
    av_freep(&io_->buffer);
    avio_context_free(&io_);
  }
}

int Demuxer::ReadCallback(void* opaque, uint8_t* buffer, int size) {
  auto* self = static_cast<Demuxer*>(opaque);
  if (IsCancelled(self->cancelled_) || !self->over_limit_.ok()) return AVERROR_EXIT;
  if (!self->source_->IsSequential()) {
    self->over_limit_ =
        self->declared_.ReadTo(*self->source_, self->position_ + size, self->cancelled_);
    if (!self->over_limit_.ok()) return AVERROR_EXIT;
  }
  const auto read = self->source_->ReadAt(self->position_, buffer, static_cast<size_t>(size));
  if (!read.ok()) {
    if (self->read_error_.ok()) self->read_error_ = read.status();
    self->damage_ = std::string(read.status().message());
    return AVERROR(EIO);
  }
  if (*read == 0) return AVERROR_EOF;
  self->position_ += static_cast<int64_t>(*read);
  return static_cast<int>(*read);
}

// FFmpeg asks in loops that may go on without a read.
int Demuxer::InterruptCallback(void* opaque) {
  return IsCancelled(static_cast<Demuxer*>(opaque)->cancelled_) ? 1 : 0;
}

int64_t Demuxer::SeekCallback(void* opaque, int64_t offset, int whence) {
  auto* self = static_cast<Demuxer*>(opaque);
  switch (whence & ~AVSEEK_FORCE) {
    case AVSEEK_SIZE:
      return self->source_->Size();
    case SEEK_SET:
      break;
    case SEEK_CUR:
      offset += self->position_;
      break;
    case SEEK_END:
      offset += self->source_->Size();
      break;
    default:
      return AVERROR(EINVAL);
  }
  if (offset < 0) return AVERROR(EINVAL);
  self->position_ = offset;
  return offset;
}

absl::StatusOr<std::unique_ptr<Demuxer>> Demuxer::Open(const ByteSource& source,
                                                       const Cancelled& cancelled, Look look,
                                                       const DemuxLimits& limits) {
  if (source.Size() == 0 && !source.IsSequential()) {
    return absl::InvalidArgumentError(
        dynamic_cast<const MemorySource*>(&source) != nullptr
            ? "contents is empty: pass the bytes of a video file, e.g. tf.io.read_file(path)"
            : "the file is empty (0 bytes): was it written or downloaded completely?");
  }
  std::unique_ptr<Demuxer> demuxer(new Demuxer(source, cancelled, look, limits));
  NVC_RETURN_IF_ERROR(demuxer->Initialize());
  return demuxer;
}

absl::Status Demuxer::Initialize() {
  AvLogScope log;
  auto* buffer = static_cast<uint8_t*>(av_malloc(kIoBufferBytes));
  if (buffer == nullptr) return absl::ResourceExhaustedError("out of memory opening contents");
  io_ = avio_alloc_context(buffer, kIoBufferBytes, 0, this, &ReadCallback, nullptr,
                           source_->IsSequential() ? nullptr : &SeekCallback);
  format_ = avformat_alloc_context();
  if (io_ == nullptr || format_ == nullptr) {
    return absl::ResourceExhaustedError("out of memory opening contents");
  }
  format_->pb = io_;
  format_->io_open = &RefuseToOpen;
  format_->interrupt_callback = {&InterruptCallback, this};
  format_->flags |= AVFMT_FLAG_CUSTOM_IO;
  format_->probesize = kProbeBytes;
  format_->max_analyze_duration = kAnalyzeMicroseconds;
  AVDictionary* options = nullptr;
  av_dict_set(&options, "format_whitelist", kFormats, 0);
  av_dict_set(&options, "protocol_whitelist", "none", 0);
  auto* const format = IsJpeg(*source_) ? av_find_input_format("mjpeg") : nullptr;
  const int opened = avformat_open_input(&format_, "", format, &options);
  av_dict_free(&options);
  // Some demuxers take a read that was refused for the end of the file.
  if (opened == AVERROR_EXIT || IsCancelled(cancelled_)) {
    return over_limit_.ok() ? cancelled_.Error("opening contents") : over_limit_;
  }
  NVC_RETURN_IF_ERROR(over_limit_);
  if (opened < 0) {
    if (opened == AVERROR(ENOMEM)) return FfmpegError(opened, "opening contents");
    NVC_RETURN_IF_ERROR(read_error_);
    return absl::InvalidArgumentError(absl::StrCat(
        "contents (", source_->Size(),
        " bytes) is not a video container that can be read: ", WhyNot(opened, log.Detail(), io_),
        "; mp4/mov, mkv/webm, avi, ts, flv, ivf, obu, gif and raw H.264/HEVC are read",
        HintOf(*source_)));
  }
  return SelectStream();
}

absl::Status Demuxer::SelectStream() {
  AvLogScope log;
  const auto find = [this] {
    return av_find_best_stream(format_, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  };
  stream_index_ = find();
  if (stream_index_ < 0 || look_ == Look::kEverything ||
      !HeaderIsEnough(*format_, *format_->streams[stream_index_]->codecpar)) {
    const int found = FindStreamInfo();
    looked_at_frames_ = true;
    NVC_RETURN_IF_ERROR(over_limit_);
    if (found == AVERROR_EXIT || IsCancelled(cancelled_)) {
      return cancelled_.Error("reading the parameters of contents' streams");
    }
    NVC_RETURN_IF_ERROR(read_error_);
    if (found < 0) {
      return absl::DataLossError(absl::StrCat("contents: the streams' parameters can't be read: ",
                                              FfmpegErrorText(found), log.Detail()));
    }
    stream_index_ = find();
  }
  bool has_audio = false;
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    has_audio = has_audio || IsSound(static_cast<int>(i));
    if (static_cast<int>(i) != stream_index_) format_->streams[i]->discard = AVDISCARD_ALL;
  }
  const char* container = format_->iformat->name;
  if (stream_index_ < 0) {
    return absl::InvalidArgumentError(absl::StrCat("contents (", container, ") has no video stream",
                                                   has_audio ? ", only audio" : "", log.Detail()));
  }
  AVStream* stream = format_->streams[stream_index_];
  if (av_dict_get(stream->metadata, "enc_key_id", nullptr, 0) != nullptr) {
    return Encrypted(container, "Matroska's ContentEncryption");
  }
  stream_.container = container;
  NVC_ASSIGN_OR_RETURN(stream_.codec, CopyOf(*stream->codecpar));
  KeepKnownTags(stream_.codec.get());
  stream_.time_base = stream->time_base;
  stream_.frame_rate = stream->avg_frame_rate;
  stream_.lowest_rate = stream->r_frame_rate;
  stream_.sample_aspect_ratio = av_guess_sample_aspect_ratio(format_, stream, nullptr);
  SetOrientation(*stream, &stream_);
  stream_.has_audio = has_audio;
  stream_.index = stream_index_;
  return absl::OkStatus();
}

// FFmpeg decodes pictures here, where only their size matters: a decoder rounds sizes up, so that
// twice the limit is allowed.
int Demuxer::FindStreamInfo() {
  if (limits_.max_pixels <= 0) return avformat_find_stream_info(format_, nullptr);
  std::vector<AVDictionary*> options(format_->nb_streams + 1);  // one more than FFmpeg reads
  for (AVDictionary*& option : options) {
    const int64_t most = std::min(limits_.max_pixels, INT64_MAX / 4) * 2 + kPixelsOfRounding;
    av_dict_set_int(&option, "max_pixels", most, 0);
  }
  const int found = avformat_find_stream_info(format_, options.data());
  for (AVDictionary*& option : options) av_dict_free(&option);
  return found;
}

bool Demuxer::IsSound(int stream_index) const {
  return format_->streams[stream_index]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
}

absl::StatusOr<std::vector<SoundTrack>> Demuxer::Sound() const {
  std::vector<SoundTrack> tracks;
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    if (!IsSound(static_cast<int>(i))) continue;
    const AVStream& stream = *format_->streams[i];
    SoundTrack track;
    NVC_ASSIGN_OR_RETURN(track.codec, CopyOf(*stream.codecpar));
    track.time_base = stream.time_base;
    track.index = static_cast<int>(i);
    const AVDictionaryEntry* const language = av_dict_get(stream.metadata, "language", nullptr, 0);
    if (language != nullptr) track.language = language->value;
    tracks.push_back(std::move(track));
  }
  return tracks;
}

void Demuxer::KeepSound() {
  keeps_sound_ = true;
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    if (IsSound(static_cast<int>(i))) format_->streams[i]->discard = AVDISCARD_DEFAULT;
  }
}

absl::StatusOr<bool> Demuxer::Next(AVPacket* packet) {
  AvLogScope log;
  while (true) {
    av_packet_unref(packet);
    const int read = av_read_frame(format_, packet);
    NVC_RETURN_IF_ERROR(over_limit_);
    // A demuxer may take a read that was refused for the end of the file.
    if (read == AVERROR_EXIT || IsCancelled(cancelled_)) {
      return cancelled_.Error(absl::StrCat("reading contents, after ", packets_, " packets"));
    }
    if (read == AVERROR_EOF) return false;
    ++packets_;
    if (read == AVERROR(ENOMEM)) return FfmpegError(read, "reading packets");
    if (read < 0) {
      damage_ =
          absl::StrCat(damage_, damage_.empty() ? "" : "; ", FfmpegErrorText(read), log.Detail());
      return false;
    }
    if (packet->size == 0) continue;
    if (keeps_sound_ && IsSound(packet->stream_index)) return true;
    if (packet->stream_index != stream_index_) continue;
    const std::string scheme = EncryptionScheme(*packet);
    if (!scheme.empty()) return Encrypted(format_->iformat->name, scheme);
    if (wants_key_ && (packet->flags & AV_PKT_FLAG_KEY) == 0) continue;
    wants_key_ = false;
    return true;
  }
}

absl::Status Demuxer::Seek(int64_t timestamp) {
  AvLogScope log;
  const char* container = format_->iformat->name;
  if (source_->IsSequential()) {
    return absl::UnimplementedError(
        "a source that can be read only once can't seek: pass a file or its bytes");
  }
  int error = av_seek_frame(format_, stream_index_, timestamp, AVSEEK_FLAG_BACKWARD);
  // No key frame is at or before it: take the first one.
  if (error < 0) error = av_seek_frame(format_, stream_index_, timestamp, 0);
  if (IsCancelled(cancelled_)) return cancelled_.Error("seeking in contents");
  if (error < 0) {
    return absl::UnimplementedError(absl::StrCat(
        "seeking in contents (", container, ") failed: ", FfmpegErrorText(error), log.Detail()));
  }
  damage_.clear();
  wants_key_ = true;
  return absl::OkStatus();
}

}  // namespace nvc
