#include "tf_nvcodec/core/bitstream/picture_order.h"

#include <climits>

namespace nvc {

PictureOrder::PictureOrder(const AVCodecParameters& codec)
    : context_(avcodec_alloc_context3(nullptr)), parser_(av_parser_init(codec.codec_id)) {
  if (context_ == nullptr || parser_ == nullptr ||
      avcodec_parameters_to_context(context_.get(), &codec) < 0) {
    parser_.reset();
    return;
  }
  parser_->flags |= PARSER_FLAG_COMPLETE_FRAMES;
}

int64_t PictureOrder::Of(const AVPacket& packet) {
  if (parser_ == nullptr) return PacketInfo::kUnknownOrder;
  constexpr int kNotRead = INT_MIN;
  parser_->output_picture_number = kNotRead;
  uint8_t* parsed = nullptr;
  int size = 0;
  av_parser_parse2(parser_.get(), context_.get(), &parsed, &size, packet.data, packet.size,
                   packet.pts, packet.dts, packet.pos);
  const int count = parser_->output_picture_number;
  return count == kNotRead ? PacketInfo::kUnknownOrder : PacketInfo::OrderIn(sequence_, count);
}

}  // namespace nvc
