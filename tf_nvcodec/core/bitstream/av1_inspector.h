#ifndef TF_NVCODEC_CORE_BITSTREAM_AV1_INSPECTOR_H_
#define TF_NVCODEC_CORE_BITSTREAM_AV1_INSPECTOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tf_nvcodec/core/bitstream/bit_reader.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"

namespace nvc {

// AV1 bitstream specification, 5.5 (sequence header) and 5.9 (frame header). A packet is a temporal
// unit: it shows one frame (7.5) and may hold others that are shown later by number or never. All
// that a frame takes from earlier ones is in the reference slots its header names, so that the
// headers alone tell which frames another one needs. Where one is not understood, the whole packet
// counts as a picture that needs, and is needed by, everything.
class Av1Inspector : public PacketInspector {
 public:
  explicit Av1Inspector(const AVCodecParameters& codec);
  PacketInfo Inspect(const AVPacket& packet) override;

 private:
  struct Sequence {
    bool understood = false;  // no decoder model, no layers, not a still picture
    bool seen = false;
    int frame_id_bits = 0, delta_frame_id_bits = 0, order_hint_bits = 0;
    int force_screen_content_tools = 0, force_integer_mv = 0;  // 2: each frame says
  };

  struct Slot {
    int picture = -1;  // its number
    bool key = false;  // or may be
    int order_hint = 0;
  };

  // Appends the pictures of a packet to `pictures` and tells whether all the slots stay as they
  // are. False, with `pictures` to be given up, when the packet is not understood or not plausible:
  // the headers of damaged packets are not to be believed.
  bool ReadPictures(const uint8_t* data, size_t size, bool random_access,
                    std::vector<CodedPicture>* pictures, bool* keeps);
  void ReadSequence(BitReader bits);
  // What the frame refers to and the slots that it is then stored in, one bit each; false when the
  // header is not understood.
  bool ReadFrame(BitReader bits, CodedPicture* picture, uint32_t* refresh);
  void ReferToAllSlots(CodedPicture* picture) const;
  void Store(uint32_t refresh, bool key, int order_hint);
  // Order hints rise with the frames shown.
  bool ComesNext(int order_hint);

  Sequence sequence_;
  std::array<Slot, 8> slots_{};
  int num_pictures_ = 0;      // so far; the number of the one being read
  int last_order_hint_ = -1;  // of the frame shown last; -1: not known
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_AV1_INSPECTOR_H_
