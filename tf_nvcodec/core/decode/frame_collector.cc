#include "tf_nvcodec/core/decode/frame_collector.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {

absl::StatusOr<std::unique_ptr<FrameConverter>> HostTarget::NewConverter(const OutputSpec& output,
                                                                         const AVFrame& picture,
                                                                         Orientation orientation) {
  return FrameConverter::Create(output, SourceSpec::Of(picture, orientation));
}

// The page faults of fresh memory cost as much time as the colour conversion of a batch. With huge
// pages there are few of them; madvise asks the kernel for those.
void HostTarget::SetMemory(void* memory, size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const auto begin = (reinterpret_cast<uintptr_t>(memory) + kHugePage - 1) & ~(kHugePage - 1);
  const auto end = (reinterpret_cast<uintptr_t>(memory) + bytes) & ~(kHugePage - 1);
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

absl::Status HostTarget::Copy(void* to, const void* from, size_t bytes) {
  if (to != from) std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

absl::StatusOr<OnError> ParseOnError(absl::string_view name) {
  if (name == "raise") return OnError::kRaise;
  if (name == "skip") return OnError::kSkip;
  if (name == "repeat") return OnError::kRepeat;
  return absl::InvalidArgumentError(
      absl::StrCat("on_error is '", name, "'; it must be one of: raise, skip, repeat"));
}

FrameCollector::FrameCollector(const OutputSpec& output, Orientation orientation,
                               const std::vector<int64_t>& frames, AllocateFrames allocate,
                               FrameTarget* target)
    : frames_(frames),
      allocate_(std::move(allocate)),
      target_(*target),
      converters_(output, orientation, target) {
  for (size_t i = 0; i < frames.size(); ++i) {
    slots_of_frame_[static_cast<int>(frames[i])].push_back(i);
  }
}

absl::StatusOr<FrameConverter*> FrameConverters::For(int worker, const AVFrame& picture) {
  auto& [converter, format] = converters_[static_cast<size_t>(worker)];
  // The format tells pictures on the GPU from those in host memory. Their sources may be equal.
  if (converter == nullptr || format != picture.format ||
      !(converter->source() == target_.SourceOf(picture, orientation_))) {
    converter.reset();
    NVC_ASSIGN_OR_RETURN(converter, target_.NewConverter(output_, picture, orientation_));
    format = picture.format;
  }
  return converter.get();
}

absl::Status FrameCollector::Allocate(const Kind& first) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (allocated_) return absl::OkStatus();
  NVC_ASSIGN_OR_RETURN(void* memory, allocate_(first.shape, static_cast<int64_t>(frames_.size())));
  base_ = static_cast<uint8_t*>(memory);
  shape_ = first.shape;
  format_ = first.format;
  allocated_ = true;
  if (base_ != nullptr) target_.SetMemory(base_, shape_.bytes * frames_.size());
  return absl::OkStatus();
}

absl::Status FrameCollector::Write(int worker, int frame, const AVFrame& picture) {
  NVC_ASSIGN_OR_RETURN(FrameConverter * converter, converters_.For(worker, picture));
  NVC_ASSIGN_OR_RETURN(void* place, Place(frame, picture, converter->shape()));
  if (place == nullptr) return absl::OkStatus();
  NVC_RETURN_IF_ERROR(converter->Convert(picture, place));
  return Repeat(frame);
}

absl::StatusOr<void*> FrameCollector::Place(int frame, const AVFrame& picture,
                                            const FrameShape& shape) {
  NVC_RETURN_IF_ERROR(Allocate({shape, picture.format}));
  if (shape.height != shape_.height || shape.width != shape_.width || shape.bytes != shape_.bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    others_[frame] = {shape, picture.format};
    return nullptr;
  }
  const auto found = slots_of_frame_.find(frame);
  return found == slots_of_frame_.end() ? nullptr : Slot(found->second[0]);
}

absl::Status FrameCollector::CheckShapes(const DamagedFrames& damaged) const {
  if (others_.empty()) return absl::OkStatus();
  const std::set<int64_t> in_order(frames_.begin(), frames_.end());
  const auto kind_of = [&](int frame) {
    const auto other = others_.find(frame);
    return other == others_.end() ? Kind{shape_, format_} : other->second;
  };
  const auto name = [](const Kind& kind) {
    const char* const format = av_get_pix_fmt_name(static_cast<AVPixelFormat>(kind.format));
    return format != nullptr ? format : "unknown";
  };
  int before = -1;
  for (const int64_t wanted : in_order) {
    const auto frame = static_cast<int>(wanted);
    if (damaged.count(frame) > 0) continue;
    const int last = before < 0 ? frame : before;
    before = frame;
    const Kind kind = kind_of(frame), old_kind = kind_of(last);
    const FrameShape &shape = kind.shape, &old = old_kind.shape;
    if (shape.height != old.height || shape.width != old.width) {
      return absl::InvalidArgumentError(
          absl::StrCat("the picture size changes inside the stream: frame ", frame, " gives ",
                       shape.width, "x", shape.height, ", frame ", last, " ", old.width, "x",
                       old.height, "; pass size=(height, width) to bring all frames to one size"));
    }
    if (shape.bytes != old.bytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the sample format changes inside the stream: frame ", frame, " (", name(kind),
          ") takes ", shape.bytes, " bytes, frame ", last, " (", name(old_kind), ") ", old.bytes,
          "; pass pixel_format=\"rgb\" or another than \"native\" to bring all frames to one "
          "format"));
    }
  }
  return absl::OkStatus();
}

absl::Status FrameCollector::Repeat(int frame) {
  const auto found = slots_of_frame_.find(frame);
  if (found == slots_of_frame_.end()) return absl::OkStatus();
  const std::vector<size_t>& slots = found->second;
  for (size_t i = 1; i < slots.size(); ++i) {
    NVC_RETURN_IF_ERROR(target_.Copy(Slot(slots[i]), Slot(slots[0]), shape_.bytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<bool>> FrameCollector::Finish(const FrameIndex& index,
                                                         const DamagedFrames& damaged,
                                                         OnError on_error,
                                                         std::vector<size_t>* slots) {
  converters_.Clear();  // they deliver their last frames
  NVC_RETURN_IF_ERROR(CheckShapes(damaged));
  std::vector<bool> valid(frames_.size(), true);
  size_t good = frames_.size();
  size_t first_good = 0;
  absl::Status first_error;
  for (size_t i = 0; i < frames_.size() && !damaged.empty(); ++i) {
    const auto bad = damaged.find(static_cast<int>(frames_[i]));
    if (bad == damaged.end()) continue;
    valid[i] = false;
    --good;
    if (first_error.ok()) {
      first_error = absl::DataLossError(absl::StrCat(
          "frame ", frames_[i], " (", index.frames()[static_cast<size_t>(frames_[i])].pts,
          " s) can't be decoded: ", bad->second.message(),
          "; on_error=\"skip\" or \"repeat\" goes on without the damaged frames"));
    }
  }
  const bool nothing_to_repeat = on_error == OnError::kRepeat && good == 0;
  if (!first_error.ok() && (on_error == OnError::kRaise || nothing_to_repeat || !allocated_)) {
    return first_error;
  }
  slots->clear();
  if (on_error == OnError::kSkip) {
    for (size_t i = 0; i < valid.size(); ++i) {
      if (!valid[i]) continue;
      if (slots->size() != i) {
        NVC_RETURN_IF_ERROR(target_.Copy(Slot(slots->size()), Slot(i), shape_.bytes));
      }
      slots->push_back(i);
    }
    NVC_RETURN_IF_ERROR(target_.Finish());
    return std::vector<bool>(slots->size(), true);
  }
  while (first_good < valid.size() && !valid[first_good]) ++first_good;
  size_t last_good = first_good;
  for (size_t i = 0; i < valid.size(); ++i) {
    slots->push_back(i);
    if (valid[i]) {
      last_good = i;
    } else {
      NVC_RETURN_IF_ERROR(target_.Copy(Slot(i), Slot(last_good), shape_.bytes));
    }
  }
  NVC_RETURN_IF_ERROR(target_.Finish());
  return valid;
}

}  // namespace nvc
