#ifndef TF_NVCODEC_CORE_AV1_INSPECTOR_H_
#define TF_NVCODEC_CORE_AV1_INSPECTOR_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "tf_nvcodec/core/bit_reader.h"
#include "tf_nvcodec/core/packet_info.h"

namespace nvc {

// AV1 bitstream specification, 5.5 (sequence header) and 5.9 (frame header). A packet is a temporal
// unit and shows one frame (7.5). One whose frames are stored in no reference slot is droppable:
// all that later frames take from earlier ones is in the slots.
class Av1Inspector : public PacketInspector {
 public:
  explicit Av1Inspector(const AVCodecParameters& codec);
  PacketInfo Inspect(const AVPacket& packet) override;

 private:
  struct Sequence {
    bool understood = false;  // no decoder model, no layers, not a still picture
    int frame_id_bits = 0, order_hint_bits = 0;
    int force_screen_content_tools = 0, force_integer_mv = 0;  // 2: each frame says
  };

  // Whether the frames of these OBUs leave the reference slots as they are.
  bool KeepsSlots(const uint8_t* data, size_t size);
  void ReadSequence(BitReader bits);
  // The slots that the frame is stored in, one bit each.
  uint32_t ReadRefresh(BitReader bits);

  Sequence sequence_;
  std::array<bool, 8> slot_is_key_{};
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_AV1_INSPECTOR_H_
