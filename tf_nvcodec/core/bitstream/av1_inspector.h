// Reads AV1 packets: which pictures a packet holds, which one it shows and which earlier pictures
// each one needs.
#ifndef TF_NVCODEC_CORE_BITSTREAM_AV1_INSPECTOR_H_
#define TF_NVCODEC_CORE_BITSTREAM_AV1_INSPECTOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tf_nvcodec/core/bitstream/bit_reader.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"

namespace nvc {

// Follows the AV1 bitstream specification, 5.5 (sequence header) and 5.9 (frame header). A packet
// is a temporal unit: it shows one frame (7.5) and may hold other frames, which a later packet
// shows by number or which are never shown. A frame depends on earlier frames only through the
// reference slots that its header names, so the headers alone tell which frames each frame needs.
// When the inspector does not understand a header, it counts the whole packet as one picture that
// needs every slot and that every later picture may need.
class Av1Inspector : public PacketInspector {
 public:
  explicit Av1Inspector(const AVCodecParameters& codec);
  PacketInfo Inspect(const AVPacket& packet) override;

 private:
  struct Sequence {
    // False for streams with a decoder model, with layers, or of still pictures.
    bool understood = false;
    bool seen = false;
    int frame_id_bits = 0, delta_frame_id_bits = 0, order_hint_bits = 0;
    int force_screen_content_tools = 0,
        force_integer_mv = 0;  // 2: each frame's header has its own value
  };

  struct Slot {
    int picture = -1;  // the number of the stored picture, -1: empty
    bool key = false;  // whether it is, or may be, a key frame
    int order_hint = 0;
  };

  // Appends the pictures of a packet to `pictures`. Sets `keeps` to false if the packet changes a
  // slot or has a sequence header. Returns false when the packet is not understood or not
  // plausible, because the headers of damaged packets may say anything; the caller then discards
  // `pictures`.
  bool ReadPictures(const uint8_t* data, size_t size, bool random_access,
                    std::vector<CodedPicture>* pictures, bool* keeps);
  void ReadSequence(BitReader bits);
  // Sets the references of `picture` and, in `refresh`, the slots that the frame is stored in, one
  // bit for each slot. Returns false when the header is not understood.
  bool ReadFrame(BitReader bits, CodedPicture* picture, uint32_t* refresh);
  void ReferToAllSlots(CodedPicture* picture) const;
  void Store(uint32_t refresh, bool key, int order_hint);
  // Whether a shown frame with this order hint is later than the frame shown before it, as it must
  // be. Remembers the order hint for the next call.
  bool ComesNext(int order_hint);

  Sequence sequence_;
  bool has_sequence_ = false;  // in the packet
  std::array<Slot, 8> slots_{};
  int num_pictures_ = 0;      // read so far, and the number of the next picture
  int last_order_hint_ = -1;  // order hint of the frame shown last; -1: not known
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_AV1_INSPECTOR_H_
