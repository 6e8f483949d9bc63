#include "tf_nvcodec/core/remote/https_store.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace nvc {
namespace {

constexpr absl::string_view kHttps = "https://";

// Returns the address as it is sent: spaces and letters beyond ASCII are escaped, "%41" stays.
std::string AddressOf(absl::string_view name) {
  return PercentEncoded(name.substr(0, name.find('#')),
                        [](char byte) { return byte > ' ' && byte < 0x7f; });
}

}  // namespace

absl::StatusOr<HttpReply> HttpsStore::Get(const std::string& name, const ByteRange& range,
                                          const std::string& if_match, char* out) const {
  const absl::string_view rest = absl::string_view(name).substr(kHttps.size());
  const absl::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  if (!absl::StartsWith(name, kHttps) || host.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(ShownName(name), ": is no address such as https://host/video.mp4"));
  }
  if (absl::StrContains(host, "@")) {
    return absl::InvalidArgumentError(
        "https://...@...: names are written in messages, so a password must not be in one: put it "
        "in ~/.netrc (machine HOST login USER password PASSWORD)");
  }
  HttpRequest request;
  request.url = AddressOf(name);
  request.range = range;
  request.if_match = if_match;
  request.follow_redirects = true;
  request.use_netrc = true;
  return HttpGet(request, out);
}

absl::Status HttpsStore::ErrorOf(const std::string& name, const HttpReply& reply) const {
  return HttpError(reply, ShownName(name), "");
}

}  // namespace nvc
