#include "tests/nv/testing/host_kernel.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/rows/pack_rows.h"
#include "tf_nvcodec/nv/kernels/frame_kernel.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace frame_kernel {

unsigned int HalfBits(float value) { return ToHalf(value); }

unsigned int FloatBits(float value) {
  unsigned int bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

}  // namespace frame_kernel

namespace {

class HostKernelConverter : public FrameConverter {
 public:
  HostKernelConverter(const SourceSpec& source, FrameKernelPlan plan, int padding)
      : FrameConverter(source, plan.shape), plan_(std::move(plan)), padding_(padding) {}

  absl::Status Convert(const AVFrame& frame, void* out) override {
    HostPicture picture(frame, padding_);
    PlaneAddresses addresses;
    addresses.pitch = picture.pitch;
    for (int i = 0; i < 3; ++i) {
      addresses.planes[i] = reinterpret_cast<uint64_t>(picture.planes[i].data());
    }
    for (const FrameKernelJob& job : plan_.jobs) {
      const FrameKernelParams params =
          job.At(addresses, reinterpret_cast<uint64_t>(plan_.tables.data()),
                 reinterpret_cast<uint64_t>(out));
      // Runs threads outside the picture too, because a GPU runs whole blocks of threads.
      RunOnHost(job.config, params, job.ThreadsAcross() + 33, params.height + 3);
    }
    return absl::OkStatus();
  }

 private:
  FrameKernelPlan plan_;
  int padding_;
};

}  // namespace

HostPicture::HostPicture(const AVFrame& frame, int padding) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  const AVPixFmtDescriptor* from = av_pix_fmt_desc_get(format);
  layout = GpuLayoutOf(format);
  const AVPixFmtDescriptor* to = av_pix_fmt_desc_get(layout);
  const int depth = from->comp[0].depth, bytes = depth > 8 ? 2 : 1;
  const bool pairs = layout == AV_PIX_FMT_NV12 || layout == AV_PIX_FMT_P016LE;
  pitch = static_cast<size_t>(frame.width + 1) * bytes + padding;
  pitch = (pitch + 3) / 4 * 4;
  for (int component = 0; component < from->nb_components; ++component) {
    const bool chroma = component > 0;
    const int width = chroma ? -((-frame.width) >> to->log2_chroma_w) : frame.width;
    const int height = chroma ? -((-frame.height) >> to->log2_chroma_h) : frame.height;
    const int step = chroma && pairs ? 2 : 1;
    std::vector<uint8_t>& plane = planes[chroma && pairs ? 1 : component];
    plane.resize((height - 1) * pitch + static_cast<size_t>(width) * step * bytes, 0xa5);
    for (int y = 0; y < height; ++y) {
      const uint8_t* const row =
          frame.data[component] + static_cast<ptrdiff_t>(y) * frame.linesize[component];
      uint8_t* const out = plane.data() + y * pitch;
      for (int x = 0; x < width; ++x) {
        const int at = x * step + (step == 2 ? component - 1 : 0);
        if (bytes == 1) {
          out[at] = row[x];
          continue;
        }
        uint16_t code;
        std::memcpy(&code, row + 2 * x, 2);
        code = static_cast<uint16_t>(code << (16 - depth) | ((1 << (16 - depth)) - 1));
        std::memcpy(out + 2 * at, &code, 2);
      }
    }
  }
}

void RunOnHost(const FrameKernelConfig& config, const FrameKernelParams& params, int threads_x,
               int threads_y) {
  for (int y = 0; y < threads_y; ++y) {
    for (int x = 0; x < threads_x; ++x) frame_kernel::ConvertPixels(config, params, x, y);
  }
}

absl::StatusOr<std::unique_ptr<FrameConverter>> NewHostKernelConverter(const OutputSpec& output,
                                                                       const SourceSpec& source,
                                                                       int padding) {
  NVC_ASSIGN_OR_RETURN(FrameKernelPlan plan, MakeFrameKernelPlan(output, source));
  return std::make_unique<HostKernelConverter>(source, std::move(plan), padding);
}

}  // namespace nvc
