// Reads H.264 packets: where decoding may start, which pictures can be dropped, and which are
// fields or lack a reference picture.
#ifndef TF_NVCODEC_CORE_BITSTREAM_H264_INSPECTOR_H_
#define TF_NVCODEC_CORE_BITSTREAM_H264_INSPECTOR_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tf_nvcodec/core/bitstream/nal_units.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/bitstream/picture_order.h"
#include "tf_nvcodec/core/bitstream/sps.h"

namespace nvc {

// Follows ITU-T H.264. Random access points are IDR pictures and those recovery points that are
// exact at once (D.2.8: recovery_frame_cnt 0, exact_match_flag 1). For a packet with a field, or
// with unknown parameter sets, `shown` is -1: only the decoder can count its frames. `second_field`
// follows from the first slice of each packet; a packet may hold both fields.
class H264Inspector : public PacketInspector {
 public:
  explicit H264Inspector(const AVCodecParameters& codec);
  PacketInfo Inspect(const AVPacket& packet) override;

 private:
  void ReadParameterSets(const uint8_t* data, size_t size);
  void ReadSps(const NalUnit& nal);
  void ReadPps(const NalUnit& nal);
  // Compares a set with that of the stream's description.
  void Note(int type, uint32_t id, const NalUnit& nal);
  // Whether a decoder that starts at this packet, with the description, has all sets in force.
  bool HasItsSets() const;
  // Fields from the header of a picture's first slice.
  struct Picture {
    bool known = false;  // false: the picture's parameter sets are missing
    bool field = false, bottom = false;
    bool gaps_allowed = false;
    uint32_t frame_num = 0, frame_num_mask = 0;
  };
  Picture ReadSlice(const NalUnit& slice) const;
  bool CompletesFrame(const Picture& picture, bool idr);
  bool LacksReference(const Picture& picture, bool idr, bool reference);

  int length_bytes_;     // size of the prefix of each NAL unit; 0: start codes
  Picture first_field_;  // waits for its second field; `field` is false when none waits
  std::optional<uint32_t> last_frame_num_;  // 7.4.3: PrevRefFrameNum
  std::array<std::optional<H264Sps>, 32> sps_;
  std::array<int16_t, 256> sps_of_pps_;
  using SetKey = std::pair<int, uint32_t>;  // the NAL unit's type and the set's id
  // The sets of the description. Without one, FFmpeg makes it of the first packet that has an SPS.
  std::map<SetKey, std::string> described_;
  bool has_description_ = false, has_sps_ = false;
  std::set<SetKey> replaced_;  // in force, and not as described
  std::set<SetKey> own_;       // of this packet
  PictureOrder picture_order_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_H264_INSPECTOR_H_
