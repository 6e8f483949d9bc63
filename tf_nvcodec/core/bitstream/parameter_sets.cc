#include "tf_nvcodec/core/bitstream/parameter_sets.h"

#include <cstring>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/bitstream_filter.h"

namespace nvc {

absl::StatusOr<std::string> ParameterSetsIn(const AVPacket& packet, AVCodecID codec) {
  const AvCodecParametersPtr stream(avcodec_parameters_alloc());
  const AvPacketPtr copy(av_packet_clone(&packet));
  if (stream == nullptr || copy == nullptr) {
    return absl::ResourceExhaustedError("out of memory for a packet");
  }
  stream->codec_type = AVMEDIA_TYPE_VIDEO;
  stream->codec_id = codec;
  NVC_ASSIGN_OR_RETURN(BitstreamFilter filter,
                       BitstreamFilter::Create("extract_extradata", *stream, AVRational{1, 90000}));
  NVC_RETURN_IF_ERROR(filter.Filter(copy.get()));
  size_t size = 0;
  const uint8_t* const sets = av_packet_get_side_data(copy.get(), AV_PKT_DATA_NEW_EXTRADATA, &size);
  return sets == nullptr ? std::string() : std::string(sets, sets + size);
}

absl::Status SetParameterSets(absl::string_view sets, AVCodecParameters* stream) {
  av_freep(&stream->extradata);
  stream->extradata_size = 0;
  if (sets.empty()) return absl::OkStatus();
  stream->extradata = static_cast<uint8_t*>(av_mallocz(sets.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  if (stream->extradata == nullptr) return absl::ResourceExhaustedError("out of memory");
  std::memcpy(stream->extradata, sets.data(), sets.size());
  stream->extradata_size = static_cast<int>(sets.size());
  return absl::OkStatus();
}

absl::StatusOr<AvCodecParametersPtr> DescribedAnew(const AVCodecParameters& stream,
                                                   const AVPacket& packet) {
  size_t size = 0;
  const auto* const sets = reinterpret_cast<const char*>(
      av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, &size));
  const absl::string_view described(sets, size);
  const absl::string_view before(reinterpret_cast<const char*>(stream.extradata),
                                 static_cast<size_t>(stream.extradata_size));
  if (described.empty() || described == before) return nullptr;
  NVC_ASSIGN_OR_RETURN(AvCodecParametersPtr anew, CopyOf(stream));
  NVC_RETURN_IF_ERROR(SetParameterSets(described, anew.get()));
  return anew;
}

void DropSideData(AVPacketSideDataType type, AVPacket* packet) {
  for (int i = 0; i < packet->side_data_elems; ++i) {
    AVPacketSideData& data = packet->side_data[i];
    if (data.type != type) continue;
    av_freep(&data.data);
    data = packet->side_data[--packet->side_data_elems];
    return;
  }
}

}  // namespace nvc
