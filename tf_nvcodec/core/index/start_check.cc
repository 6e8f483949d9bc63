#include "tf_nvcodec/core/index/start_check.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"

namespace nvc {

absl::Status CheckStarts(const FrameIndex& index, const ByteSource& source,
                         const std::vector<int64_t>& frames) {
  std::set<int> starts;
  for (const int64_t frame : frames) {
    starts.insert(index.frames()[static_cast<size_t>(frame)].start_packet);
  }
  const auto inspector = PacketInspector::Create(*index.stream().codec);
  AvPacketPtr packet(av_packet_alloc());
  if (packet == nullptr) return absl::ResourceExhaustedError("out of memory for a packet");
  for (const int start : starts) {
    NVC_RETURN_IF_ERROR(index.ReadPacket(source, start, packet.get()));
    const PacketInfo info = inspector->Inspect(*packet);
    av_packet_unref(packet.get());
    if (!info.random_access || info.shown != 1) {
      return absl::AbortedError(absl::StrCat(
          "sample ", start, " is a sync sample, but no frame that decoding can begin with"));
    }
  }
  return absl::OkStatus();
}

}  // namespace nvc
