#include "tf_nvcodec/core/base/status.h"

#include <cerrno>

#include "absl/strings/str_cat.h"

extern "C" {
#include <libavutil/error.h>
}

namespace nvc {

std::string FfmpegErrorText(int averror) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {0};
  av_strerror(averror, text, sizeof(text));
  return text;
}

absl::Status FfmpegError(int averror, absl::string_view doing) {
  const std::string message = absl::StrCat(doing, ": ", FfmpegErrorText(averror));
  switch (averror) {
    case AVERROR(ENOMEM):
      return absl::ResourceExhaustedError(message);
    case AVERROR_EXIT:
      return absl::CancelledError(message);
    case AVERROR_DECODER_NOT_FOUND:
    case AVERROR_ENCODER_NOT_FOUND:
    case AVERROR_MUXER_NOT_FOUND:
    case AVERROR_PATCHWELCOME:
    case AVERROR(ENOSYS):
      return absl::UnimplementedError(message);
    default:
      return absl::DataLossError(message);
  }
}

}  // namespace nvc
