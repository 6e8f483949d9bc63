// nv12, yuv420p, yuv444p and p010: planes packed one after the other, in the source's own matrix
// and range.
#include <utility>
#include <vector>

#include "tf_nvcodec/core/component_axis.h"
#include "tf_nvcodec/core/converters.h"
#include "tf_nvcodec/core/row_sink.h"
#include "tf_nvcodec/core/status.h"

namespace nvc {
namespace {

struct YuvLayout {
  int chroma_log2;
  bool interleaved;  // Cb and Cr share a plane
  int depth;
  int shift;  // of a code value in its element
};

YuvLayout LayoutOf(PixelFormat format) {
  switch (format) {
    case PixelFormat::kNv12:
      return {1, true, 8, 0};
    case PixelFormat::kP010:
      return {1, true, 10, 6};
    case PixelFormat::kYuv444p:
      return {0, false, 8, 0};
    default:
      return {1, false, 8, 0};
  }
}

// One output component from those of the source.
struct OutputComponent {
  std::vector<PlaneResampler> inputs;  // none: constant
  LinearMap map;
  std::vector<float> row;
};

struct OutputPlane {
  std::vector<OutputComponent> components;
  RowSink sink;
  int width, height;
  size_t bytes;
};

class YuvConverter : public FrameConverter {
 public:
  YuvConverter(const ConversionPlan& plan, const YuvLayout& layout, const FrameShape& shape,
               std::vector<OutputPlane> planes)
      : FrameConverter(plan.source, shape),
        type_(layout.depth > 8 ? SampleType::kUint16 : SampleType::kUint8),
        shift_(layout.shift),
        planes_(std::move(planes)) {}

  absl::Status Convert(const AVFrame& frame, void* out) override {
    NVC_RETURN_IF_ERROR(CheckFrame(frame, source()));
    uint8_t* to = static_cast<uint8_t*>(out);
    for (OutputPlane& plane : planes_) {
      plane.sink.Begin(to);
      to += plane.bytes;
      for (OutputComponent& component : plane.components) {
        for (PlaneResampler& input : component.inputs) input.Begin(frame);
      }
      for (int y = 0; y < plane.height; ++y) {
        const float* rows[3] = {nullptr, nullptr, nullptr};
        for (size_t c = 0; c < plane.components.size(); ++c) {
          rows[c] = MappedRow(&plane.components[c], y);
        }
        kernels_.pack(rows, static_cast<int>(plane.components.size()), plane.width, type_, shift_,
                      plane.sink.Row(y));
        plane.sink.Commit(y);
      }
    }
    return absl::OkStatus();
  }

 private:
  const float* MappedRow(OutputComponent* component, int y) {
    const int inputs = static_cast<int>(component->inputs.size());
    if (inputs > 0) {
      const float* rows[3] = {nullptr, nullptr, nullptr};
      for (int k = 0; k < inputs; ++k) rows[k] = component->inputs[k].Row(y);
      kernels_.map(component->map, rows, inputs, static_cast<int>(component->row.size()),
                   component->row.data());
    }
    return component->row.data();
  }

  const PackKernels& kernels_ = GetPackKernels(BestSimd());
  SampleType type_;
  int shift_;
  std::vector<OutputPlane> planes_;
};

LinearMap MapFor(const ConversionPlan& plan, int component, int output_depth) {
  LinearMap map;
  map.low = 0;
  map.high = static_cast<float>((1 << output_depth) - 1);
  if (plan.model == ColorModel::kRgb) {
    const SourceToRgb to_rgb = MakeSourceToRgb(plan);
    const RgbToYuv to_yuv = MakeRgbToYuv(plan.weights, ColorRange::kLimited, output_depth);
    double offset = to_yuv.offset[component];
    for (int k = 0; k < 3; ++k) {
      map.factor[k] = static_cast<float>(to_yuv.matrix[component][k] * to_rgb.matrix[k][k]);
      offset += to_yuv.matrix[component][k] * to_rgb.offset[k];
    }
    map.offset = static_cast<float>(offset);
    return map;
  }
  if (component > 0 && plan.model == ColorModel::kGray) {
    map.offset = static_cast<float>(1 << (output_depth - 1));
    return map;
  }
  const SourceSpec& source = plan.source;
  const int depth = PlaneReader(source.format, source.width, source.height, component).depth();
  const YuvToRgb from = MakeYuvToRgb(plan.weights, plan.range, depth);
  const YuvToRgb to = MakeYuvToRgb(plan.weights, plan.range, output_depth);
  const double factor = from.matrix[0][0] / to.matrix[0][0];
  map.factor[0] = static_cast<float>(factor);
  map.offset = static_cast<float>(component == 0 ? to.luma_offset - from.luma_offset * factor
                                                 : to.chroma_offset - from.chroma_offset * factor);
  return map;
}

OutputComponent MakeComponent(const ConversionPlan& plan, const YuvLayout& layout, int component,
                              int width) {
  const int log2 = component == 0 ? 0 : layout.chroma_log2;
  OutputComponent made;
  made.map = MapFor(plan, component, layout.depth);
  made.row.assign(width, made.map.offset);
  int first = component, last = component;
  if (plan.model == ColorModel::kRgb) first = 0, last = 2;
  if (plan.model == ColorModel::kGray && component > 0) return made;
  for (int k = first; k <= last; ++k) {
    made.inputs.push_back(MakeResampler(plan.output, plan.source, plan.geometry, k, log2));
  }
  return made;
}

}  // namespace

std::unique_ptr<FrameConverter> MakeYuvConverter(const ConversionPlan& plan) {
  const YuvLayout layout = LayoutOf(plan.output.pixel_format);
  const Geometry& geometry = plan.geometry;
  FrameShape shape;
  shape.height = geometry.height;
  shape.width = geometry.width;
  std::vector<OutputPlane> planes;
  const size_t element = layout.depth > 8 ? 2 : 1;
  for (int component = 0; component < 3;) {
    const int log2 = component == 0 ? 0 : layout.chroma_log2;
    const int count = component > 0 && layout.interleaved ? 2 : 1;
    const int width = (geometry.stored_width + (1 << log2) - 1) >> log2;
    const int height = (geometry.stored_height + (1 << log2) - 1) >> log2;
    OutputPlane plane = {{},
                         RowSink(geometry.rotation, width, height, element * count),
                         width,
                         height,
                         element * count * width * height};
    for (int c = 0; c < count; ++c) {
      plane.components.push_back(MakeComponent(plan, layout, component++, width));
    }
    shape.bytes += plane.bytes;
    planes.push_back(std::move(plane));
  }
  return std::make_unique<YuvConverter>(plan, layout, shape, std::move(planes));
}

}  // namespace nvc
