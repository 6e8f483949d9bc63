#include "tf_nvcodec/core/convert/yuv_planes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tf_nvcodec/core/convert/component_axis.h"
#include "tf_nvcodec/core/convert/conversion_maps.h"
#include "tf_nvcodec/core/rows/pack_rows.h"

extern "C" {
#include <libavutil/common.h>
}

namespace nvc {
namespace {

size_t ElementBytes(const YuvLayout& layout) { return layout.depth > 8 ? 2 : 1; }

// Computes one output component from components of the source, in code values.
struct MappedComponent {
  std::vector<PlaneResampler> inputs;  // empty for a constant
  LinearMap map;
  std::vector<float> row;
};

class MappedPlane : public OutputPlane {
 public:
  MappedPlane(Orientation orientation, int width, int height, const YuvLayout& layout,
              std::vector<MappedComponent> components)
      : OutputPlane(orientation, width, height, ElementBytes(layout) * components.size()),
        type_(layout.depth > 8 ? SampleType::kUint16 : SampleType::kUint8),
        shift_(layout.shift),
        components_(std::move(components)) {}

 private:
  void Begin(const AVFrame& frame) override {
    for (MappedComponent& component : components_) {
      for (PlaneResampler& input : component.inputs) input.Begin(frame);
    }
  }

  void ConvertRow(int y, uint8_t* to) override {
    const float* rows[3] = {nullptr, nullptr, nullptr};
    for (size_t c = 0; c < components_.size(); ++c) {
      MappedComponent& component = components_[c];
      const int inputs = static_cast<int>(component.inputs.size());
      const float* from[3] = {nullptr, nullptr, nullptr};
      for (int k = 0; k < inputs; ++k) from[k] = component.inputs[k].Row(y);
      if (inputs > 0) kernels_.map(component.map, from, inputs, width(), component.row.data());
      rows[c] = component.row.data();
    }
    kernels_.pack(rows, static_cast<int>(components_.size()), width(), type_, shift_,
                  /*stream=*/false, to);
  }

  const PackKernels& kernels_ = GetPackKernels(BestSimd());
  SampleType type_;
  int shift_;
  std::vector<MappedComponent> components_;
};

// A plane whose samples are copied, or shifted to another bit depth.
class CopiedPlane : public OutputPlane {
 public:
  CopiedPlane(Orientation orientation, int top, int left, int width, int height,
              const YuvLayout& layout, std::vector<PlaneReader> readers)
      : OutputPlane(orientation, width, height, ElementBytes(layout) * readers.size()),
        top_(top),
        left_(left),
        layout_(layout),
        readers_(std::move(readers)) {
    if (readers_.size() > 1) {
      for (auto& row : rows_) row.resize(width);
    }
  }

 private:
  bool wide() const { return layout_.depth > 8; }

  void Begin(const AVFrame& frame) override { frame_ = &frame; }

  void ConvertRow(int y, uint8_t* to) override {
    if (readers_.size() == 1) return CopyRow(&readers_[0], y, to);
    const uint8_t* bytes[3] = {nullptr, nullptr, nullptr};
    const uint16_t* words[3] = {nullptr, nullptr, nullptr};
    for (size_t c = 0; c < readers_.size(); ++c) {
      words[c] = rows_[c].data();
      bytes[c] = reinterpret_cast<const uint8_t*>(words[c]);
      CopyRow(&readers_[c], y, reinterpret_cast<uint8_t*>(rows_[c].data()));
    }
    if (wide()) {
      kernels_.interleave_words(words, 2, width(), reinterpret_cast<uint16_t*>(to));
    } else {
      kernels_.interleave_bytes(bytes, 2, width(), to);
    }
  }

  void CopyRow(PlaneReader* reader, int y, uint8_t* to) {
    const void* from = reader->Row(*frame_, top_ + y, left_, width());
    const int deeper = reader->depth() - layout_.depth;
    const int right = std::max(0, deeper), left = std::max(0, -deeper) + layout_.shift;
    const int highest = (1 << (layout_.depth - std::max(0, -deeper))) - 1;
    if (wide() && reader->wide()) {
      kernels_.scale_words(static_cast<const uint16_t*>(from), right, highest, left, width(),
                           reinterpret_cast<uint16_t*>(to));
    } else if (wide()) {
      kernels_.widen_bytes(static_cast<const uint8_t*>(from), left, width(),
                           reinterpret_cast<uint16_t*>(to));
    } else if (reader->wide()) {
      kernels_.narrow_words(static_cast<const uint16_t*>(from), right, width(), to);
    } else {
      memcpy(to, from, width());
    }
  }

  const PackKernels& kernels_ = GetPackKernels(BestSimd());
  int top_, left_;
  YuvLayout layout_;
  std::vector<PlaneReader> readers_;
  const AVFrame* frame_ = nullptr;
  std::vector<uint16_t> rows_[2];
};

MappedComponent MakeMapped(const ConversionPlan& plan, const YuvLayout& layout, int component,
                           int width) {
  const int log2_width = component == 0 ? 0 : layout.log2_chroma_w;
  const int log2_height = component == 0 ? 0 : layout.log2_chroma_h;
  MappedComponent made;
  made.map = MakePlaneMap(plan, component, layout.depth);
  made.row.assign(width, made.map.offset);
  if (plan.model == ColorModel::kGray && component > 0) return made;
  const bool rgb = plan.model == ColorModel::kRgb;
  for (int k = rgb ? 0 : component; k <= (rgb ? 2 : component); ++k) {
    made.inputs.push_back(
        MakeResampler(plan.output, plan.source, plan.geometry, k, log2_width, log2_height));
  }
  return made;
}

// True when a component's code values need no more than a shift: the output has the source's own
// sample grid, and limited range or the same depth. Sets `top` and `left` to where the output
// begins in the source's plane.
bool IsCopy(const ConversionPlan& plan, const YuvLayout& layout, const PlaneReader& reader,
            int log2_width, int log2_height, int* top, int* left) {
  if (plan.geometry.resized || plan.model == ColorModel::kRgb || reader.depth() < 8 ||
      reader.log2_width() != log2_width || reader.log2_height() != log2_height ||
      (plan.range == ColorRange::kFull && reader.depth() != layout.depth)) {
    return false;
  }
  const Axis x = HorizontalAxis(plan.output, plan.source, plan.geometry, reader, log2_width);
  const Axis y = VerticalAxis(plan.output, plan.source, plan.geometry, reader, log2_height);
  *left = x.begin;
  *top = y.begin;
  return x.identity && y.identity;
}

std::unique_ptr<OutputPlane> MakePlane(const ConversionPlan& plan, const YuvLayout& layout,
                                       int first, int count) {
  const int log2_width = first == 0 ? 0 : layout.log2_chroma_w;
  const int log2_height = first == 0 ? 0 : layout.log2_chroma_h;
  const int width = AV_CEIL_RSHIFT(plan.geometry.stored_width, log2_width);
  const int height = AV_CEIL_RSHIFT(plan.geometry.stored_height, log2_height);
  const Orientation orientation = plan.geometry.orientation;
  const SourceSpec& source = plan.source;
  std::vector<PlaneReader> readers;
  int top = 0, left = 0;
  bool copy = first == 0 || plan.model == ColorModel::kYuv;
  for (int c = first; copy && c < first + count; ++c) {
    readers.emplace_back(source.format, source.width, source.height, c);
    copy = IsCopy(plan, layout, readers.back(), log2_width, log2_height, &top, &left);
  }
  if (copy) {
    return std::make_unique<CopiedPlane>(orientation, top, left, width, height, layout,
                                         std::move(readers));
  }
  std::vector<MappedComponent> components;
  for (int c = first; c < first + count; ++c) {
    components.push_back(MakeMapped(plan, layout, c, width));
  }
  return std::make_unique<MappedPlane>(orientation, width, height, layout, std::move(components));
}

}  // namespace

void OutputPlane::Convert(const AVFrame& frame, uint8_t* out, ptrdiff_t stride) {
  Begin(frame);
  sink_.Begin(out, stride);
  for (int y = 0; y < height_; ++y) {
    ConvertRow(y, sink_.Row(y));
    sink_.Commit(y);
  }
}

std::vector<std::unique_ptr<OutputPlane>> MakeOutputPlanes(const ConversionPlan& plan,
                                                           const YuvLayout& layout,
                                                           bool luma_alone) {
  std::vector<std::unique_ptr<OutputPlane>> planes;
  planes.push_back(MakePlane(plan, layout, 0, 1));
  const int together = layout.interleaved ? 2 : 1;
  for (int c = 1; c < 3 && !luma_alone; c += together)
    planes.push_back(MakePlane(plan, layout, c, together));
  return planes;
}

}  // namespace nvc
