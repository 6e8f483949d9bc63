#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/capi/error.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_versions.h"

// Copies the version of the loaded `library`, such as "59.37.100" for "libavcodec", to `out`, with
// a final 0. Returns InvalidArgument if `library` is not one of FFmpeg's libraries in use, or if
// `size` bytes are too few.
NVC_API int nvc_ffmpeg_version(const char* library, char* out, size_t size) {
  return nvc::Guarded([&]() -> absl::Status {
    for (const nvc::LibraryVersion& version : nvc::FfmpegLibraryVersions()) {
      if (version.library != absl::string_view(library)) continue;
      if (version.run.size() >= size) {
        return absl::InvalidArgumentError(absl::StrCat("a version of ", version.run.size(),
                                                       " characters does not fit ", size,
                                                       " bytes with its end"));
      }
      std::memcpy(out, version.run.c_str(), version.run.size() + 1);
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("'", library, "' is none of FFmpeg's libraries in use"));
  });
}
