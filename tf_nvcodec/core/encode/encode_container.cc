#include "tf_nvcodec/core/encode/encode_container.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

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

bool Takes(const ContainerTraits& container, const Encoding& codec) {
  if (container.container == EncodeContainer::kRaw) return codec.raw_muxer != nullptr;
  for (const absl::string_view name : absl::StrSplit(codec.containers, ' ')) {
    if (name == container.name) return true;
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
  const CodecTraits& coded = TraitsOf(codec);
  if (Takes(TraitsOf(container), *coded.encoding)) return absl::OkStatus();
  std::string allowed;
  for (const ContainerTraits& traits : kContainers) {
    if (!Takes(traits, *coded.encoding)) continue;
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", traits.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("container ", TraitsOf(container).name,
                                                 " can't hold codec ", coded.name,
                                                 "; containers that can: ", allowed));
}

const char* MuxerName(EncodeContainer container, EncodeCodec codec) {
  if (container != EncodeContainer::kRaw) return TraitsOf(container).muxer;
  return TraitsOf(codec).encoding->raw_muxer;
}

}  // namespace nvc
