#ifndef TF_NVCODEC_CORE_BITSTREAM_H264_INSPECTOR_H_
#define TF_NVCODEC_CORE_BITSTREAM_H264_INSPECTOR_H_

#include <array>
#include <cstdint>
#include <optional>

#include "tf_nvcodec/core/bitstream/nal_units.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/bitstream/sps.h"

namespace nvc {

// ITU-T H.264. Random access points are IDR pictures and recovery points that are exact at once
// (D.2.8: recovery_frame_cnt 0, exact_match_flag 1). A packet that holds a field, or of which the
// parameter sets are unknown, is left to the decoder to count. second_field is what the first
// slices say: a packet may hold both fields.
class H264Inspector : public PacketInspector {
 public:
  explicit H264Inspector(const AVCodecParameters& codec);
  PacketInfo Inspect(const AVPacket& packet) override;

 private:
  void ReadParameterSets(const uint8_t* data, size_t size);
  void ReadSps(const NalUnit& nal);
  void ReadPps(const NalUnit& nal);
  // What the header of a picture's first slice says.
  struct Picture {
    bool known = false;  // else its parameter sets are not there
    bool field = false, bottom = false;
    bool gaps_allowed = false;
    uint32_t frame_num = 0, frame_num_mask = 0;
  };
  Picture ReadSlice(const NalUnit& slice) const;
  bool CompletesFrame(const Picture& picture, bool idr);
  bool LacksReference(const Picture& picture, bool idr, bool reference);

  int length_bytes_;
  Picture first_field_;  // that waits for the other one; `field` is false when none does
  std::optional<uint32_t> last_frame_num_;  // 7.4.3: PrevRefFrameNum
  std::array<std::optional<H264Sps>, 32> sps_;
  std::array<int16_t, 256> sps_of_pps_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_H264_INSPECTOR_H_
