#include "tf_nvcodec/nv/kernels/frame_kernel_plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/convert/component_axis.h"
#include "tf_nvcodec/core/convert/conversion_maps.h"
#include "tf_nvcodec/core/convert/image_converters.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

// Returns the number of taps that a kernel is compiled for: 2 for bilinear, 4 for bicubic, and 0
// (any number) for area.
int TapsClass(int taps) { return taps <= 2 ? taps : taps <= 4 ? 4 : 0; }

// Returns how many threads share a window. A window of few columns is not worth sharing.
int LanesFor(int columns) { return columns >= 24 ? 32 : columns >= 6 ? 8 : 1; }

// Two axes for one kind of sample, padded so that one kernel serves both.
struct AxisPair {
  Axis x, y;
  int width, height;  // of the source's plane
  int taps;           // as in FrameKernelConfig

  void Settle() {
    taps = TapsClass(std::max(x.taps, y.taps));
    if (taps > 1 && (!Pad(taps, width, &x) || !Pad(taps, height, &y))) taps = 0;
    if (taps == 0) {
      // This kernel needs tables with weights, even if each weight is 1.
      Pad(x.taps, width, &x);
      Pad(y.taps, height, &y);
    }
  }

  static bool Pad(int taps, int size, Axis* axis) {
    return (axis->taps == taps && !axis->weights.empty()) || PadTaps(taps, size, axis);
  }
};

AxisPair MakeAxes(const OutputSpec& output, const SourceSpec& source, const Geometry& geometry,
                  int component, int output_log2) {
  const PlaneReader reader(source.format, source.width, source.height, component);
  AxisPair axes;
  axes.x = HorizontalAxis(output, source, geometry, reader, output_log2);
  axes.y = VerticalAxis(output, source, geometry, reader, output_log2);
  axes.width = reader.width();
  axes.height = reader.height();
  axes.Settle();
  return axes;
}

// Returns whether sample i of the axis is (first + i) >> shift. Sets `first` to the first value for
// which this holds.
bool IsShifted(const Axis& axis, int shift, int* first) {
  if (axis.taps != 1) return false;
  for (int offset = 0; offset < 1 << shift; ++offset) {
    *first = (axis.start[0] << shift) + offset;
    bool same = true;
    for (int i = 0; same && i < axis.count(); ++i) same = axis.start[i] == (*first + i) >> shift;
    if (same) return true;
  }
  return false;
}

int FindShift(const Axis& axis, int* first) {
  for (int shift : {0, 1}) {
    if (IsShifted(axis, shift, first)) return shift;
  }
  return -1;
}

class Planner {
 public:
  Planner(const OutputSpec& output, const SourceSpec& source, const Geometry& geometry)
      : output_(output), source_(source), geometry_(geometry) {
    const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(source.format);
    depth_ = descriptor->comp[0].depth;
    chroma_planes_ = descriptor->log2_chroma_w == 0 ? 2 : 1;
  }

  // Makes a job that reads these components. Its output planes have 2^log2 fewer samples than the
  // output.
  FrameKernelJob NewJob(bool luma, bool chroma, int log2, FrameElement element, int channels,
                        bool planar) {
    FrameKernelJob job;
    FrameKernelConfig& config = job.config;
    config.sample_bytes = depth_ > 8 ? 2 : 1;
    config.luma = luma;
    config.chroma = chroma ? chroma_planes_ : 0;
    config.luma_taps = config.chroma_taps = 1;
    config.channels = channels;
    config.planar = planar && channels > 1;
    config.element = element;
    config.pixels = config.lanes = 1;
    FrameKernelParams& params = job.params;
    params.code_shift = 16 - depth_;
    Turn(log2, &params);
    AxisPair axes[2];
    if (luma) axes[0] = MakeAxes(output_, source_, geometry_, 0, log2);
    if (chroma) axes[1] = MakeAxes(output_, source_, geometry_, 1, log2);
    if (geometry_.orientation == Orientation{} && MakeDirect(axes, &job)) return job;
    for (int k = 0; k < 2; ++k) {
      if (k == 0 ? !luma : !chroma) continue;
      (k == 0 ? config.luma_taps : config.chroma_taps) = axes[k].taps;
      job.x[k] = AddTable(axes[k].x, &params.x[k]);
      job.y[k] = AddTable(axes[k].y, &params.y[k]);
      if (axes[k].taps == 0) config.lanes = std::max(config.lanes, LanesFor(axes[k].x.taps));
    }
    return job;
  }

  std::vector<uint8_t> TakeTables() { return std::move(tables_); }

 private:
  // Sets the size of the output plane and the mapping from it to stored samples.
  void Turn(int log2, FrameKernelParams* params) const {
    const auto samples = [log2](int pixels) { return (pixels + (1 << log2) - 1) >> log2; };
    const int stored_width = samples(geometry_.stored_width);
    const int stored_height = samples(geometry_.stored_height);
    params->width = samples(geometry_.width);
    params->height = samples(geometry_.height);
    const auto [turned, flip_x, flip_y] = geometry_.orientation;
    (turned ? params->column_by_y : params->column_by_x) = flip_x ? -1 : 1;
    (turned ? params->row_by_x : params->row_by_y) = flip_y ? -1 : 1;
    if (flip_x) params->column_origin = stored_width - 1;
    if (flip_y) params->row_origin = stored_height - 1;
  }

  // Returns true, and sets up the job, if samples are only picked in order. Such a job needs no
  // tables and makes several pixels per thread.
  static bool MakeDirect(const AxisPair axes[2], FrameKernelJob* job) {
    FrameKernelConfig& config = job->config;
    FrameKernelParams& params = job->params;
    if (config.luma != 0 && (!IsShifted(axes[0].x, 0, &params.first_x[0]) ||
                             !IsShifted(axes[0].y, 0, &params.first_y[0]))) {
      return false;
    }
    if (config.chroma != 0) {
      config.shift_x = FindShift(axes[1].x, &params.first_x[1]);
      params.shift_y = FindShift(axes[1].y, &params.first_y[1]);
      if (config.shift_x < 0 || params.shift_y < 0) {
        config.shift_x = params.shift_y = 0;
        return false;
      }
    }
    config.pixels = config.element == kElementFloat32 ? 4 : 8;
    return true;
  }

  FrameKernelJob::Table AddTable(const Axis& axis, FrameKernelAxis* params) {
    params->taps = axis.taps;
    FrameKernelJob::Table table;
    table.start = Append(axis.start.data(), axis.start.size());
    table.weights = Append(axis.weights.data(), axis.weights.size());
    return table;
  }

  // Appends elements of four bytes to the tables. Returns where they begin.
  template <typename T>
  size_t Append(const T* from, size_t count) {
    static_assert(sizeof(T) == 4, "every table stays aligned");
    const size_t at = tables_.size();
    tables_.resize(at + count * sizeof(T));
    if (count != 0) memcpy(tables_.data() + at, from, count * sizeof(T));
    return at;
  }

  const OutputSpec& output_;
  const SourceSpec& source_;
  const Geometry& geometry_;
  int depth_, chroma_planes_;
  std::vector<uint8_t> tables_;
};

FrameKernelMap KernelMap(const LinearMap& map, int first_component) {
  FrameKernelMap kernel_map = {};
  for (int k = 0; first_component + k < 3; ++k) {
    kernel_map.factor[first_component + k] = map.factor[k];
  }
  kernel_map.offset = map.offset;
  kernel_map.low = map.low;
  kernel_map.high = map.high;
  return kernel_map;
}

FrameKernelPlan PlanImage(const ConversionPlan& plan) {
  FrameKernelPlan made;
  made.shape = MakeImageShape(plan);
  const ImageMaps maps = MakeImageMaps(plan);
  const bool planar = plan.output.layout == Layout::kTchw;
  Planner planner(plan.output, plan.source, plan.geometry);
  FrameKernelJob job = planner.NewJob(true, maps.components == 3, 0,
                                      static_cast<FrameElement>(plan.output.sample_type),
                                      made.shape.channels, planar);
  for (int c = 0; c < made.shape.channels; ++c) {
    job.params.maps[c] = KernelMap(maps.channels[c], 0);
    if (planar) job.out[c] = c * (made.shape.bytes / made.shape.channels);
  }
  made.jobs.push_back(job);
  made.tables = planner.TakeTables();
  return made;
}

// Plans the planes of a packed format one after the other: luma, then chroma in one launch.
FrameKernelPlan PlanPlanes(const ConversionPlan& plan, const YuvLayout& layout) {
  FrameKernelPlan made;
  made.shape.height = plan.geometry.height;
  made.shape.width = plan.geometry.width;
  const FrameElement element = layout.depth > 8 ? kElementUint16 : kElementUint8;
  const size_t element_bytes = layout.depth > 8 ? 2 : 1;
  Planner planner(plan.output, plan.source, plan.geometry);
  const auto bytes = [element_bytes](const FrameKernelParams& params) {
    return static_cast<size_t>(params.width) * params.height * element_bytes;
  };

  FrameKernelJob luma = planner.NewJob(true, false, 0, element, 1, false);
  luma.params.maps[0] = KernelMap(MakePlaneMap(plan, 0, layout.depth), 0);
  luma.params.out_shift = layout.shift;
  made.jobs.push_back(luma);
  made.shape.bytes = bytes(luma.params);

  const bool native_gray =
      plan.output.pixel_format == PixelFormat::kNative && plan.model == ColorModel::kGray;
  if (!native_gray) {
    FrameKernelJob chroma = planner.NewJob(false, plan.model == ColorModel::kYuv,
                                           layout.log2_chroma_w, element, 2, !layout.interleaved);
    for (int c = 0; c < 2; ++c) {
      chroma.params.maps[c] = KernelMap(MakePlaneMap(plan, 1 + c, layout.depth), 1 + c);
      chroma.out[c] = made.shape.bytes + (layout.interleaved ? 0 : c * bytes(chroma.params));
    }
    chroma.params.out_shift = layout.shift;
    made.jobs.push_back(chroma);
    made.shape.bytes += 2 * bytes(chroma.params);
  }
  made.tables = planner.TakeTables();
  return made;
}

// Plans the stored planes as they are: planes of the stream's own format, not turned or mirrored.
absl::StatusOr<FrameKernelPlan> PlanNative(const OutputSpec& output, const SourceSpec& source) {
  NVC_ASSIGN_OR_RETURN(const FrameShape shape, MakeNativeShape(source));
  OutputSpec stored = output;
  stored.apply_rotation = false;
  // Any colour space will do, because samples keep their values.
  stored.color_space = ColorSpace::kBt601;
  NVC_ASSIGN_OR_RETURN(const ConversionPlan plan, MakeConversionPlan(stored, source));
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(source.format);
  FrameKernelPlan made =
      PlanPlanes(plan, {descriptor->log2_chroma_w, descriptor->log2_chroma_h, /*interleaved=*/false,
                        descriptor->comp[0].depth, /*shift=*/0});
  if (made.shape.bytes != shape.bytes) {
    return absl::InternalError(absl::StrCat("a native ", descriptor->name, " frame has ",
                                            shape.bytes, " bytes, planned ", made.shape.bytes));
  }
  made.shape = shape;
  return made;
}

}  // namespace

int FrameKernelJob::ThreadsAcross() const {
  return (params.width + config.pixels - 1) / config.pixels * config.lanes;
}

FrameKernelParams FrameKernelJob::At(const PlaneAddresses& picture, uint64_t tables,
                                     uint64_t frame) const {
  FrameKernelParams filled = params;
  for (int i = 0; i < 3; ++i) {
    filled.planes[i] = reinterpret_cast<const unsigned char*>(picture.planes[i]);
    filled.out[i] = reinterpret_cast<unsigned char*>(frame + out[i]);
  }
  filled.pitch = static_cast<long long>(picture.pitch);
  for (int k = 0; k < 2; ++k) {
    const auto fill = [tables](const Table& table, FrameKernelAxis* axis) {
      axis->start = reinterpret_cast<const int*>(tables + table.start);
      axis->weights = reinterpret_cast<const float*>(tables + table.weights);
    };
    fill(x[k], &filled.x[k]);
    fill(y[k], &filled.y[k]);
  }
  return filled;
}

AVPixelFormat GpuLayoutOf(AVPixelFormat stream_format) {
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(stream_format);
  constexpr uint64_t kOthers = AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_PAL |
                               AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL |
                               AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_FLOAT |
                               AV_PIX_FMT_FLAG_BAYER;
  if (descriptor == nullptr || (descriptor->flags & kOthers) != 0) return AV_PIX_FMT_NONE;
  const int depth = descriptor->comp[0].depth, components = descriptor->nb_components;
  const bool gray = components == 1;
  // A planar format with the code in the low bits.
  const bool planar = gray || (components == 3 && descriptor->comp[2].plane == 2);
  if (!planar || depth < 8 || depth > 16 || descriptor->comp[0].shift != 0) return AV_PIX_FMT_NONE;
  const int log2 = descriptor->log2_chroma_w;
  if (log2 != descriptor->log2_chroma_h || log2 > 1) return AV_PIX_FMT_NONE;
  if (!gray && log2 == 0) return depth > 8 ? AV_PIX_FMT_YUV444P16LE : AV_PIX_FMT_YUV444P;
  return depth > 8 ? AV_PIX_FMT_P016LE : AV_PIX_FMT_NV12;
}

absl::StatusOr<FrameKernelPlan> MakeFrameKernelPlan(const OutputSpec& output,
                                                    const SourceSpec& source) {
  NVC_RETURN_IF_ERROR(CheckRequest(output, source));
  if (GpuLayoutOf(source.format) == AV_PIX_FMT_NONE) {
    const char* name = av_get_pix_fmt_name(source.format);
    return absl::UnimplementedError(absl::StrCat("pictures stored as ",
                                                 name != nullptr ? name : "an unknown format",
                                                 " can't be converted on the GPU"));
  }
  if (output.pixel_format == PixelFormat::kNative) return PlanNative(output, source);
  NVC_ASSIGN_OR_RETURN(const ConversionPlan plan, MakeConversionPlan(output, source));
  if (Channels(output.pixel_format) != 0) return PlanImage(plan);
  return PlanPlanes(plan, YuvLayoutOf(output.pixel_format));
}

std::vector<std::string> KernelMacros(const FrameKernelConfig& config) {
  return {absl::StrCat("NVC_SAMPLE_BYTES=", config.sample_bytes),
          absl::StrCat("NVC_LUMA=", config.luma),
          absl::StrCat("NVC_CHROMA=", config.chroma),
          absl::StrCat("NVC_LUMA_TAPS=", config.luma_taps),
          absl::StrCat("NVC_CHROMA_TAPS=", config.chroma_taps),
          absl::StrCat("NVC_SHIFT_X=", config.shift_x),
          absl::StrCat("NVC_CHANNELS=", config.channels),
          absl::StrCat("NVC_PLANAR=", config.planar),
          absl::StrCat("NVC_ELEMENT=", config.element),
          absl::StrCat("NVC_PIXELS=", config.pixels),
          absl::StrCat("NVC_LANES=", config.lanes)};
}

}  // namespace nvc
