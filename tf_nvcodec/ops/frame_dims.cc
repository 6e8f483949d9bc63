#include "tf_nvcodec/ops/frame_dims.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor.h"

namespace nvc {
namespace {

using ::tensorflow::shape_inference::DimensionHandle;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

// Checks that int32 input `input` is a vector of `count` values. If it is a constant, copies it to
// `values` and sets `known`.
absl::Status ReadVector(InferenceContext* c, int input, const char* name, int count, int* values,
                        bool* known) {
  ShapeHandle shape;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(input), 1, &shape));
  DimensionHandle unused;
  TF_RETURN_IF_ERROR(c->WithValue(c->Dim(shape, 0), count, &unused));
  const ::tensorflow::Tensor* tensor = c->input_tensor(input);
  *known = tensor != nullptr;
  for (int i = 0; *known && i < count; ++i) {
    values[i] = tensor->vec<int32_t>()(i);
    // A size of [-n, -n] is the shorter side.
    const bool is_short_side = count == 2 && tensor->vec<int32_t>()(0) == tensor->vec<int32_t>()(1);
    if (values[i] < 0 && !is_short_side) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must not be negative, got ", values[i], " at place ", i));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FrameDims(InferenceContext* c, int size_input, int crop_input,
                       std::vector<DimensionHandle>* dims) {
  int size[2], crop[4];
  bool size_known = false, crop_known = false;
  TF_RETURN_IF_ERROR(ReadVector(c, size_input, "size", 2, size, &size_known));
  TF_RETURN_IF_ERROR(ReadVector(c, crop_input, "crop", 4, crop, &crop_known));
  DimensionHandle height = c->UnknownDim(), width = c->UnknownDim();
  if (size_known && (size[0] > 0) != (size[1] > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "size must be (height, width), both positive, got (", size[0], ", ", size[1], ")"));
  }
  if (size_known && size[0] > 0) {
    height = c->MakeDim(size[0]);
    width = c->MakeDim(size[1]);
  } else if (size_known && size[0] == 0 && crop_known && crop[2] > 0 && crop[3] > 0) {
    height = c->MakeDim(crop[2]);
    width = c->MakeDim(crop[3]);
  }
  std::string format, layout;
  TF_RETURN_IF_ERROR(c->GetAttr("pixel_format", &format));
  TF_RETURN_IF_ERROR(c->GetAttr("layout", &layout));
  if (format != "rgb" && format != "bgr" && format != "gray") {
    DimensionHandle bytes = c->UnknownDim();
    if (c->ValueKnown(height) && c->ValueKnown(width)) {
      const int64_t pixels = c->Value(height) * c->Value(width);
      if (format == "yuv444p" || format == "p010") bytes = c->MakeDim(pixels * 3);
      if (format == "nv12" || format == "yuv420p") bytes = c->MakeDim(pixels * 3 / 2);
    }
    *dims = {bytes};
    return absl::OkStatus();
  }
  const DimensionHandle channels = c->MakeDim(format == "gray" ? 1 : 3);
  if (layout == "tchw") {
    *dims = {channels, height, width};
  } else {
    *dims = {height, width, channels};
  }
  return absl::OkStatus();
}

}  // namespace nvc
