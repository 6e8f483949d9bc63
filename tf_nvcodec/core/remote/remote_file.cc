#include "tf_nvcodec/core/remote/remote_file.h"

#include <curl/curl.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

// Returns the size of the whole file; -1 if the reply does not tell.
int64_t SizeOf(const HttpReply& reply) {
  const std::string& range = reply.Header("content-range");
  const absl::string_view text = reply.status == 200
                                     ? absl::string_view(reply.Header("content-length"))
                                     : absl::string_view(range).substr(range.find('/') + 1);
  int64_t size = -1;
  return absl::SimpleAtoi(text, &size) ? size : -1;
}

}  // namespace

absl::StatusOr<RemoteFacts> Look(const RemoteStore& store, const std::string& name) {
  char first = 0;
  NVC_ASSIGN_OR_RETURN(const HttpReply reply, store.Get(name, {0, 1}, "", &first));
  const bool is_empty = reply.status == 416;  // it has no first byte
  if (!reply.ok() && !is_empty) return store.ErrorOf(name, reply);
  RemoteFacts facts;
  facts.size = is_empty ? 0 : SizeOf(reply);
  if (facts.size < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(ShownName(name), ": the server does not tell the size of the file"));
  }
  facts.etag = reply.Header("etag");
  facts.last_modified = reply.Header("last-modified");
  facts.mtime_ns = TimeNs(facts.last_modified);
  return facts;
}

absl::StatusOr<size_t> ReadRemote(const RemoteStore& store, const std::string& name,
                                  const RemoteFacts& facts, int64_t offset, size_t count,
                                  char* out) {
  if (offset < 0 || offset >= facts.size || count == 0) return 0;
  const auto left = static_cast<size_t>(facts.size - offset);
  const ByteRange range{offset, offset + static_cast<int64_t>(std::min(count, left))};
  // A weak ETag never matches.
  const bool is_strong = absl::StartsWith(facts.etag, "\"");
  NVC_ASSIGN_OR_RETURN(const HttpReply reply,
                       store.Get(name, range, is_strong ? facts.etag : "", out));
  const bool other = reply.ok() && (reply.Header("etag") != facts.etag ||
                                    reply.Header("last-modified") != facts.last_modified ||
                                    SizeOf(reply) != facts.size);
  if (other) {
    return absl::FailedPreconditionError(
        absl::StrCat(ShownName(name), ": has changed since it was opened: open it again"));
  }
  if (!reply.ok()) return store.ErrorOf(name, reply);
  return reply.read;
}

int64_t TimeNs(const std::string& text) {
  // curl_getdate does not know the "T" and "Z", nor parts of a second.
  const std::string plain = absl::StrReplaceAll(text.substr(0, text.find('.')), {{"Z", ""}});
  const bool is_iso = plain.size() == 19 && plain[4] == '-' && plain[10] == 'T';
  const std::string date = is_iso
                               ? absl::StrCat(absl::StrReplaceAll(plain.substr(0, 10), {{"-", ""}}),
                                              " ", plain.substr(11), " GMT")
                               : text;
  const int64_t seconds = curl_getdate(date.c_str(), nullptr);
  return seconds <= 0 ? 0 : seconds * 1'000'000'000;
}

std::string ShownName(absl::string_view name) {
  const size_t query = name.find('?');
  const bool shows_all = query == name.npos || !absl::StartsWith(name, "https://");
  return shows_all ? std::string(name) : absl::StrCat(name.substr(0, query), "?...");
}

}  // namespace nvc
