#include "tf_nvcodec/core/remote/s3_store.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tf_nvcodec/core/base/fork_lock.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

constexpr absl::string_view kS3 = "s3://";

// Escapes all but the characters that AWS leaves in the text that it signs.
bool IsUnreserved(char byte) {
  return absl::ascii_isalnum(static_cast<unsigned char>(byte)) || absl::StrContains("-_.~", byte);
}
std::string Escaped(absl::string_view text, bool keep_slash) {
  if (!keep_slash) return PercentEncoded(text, IsUnreserved);
  return PercentEncoded(text, [](char byte) { return byte == '/' || IsUnreserved(byte); });
}

std::string Utf8(uint32_t code) {
  std::string text;
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
  } else if (code < 0x10000) {
    text += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
             static_cast<char>(0x80 | (code & 0x3f))};
  } else {
    text += {static_cast<char>(0xf0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 0x3f)),
             static_cast<char>(0x80 | (code >> 6 & 0x3f)), static_cast<char>(0x80 | (code & 0x3f))};
  }
  return text;
}

// Replaces XML's references: "&amp;", "&#38;" and "&#x26;" become "&".
std::string Unescaped(absl::string_view xml) {
  std::string text;
  while (!xml.empty()) {
    const size_t begin = xml.find('&');
    const size_t end = begin == xml.npos ? begin : xml.find(';', begin);
    text.append(xml.data(), end == xml.npos ? xml.size() : begin);
    if (end == xml.npos) break;
    const std::string name(xml.substr(begin + 1, end - begin - 1));
    uint32_t code = 0;
    const bool is_number =
        (absl::StartsWith(name, "#x") && absl::SimpleHexAtoi(name.substr(2), &code)) ||
        (absl::StartsWith(name, "#") && absl::SimpleAtoi(name.substr(1), &code));
    if (is_number && code < 0x110000) {
      text += Utf8(code);
    } else {
      text += absl::StrReplaceAll(
          absl::StrCat("&", name, ";"),
          {{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}, {"&amp;", "&"}});
    }
    xml.remove_prefix(end + 1);
  }
  return text;
}

// Calls `element` with the content of each <tag>...</tag>.
template <typename F>
void ForEachElement(absl::string_view xml, absl::string_view tag, F element) {
  const std::string open = absl::StrCat("<", tag, ">"), close = absl::StrCat("</", tag, ">");
  while (true) {
    const size_t begin = xml.find(open);
    const size_t end = begin == xml.npos ? begin : xml.find(close, begin);
    if (end == xml.npos) return;
    element(xml.substr(begin + open.size(), end - begin - open.size()));
    xml.remove_prefix(end + close.size());
  }
}

// The region becomes a part of the server's name.
bool IsRegion(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-';
  });
}

// The regions of buckets that are not in the region of the settings.
class BucketRegions {
 public:
  static BucketRegions& Get() {
    static auto* const regions = new BucketRegions;
    return *regions;
  }

  std::string Of(const S3Name& object, const AwsSettings& settings) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = regions_.find({settings.endpoint, object.bucket});
    return found == regions_.end() ? settings.region : found->second;
  }
  void Remember(const S3Name& object, const AwsSettings& settings, const std::string& region) {
    std::lock_guard<std::mutex> lock(mutex_);
    regions_[{settings.endpoint, object.bucket}] = region;
  }

 private:
  BucketRegions() { HoldInForks(&mutex_); }

  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::string> regions_;  // by endpoint and bucket
};

}  // namespace

absl::StatusOr<S3Name> ParseS3Name(const std::string& name) {
  const absl::string_view rest = absl::string_view(name).substr(std::min(kS3.size(), name.size()));
  const size_t slash = std::min(rest.find('/'), rest.size());
  const absl::string_view bucket = rest.substr(0, slash);
  const bool good = !bucket.empty() && bucket.find_first_of("?#@:%&\\ ") == bucket.npos;
  if (!absl::StartsWith(name, kS3) || !good) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": is no name such as s3://bucket/folder/video.mp4"));
  }
  return S3Name{std::string(bucket),
                std::string(slash < rest.size() ? rest.substr(slash + 1) : "")};
}

std::string S3Url(const AwsSettings& settings, const S3Name& object, absl::string_view query) {
  std::string url;
  const bool has_dot = absl::StrContains(object.bucket, '.');
  if (settings.endpoint.empty()) {
    const absl::string_view country = absl::StartsWith(settings.region, "cn-") ? ".cn" : "";
    const std::string host = absl::StrCat("s3.", settings.region, ".amazonaws.com", country);
    url = has_dot ? absl::StrCat("https://", host, "/", object.bucket)
                  : absl::StrCat("https://", object.bucket, ".", host);
  } else {
    url = absl::StrCat(settings.endpoint, "/", object.bucket);
  }
  absl::StrAppend(&url, "/", Escaped(object.key, /*keep_slash=*/true));
  if (!query.empty()) absl::StrAppend(&url, "?", query);
  return url;
}

absl::string_view XmlText(absl::string_view xml, absl::string_view tag) {
  absl::string_view found;
  ForEachElement(xml, tag, [&](absl::string_view content) {
    if (found.data() == nullptr) found = content;
  });
  return found;
}

absl::StatusOr<S3Page> ParseS3Page(absl::string_view xml) {
  if (!absl::StrContains(xml, "<ListBucketResult")) {
    return absl::UnavailableError("the server's answer is no list of S3");
  }
  S3Page page;
  ForEachElement(xml, "Contents", [&](absl::string_view content) {
    S3Page::Object object;
    object.key = Unescaped(XmlText(content, "Key"));
    if (!absl::SimpleAtoi(XmlText(content, "Size"), &object.size)) object.size = 0;
    object.mtime_ns = TimeNs(std::string(XmlText(content, "LastModified")));
    page.objects.push_back(std::move(object));
  });
  ForEachElement(xml, "CommonPrefixes", [&](absl::string_view content) {
    page.folders.push_back(Unescaped(XmlText(content, "Prefix")));
  });
  if (XmlText(xml, "IsTruncated") == "true") {
    page.next = Unescaped(XmlText(xml, "NextContinuationToken"));
  }
  return page;
}

absl::StatusOr<HttpReply> S3Store::Send(const S3Name& object, absl::string_view query,
                                        HttpRequest* request, char* out) const {
  for (bool again = true;; again = false) {
    NVC_ASSIGN_OR_RETURN(AwsSettings settings, ReadAwsSettings());
    settings.region = BucketRegions::Get().Of(object, settings);
    request->url = S3Url(settings, object, query);
    request->signature.reset();
    if (!settings.key_id.empty()) {
      request->signature =
          AwsSignature{settings.key_id, settings.secret, settings.token, settings.region};
    }
    HttpReply reply = HttpGet(*request, out);
    std::string region = reply.Header("x-amz-bucket-region");
    if (region.empty()) region = std::string(XmlText(reply.body, "Region"));
    const bool elsewhere = !reply.ok() && IsRegion(region) && region != settings.region;
    if (!elsewhere || !again) return reply;
    BucketRegions::Get().Remember(object, settings, region);
  }
}

absl::StatusOr<HttpReply> S3Store::Get(const std::string& name, const ByteRange& range,
                                       const std::string& if_match, char* out) const {
  NVC_ASSIGN_OR_RETURN(const S3Name object, ParseS3Name(name));
  if (object.key.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": is a bucket, not a file"));
  }
  HttpRequest request;
  request.range = range;
  request.if_match = if_match;
  return Send(object, "", &request, out);
}

absl::Status S3Store::ErrorOf(const std::string& name, const HttpReply& reply) const {
  std::string detail(XmlText(reply.body, "Code"));
  if (reply.status == 401 || reply.status == 403) {
    const bool is_signed = [] {
      const auto settings = ReadAwsSettings();
      return settings.ok() && !settings->key_id.empty();
    }();
    absl::StrAppend(&detail, detail.empty() ? "" : "; ",
                    is_signed
                        ? "S3 says this too of an object that is not there"
                        : "no keys were found in AWS_ACCESS_KEY_ID or ~/.aws/credentials; keys "
                          "of SSO and of an instance are not read");
  }
  return HttpError(reply, name, detail);
}

absl::Status S3Store::List(const S3Name& prefix, bool by_folder,
                           const std::function<bool(const S3Page&)>& page) const {
  const std::string name = absl::StrCat(kS3, prefix.bucket, "/", prefix.key);
  std::string next;
  do {
    // AWS signs the parameters in this order.
    std::string query;
    if (!next.empty()) absl::StrAppend(&query, "continuation-token=", Escaped(next, false), "&");
    if (by_folder) absl::StrAppend(&query, "delimiter=%2F&");
    absl::StrAppend(&query, "list-type=2");
    if (!prefix.key.empty()) absl::StrAppend(&query, "&prefix=", Escaped(prefix.key, false));
    HttpRequest request;
    NVC_ASSIGN_OR_RETURN(const HttpReply reply,
                         Send({prefix.bucket, ""}, query, &request, nullptr));
    if (!reply.ok()) return ErrorOf(name, reply);
    NVC_ASSIGN_OR_RETURN(const S3Page found, ParseS3Page(reply.body));
    if (!page(found)) return absl::OkStatus();
    next = found.next;
  } while (!next.empty());
  return absl::OkStatus();
}

}  // namespace nvc
