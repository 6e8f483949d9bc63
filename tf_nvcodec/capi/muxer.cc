#include "tf_nvcodec/capi/muxer.h"

#include <memory>
#include <mutex>

#include "tf_nvcodec/capi/error.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/mux/file_muxer.h"

struct NvcMuxer {
  std::mutex mutex;  // ctypes lets other Python threads run during a call
  std::unique_ptr<nvc::FileMuxer> muxer;
};

namespace {

absl::StatusOr<nvc::FileMuxerSpec> ReadConfig(const NvcMuxerConfig& config) {
  nvc::FileMuxerSpec spec;
  NVC_ASSIGN_OR_RETURN(spec.container, nvc::ParseEncodeContainer(config.container));
  NVC_ASSIGN_OR_RETURN(spec.codec, nvc::ParseEncodeCodec(config.codec));
  spec.path = config.path;
  spec.width = config.width;
  spec.height = config.height;
  spec.time_base = {config.time_num, config.time_den};
  if (config.fps_num > 0) spec.frame_rate = {config.fps_num, config.fps_den};
  if (config.parameter_sets_size > 0) {
    spec.parameter_sets.assign(static_cast<const char*>(config.parameter_sets),
                               config.parameter_sets_size);
  }
  return spec;
}

}  // namespace

int nvc_muxer_new(const NvcMuxerConfig* config, NvcMuxer** out) {
  return nvc::Guarded([&]() -> absl::Status {
    NVC_ASSIGN_OR_RETURN(const nvc::FileMuxerSpec spec, ReadConfig(*config));
    auto muxer = std::make_unique<NvcMuxer>();
    NVC_ASSIGN_OR_RETURN(muxer->muxer, nvc::FileMuxer::Create(spec));
    *out = muxer.release();
    return absl::OkStatus();
  });
}

void nvc_muxer_free(NvcMuxer* muxer) { delete muxer; }

int nvc_muxer_set_tags(NvcMuxer* muxer, const nvc_demuxer* demuxer, int keep_colors) {
  return nvc::Guarded([&]() -> absl::Status {
    const std::lock_guard<std::mutex> lock(muxer->mutex);
    nvc::VideoTags tags = nvc::TagsOf(demuxer->demuxer->stream());
    if (keep_colors == 0) tags = tags.WithoutColors();
    muxer->muxer->SetTags(tags);
    return absl::OkStatus();
  });
}

int nvc_muxer_add_sound(NvcMuxer* muxer, const nvc_demuxer* demuxer, int32_t track) {
  return nvc::Guarded([&]() -> absl::Status {
    const std::lock_guard<std::mutex> lock(muxer->mutex);
    return muxer->muxer->AddSound(demuxer->sound[track]);
  });
}

int nvc_muxer_write_sound(NvcMuxer* muxer, const nvc_packet* packet, int64_t start) {
  return nvc::Guarded([&]() -> absl::Status {
    const std::lock_guard<std::mutex> lock(muxer->mutex);
    return muxer->muxer->WriteSound(*packet->packet, start);
  });
}

int nvc_muxer_write(NvcMuxer* muxer, const void* data, uint64_t size, int64_t pts, int64_t dts,
                    int64_t duration, int key) {
  return nvc::Guarded([&]() -> absl::Status {
    const std::lock_guard<std::mutex> lock(muxer->mutex);
    return muxer->muxer->Write(data, size, pts, dts, duration, key != 0);
  });
}

int nvc_muxer_finish(NvcMuxer* muxer) {
  return nvc::Guarded([&]() -> absl::Status {
    const std::lock_guard<std::mutex> lock(muxer->mutex);
    return muxer->muxer->Finish();
  });
}
