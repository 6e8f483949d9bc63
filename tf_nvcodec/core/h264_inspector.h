#ifndef TF_NVCODEC_CORE_H264_INSPECTOR_H_
#define TF_NVCODEC_CORE_H264_INSPECTOR_H_

#include <array>
#include <cstdint>
#include <optional>

#include "tf_nvcodec/core/h264_sps.h"
#include "tf_nvcodec/core/nal_units.h"
#include "tf_nvcodec/core/packet_info.h"

namespace nvc {

// ITU-T H.264. Random access points are IDR pictures and recovery points that are exact at once
// (D.2.8: recovery_frame_cnt 0, exact_match_flag 1). A packet that holds a field, or of which the
// parameter sets are unknown, is left to the decoder to count.
class H264Inspector : public PacketInspector {
 public:
  explicit H264Inspector(const AVCodecParameters& codec);
  PacketInfo Inspect(const AVPacket& packet) override;

 private:
  void ReadParameterSets(const uint8_t* data, size_t size);
  void ReadSps(const NalUnit& nal);
  void ReadPps(const NalUnit& nal);
  bool IsField(const NalUnit& slice) const;

  int length_bytes_;
  std::array<std::optional<H264Sps>, 32> sps_;
  std::array<int16_t, 256> sps_of_pps_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_H264_INSPECTOR_H_
