#include "tf_nvcodec/capi/reader.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/capi/error.h"
#include "tf_nvcodec/capi/gpu_frames.h"
#include "tf_nvcodec/capi/picture_limit.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/decode/frame_stream.h"
#include "tf_nvcodec/core/index/frame_index.h"
#include "tf_nvcodec/nv/decode/decode_backend.h"
#include "tf_nvcodec/nv/decode/nvdec_caps.h"

struct nvc_reader {
  nvc_source source;
  nvc::FrameIndex index;
  nvc_decoder_options options;
  nvc::PictureLimit limit;
  nvc::GpuChoice gpu;
};

namespace nvc {
namespace {

absl::Status Open(const nvc_source& source, const nvc_decoder_options& options, nvc_reader** out) {
  if (source.bytes->IsSequential()) {
    return absl::InvalidArgumentError(
        "a reader needs random access, but this source can be read only once: pass a file or its "
        "bytes");
  }
  auto reader = std::make_unique<nvc_reader>();
  reader->source = source;
  reader->options = options;
  reader->limit = {"max_width and max_height", options.max_width, options.max_height};
  NVC_ASSIGN_OR_RETURN(reader->gpu, ChooseGpu(options));
  NVC_ASSIGN_OR_RETURN(reader->index, FrameIndex::Build(*source.bytes, FrameIndex::Limits(),
                                                        /*cancelled=*/nullptr));
  *out = reader.release();
  return absl::OkStatus();
}

// Collects each frame once, by its display index.
class SurfaceSink : public FrameSink {
 public:
  explicit SurfaceSink(const nvc_reader& reader) : reader_(reader) {}

  void Start(int workers) override { makers_.resize(static_cast<size_t>(workers)); }

  absl::Status Write(int worker, int frame, const AVFrame& picture) override {
    NVC_RETURN_IF_ERROR(reader_.limit.Check(picture));
    std::unique_ptr<FrameMaker>& maker = makers_[static_cast<size_t>(worker)];
    if (maker == nullptr) {
      NVC_ASSIGN_OR_RETURN(
          maker, MakeFrames(reader_.gpu, static_cast<SurfaceColor>(reader_.options.color)));
    }
    NVC_ASSIGN_OR_RETURN(std::unique_ptr<nvc_frame> made, maker->Make(picture));
    std::lock_guard<std::mutex> lock(mutex_);
    frames_[frame] = std::move(made);
    return absl::OkStatus();
  }

  const nvc_frame* Find(int64_t frame) const {
    const auto found = frames_.find(static_cast<int>(frame));
    return found != frames_.end() ? found->second.get() : nullptr;
  }

 private:
  const nvc_reader& reader_;
  std::vector<std::unique_ptr<FrameMaker>> makers_;  // one for each worker
  std::mutex mutex_;
  std::unordered_map<int, std::unique_ptr<nvc_frame>> frames_;
};

absl::Status CheckIndices(const FrameIndex& index, const std::vector<int64_t>& wanted) {
  for (const int64_t frame : wanted) {
    if (frame >= 0 && frame < index.num_frames()) continue;
    std::string why;
    if (!index.damage().empty()) why = absl::StrCat(" (the file ends early: ", index.damage(), ")");
    return absl::OutOfRangeError(absl::StrCat("frame ", frame, " of ", index.num_frames(), why));
  }
  return absl::OkStatus();
}

absl::Status Read(nvc_reader* reader, const std::vector<int64_t>& wanted, nvc_frame** out) {
  const FrameIndex& index = reader->index;
  NVC_RETURN_IF_ERROR(CheckIndices(index, wanted));
  ReadOptions options;
  options.max_pixels = reader->limit.MaxPixels();
  std::optional<NvdecQuota> quota;
  GpuDevice* const device = reader->gpu.device;
  if (device != nullptr) {
    const bool must = reader->options.backend == kBackendNvdec;
    const absl::Status taken = CheckNvdecTakes(device, *index.stream().codec);
    if (taken.ok()) {
      quota.emplace(*device, /*wanted=*/0);
      options.factory = DecodeOnGpu(device, must ? Backend::kNvdec : Backend::kAuto, &*quota,
                                    [](const std::string&) {});
    } else if (must || !absl::IsUnimplemented(taken)) {
      return must ? WithNvdecCure(taken) : taken;
    }
  }
  SurfaceSink sink(*reader);
  DamagedFrames damaged;
  NVC_RETURN_IF_ERROR(reader->limit.Named(
      ReadFrames(index, *reader->source.bytes, wanted, options, &sink, &damaged)));
  std::vector<std::unique_ptr<nvc_frame>> frames;
  for (const int64_t frame : wanted) {
    const auto found = damaged.find(static_cast<int>(frame));
    if (found != damaged.end()) {
      return absl::DataLossError(
          absl::StrCat("frame ", frame, " is damaged: ", found->second.message()));
    }
    const nvc_frame* made = sink.Find(frame);
    if (made == nullptr) {
      return absl::DataLossError(absl::StrCat("the decoder gave no picture for frame ", frame));
    }
    frames.push_back(std::make_unique<nvc_frame>(*made));
  }
  for (size_t i = 0; i < frames.size(); ++i) out[i] = frames[i].release();
  return absl::OkStatus();
}

}  // namespace
}  // namespace nvc

int nvc_reader_open(const nvc_source* source, const nvc_decoder_options* options,
                    nvc_reader** reader) {
  return nvc::Guarded([&] { return source->Named(nvc::Open(*source, *options, reader)); });
}

void nvc_reader_free(nvc_reader* reader) { delete reader; }

void nvc_reader_get_info(const nvc_reader* reader, nvc_reader_info* info) {
  const nvc::FrameIndex& index = reader->index;
  const AVCodecParameters& codec = *index.stream().codec;
  *info = nvc_reader_info{};
  std::strncpy(info->codec, avcodec_get_name(codec.codec_id), sizeof(info->codec) - 1);
  info->num_frames = index.num_frames();
  info->num_packets = static_cast<int64_t>(index.packets().size());
  info->size = reader->source.bytes->Size();
  info->frame_rate = index.frame_rate();
  info->duration = index.duration();
  info->width = codec.width;
  info->height = codec.height;
}

void nvc_reader_get_packets(const nvc_reader* reader, nvc_reader_packet* packets) {
  for (const nvc::PacketEntry& packet : reader->index.packets()) {
    *packets++ = {packet.pts, packet.dts, packet.frame, packet.size, packet.random_access};
  }
}

int nvc_reader_frame_at(const nvc_reader* reader, double seconds, double tolerance,
                        int64_t* index) {
  return nvc::Guarded([&] {
    const absl::StatusOr<int64_t> frame = reader->index.FrameAt(seconds, tolerance);
    if (frame.ok()) *index = *frame;
    return reader->source.Named(frame.status());
  });
}

int nvc_reader_read(nvc_reader* reader, const int64_t* indices, int64_t count, nvc_frame** frames) {
  return nvc::Guarded([&] {
    const std::vector<int64_t> wanted(indices, indices + count);
    return reader->source.Named(nvc::Read(reader, wanted, frames));
  });
}
