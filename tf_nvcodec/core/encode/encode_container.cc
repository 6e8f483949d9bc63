#include "tf_nvcodec/core/encode/encode_container.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace nvc {
namespace {

constexpr ContainerTraits kContainers[] = {
    {EncodeContainer::kMp4, "mp4", "mp4", 0, true, true, true, true},
    {EncodeContainer::kMov, "mov", "mov", 0, true, true, false, true},
    {EncodeContainer::kMkv, "mkv", "matroska", 1000, true, true, true, false},
    {EncodeContainer::kWebm, "webm", "webm", 1000, true, true, true, false},
    {EncodeContainer::kAvi, "avi", "avi", 0, false, false, false, false},
    {EncodeContainer::kTs, "ts", "mpegts", 90000, true, false, false, false},
    {EncodeContainer::kRaw, "raw", nullptr, 0, false, false, false, false},
    {EncodeContainer::kIvf, "ivf", "ivf", 0, true, false, false, false},
    {EncodeContainer::kObu, "obu", "obu", 0, false, false, false, false},
};

bool Takes(EncodeContainer container, EncodeCodec codec) {
  switch (container) {
    case EncodeContainer::kMp4:
      return codec != EncodeCodec::kFfv1;
    case EncodeContainer::kMov:
      return codec != EncodeCodec::kAv1 && codec != EncodeCodec::kVp9;
    case EncodeContainer::kMkv:
      return true;
    case EncodeContainer::kWebm:
    case EncodeContainer::kIvf:
      return codec == EncodeCodec::kAv1 || codec == EncodeCodec::kVp9;
    case EncodeContainer::kAvi:
      return codec == EncodeCodec::kH264 || codec == EncodeCodec::kMjpeg ||
             codec == EncodeCodec::kFfv1;
    case EncodeContainer::kTs:
      return codec == EncodeCodec::kH264 || codec == EncodeCodec::kHevc;
    case EncodeContainer::kRaw:
      return codec != EncodeCodec::kFfv1;
    case EncodeContainer::kObu:
      return codec == EncodeCodec::kAv1;
  }
  return false;
}

}  // namespace

absl::StatusOr<EncodeContainer> ParseEncodeContainer(absl::string_view name) {
  std::string allowed;
  for (const ContainerTraits& traits : kContainers) {
    if (name == traits.name) return traits.container;
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", traits.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("container must be one of ", allowed, "; got \"", name, "\""));
}

const ContainerTraits& TraitsOf(EncodeContainer container) {
  return kContainers[static_cast<int>(container)];
}

absl::Status CheckContainer(EncodeContainer container, EncodeCodec codec) {
  if (Takes(container, codec)) return absl::OkStatus();
  std::string allowed;
  for (const ContainerTraits& traits : kContainers) {
    if (!Takes(traits.container, codec)) continue;
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", traits.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("container ", TraitsOf(container).name,
                                                 " can't hold codec ", TraitsOf(codec).name,
                                                 "; containers that can: ", allowed));
}

const char* MuxerName(EncodeContainer container, EncodeCodec codec) {
  if (container != EncodeContainer::kRaw) return TraitsOf(container).muxer;
  switch (codec) {
    case EncodeCodec::kH264:
      return "h264";
    case EncodeCodec::kHevc:
      return "hevc";
    case EncodeCodec::kAv1:
      return "obu";
    case EncodeCodec::kVp9:
      return "ivf";
    default:
      return "mjpeg";
  }
}

}  // namespace nvc
