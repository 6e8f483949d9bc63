#include "tf_nvcodec/core/remote/http_client.h"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/pool.h"

namespace nvc {
namespace {

constexpr size_t kMostBody = 64 << 20;  // of a list; an error has less
constexpr size_t kIdleHandles = 32;
constexpr std::chrono::seconds kIdleTime(60);
// An answer that brought less than this before it broke off counts as no progress.
constexpr size_t kProgress = 64 << 10;
constexpr std::chrono::duration<double> kLook(0.05);  // how often a pause looks for cancellation

struct CloseCurl {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using CurlHandle = std::unique_ptr<CURL, CloseCurl>;

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// Each handle keeps the connections that it has opened. A forked process must not use them.
Pool<CurlHandle>& IdleHandles() {
  static auto* const pool = [] {
    curl_global_init(CURL_GLOBAL_ALL);
    auto* const made = new Pool<CurlHandle>(SIZE_MAX, kIdleHandles, kIdleTime);
    made->HoldInForks(/*leak=*/true);
    return made;
  }();
  return *pool;
}

// Returns the number in an environment variable, or `otherwise` if there is none in [least, most].
double NumberFrom(const char* variable, double otherwise, double least, double most) {
  const char* const text = std::getenv(variable);
  double value = 0;
  const bool good = text != nullptr && absl::SimpleAtod(text, &value);
  return good && value >= least && value <= most ? value : otherwise;
}

// TensorFlow's libcurl knows where Debian keeps its certificates, and no other system.
const char* CertificateFile() {
  for (const char* variable : {"CURL_CA_BUNDLE", "AWS_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const char* const file = std::getenv(variable);
    if (file != nullptr && *file != '\0') return file;
  }
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (access(file, R_OK) == 0) return file;
  }
  return nullptr;
}

// What libcurl's callbacks need of one attempt.
struct Transfer {
  CURL* handle;
  const std::optional<ByteRange>& range;  // what is left to read
  char* out;
  HttpReply* reply;
  std::string refusal;  // why the answer is not taken
};

// libcurl calls this once a second, and whenever something came.
int StopIfCancelled(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return CancelScope::Current()() ? 1 : 0;
}

size_t TakeHeader(char* data, size_t, size_t size, void* opaque) {
  auto* const transfer = static_cast<Transfer*>(opaque);
  const absl::string_view line(data, size);
  if (absl::StartsWith(line, "HTTP/")) transfer->reply->headers.clear();  // after a redirect
  const size_t colon = line.find(':');
  if (colon != line.npos) {
    transfer->reply->headers[absl::AsciiStrToLower(line.substr(0, colon))] =
        std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return size;
}

int StatusOf(CURL* handle) {
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

// Returns whether the answer holds exactly the bytes that were asked for.
bool IsTheRange(const Transfer& transfer, int status) {
  const auto& headers = transfer.reply->headers;
  if (status == 206) {
    const auto found = headers.find("content-range");
    const std::string begin = absl::StrCat("bytes ", transfer.range->begin, "-");
    return found == headers.end() || absl::StartsWith(found->second, begin);
  }
  const auto found = headers.find("content-length");
  return transfer.range->begin == 0 && found != headers.end() &&
         found->second == absl::StrCat(transfer.range->end);
}

size_t TakeBody(char* data, size_t, size_t size, void* opaque) {
  auto* const transfer = static_cast<Transfer*>(opaque);
  HttpReply* const reply = transfer->reply;
  const int status = StatusOf(transfer->handle);
  if (!transfer->range.has_value() || (status != 200 && status != 206)) {
    if (reply->body.size() + size > kMostBody) {
      transfer->refusal = "the answer is too long";
      return 0;
    }
    reply->body.append(data, size);
    return size;
  }
  if (reply->read == 0 && !IsTheRange(*transfer, status)) {
    reply->ignores_ranges = status == 200;
    transfer->refusal = "the server sends other bytes than were asked for";
    return 0;
  }
  const auto wanted = static_cast<size_t>(transfer->range->end - transfer->range->begin);
  if (size > wanted - reply->read) {
    transfer->refusal = "the server sends more bytes than were asked for";
    return 0;
  }
  std::memcpy(transfer->out + reply->read, data, size);
  reply->read += size;
  return size;
}

void SetUp(CURL* handle, const HttpRequest& request, Transfer* transfer, char* error) {
  const auto set = [handle](CURLoption option, auto value) {
    curl_easy_setopt(handle, option, value);
  };
  const double timeout = NumberFrom("TF_NVCODEC_HTTP_TIMEOUT", 30, 0.1, 3600);
  curl_easy_reset(handle);  // keeps the connections
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);  // "a/../b" is a name like any other on S3
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_ERRORBUFFER, error);
  set(CURLOPT_USERAGENT, "tf_nvcodec");
  set(CURLOPT_PROTOCOLS_STR, absl::StartsWith(request.url, "http://") ? "http" : "https");
  set(CURLOPT_FOLLOWLOCATION, request.follow_redirects ? 1L : 0L);
  set(CURLOPT_REDIR_PROTOCOLS_STR, "https");
  set(CURLOPT_MAXREDIRS, 5L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(timeout, 10.0) * 1000));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, std::max(1L, std::lround(timeout)));
  set(CURLOPT_BUFFERSIZE, 256L << 10);
  if (const char* const file = CertificateFile()) set(CURLOPT_CAINFO, file);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));  // or later
  if (request.use_netrc) set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &StopIfCancelled);
  set(CURLOPT_HEADERFUNCTION, &TakeHeader);
  set(CURLOPT_HEADERDATA, transfer);
  set(CURLOPT_WRITEFUNCTION, &TakeBody);
  set(CURLOPT_WRITEDATA, transfer);
}

HttpReply Attempt(const HttpRequest& request, char* out) {
  HttpReply reply;
  CurlHandle handle =
      IdleHandles().Take([](const CurlHandle&) { return true; }).value_or(CurlHandle());
  if (handle == nullptr) handle.reset(curl_easy_init());
  if (handle == nullptr) {
    reply.failure = "libcurl does not start";
    return reply;
  }
  Transfer transfer{handle.get(), request.range, out, &reply, ""};
  char error[CURL_ERROR_SIZE] = "";
  SetUp(handle.get(), request, &transfer, error);

  std::unique_ptr<curl_slist, FreeList> headers;
  const auto add = [&headers](const std::string& line) {
    headers.reset(curl_slist_append(headers.release(), line.c_str()));
  };
  if (!request.if_match.empty()) add(absl::StrCat("If-Match: ", request.if_match));
  if (request.range.has_value()) {
    // libcurl signs this header only if it is in the list.
    add(absl::StrCat("Range: bytes=", request.range->begin, "-", request.range->end - 1));
  }
  if (request.signature.has_value()) {
    const AwsSignature& keys = *request.signature;
    const std::string how = absl::StrCat("aws:amz:", keys.region, ":s3");
    curl_easy_setopt(handle.get(), CURLOPT_AWS_SIGV4, how.c_str());
    curl_easy_setopt(handle.get(), CURLOPT_USERNAME, keys.key_id.c_str());
    curl_easy_setopt(handle.get(), CURLOPT_PASSWORD, keys.secret.c_str());
    if (!keys.token.empty()) add(absl::StrCat("X-Amz-Security-Token: ", keys.token));
  }
  curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());

  const CURLcode code = curl_easy_perform(handle.get());
  reply.status = StatusOf(handle.get());
  const bool fits = !request.range.has_value() || !reply.ok() ||
                    reply.read == static_cast<size_t>(request.range->end - request.range->begin);
  if (code != CURLE_OK) {
    reply.failure = !transfer.refusal.empty() ? transfer.refusal
                    : *error != '\0'          ? error
                                              : curl_easy_strerror(code);
  } else if (!fits && !(reply.status == 200 && reply.Header("content-length") == "0")) {
    reply.failure = "the answer is shorter than was asked for";
  }
  reply.bad_certificate = code == CURLE_PEER_FAILED_VERIFICATION ||
                          code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CERTPROBLEM;
  reply.cancelled = code == CURLE_ABORTED_BY_CALLBACK;
  reply.is_final = reply.cancelled || reply.bad_certificate || reply.ignores_ranges ||
                   code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
                   code == CURLE_TOO_MANY_REDIRECTS;
  if (transfer.refusal.empty()) {
    // The options point to objects of this function.
    curl_easy_reset(handle.get());
    IdleHandles().Give(std::move(handle));
  }
  return reply;
}

bool MayPass(const HttpReply& reply) {
  if (reply.is_final) return false;
  switch (reply.status) {
    case 0:
      return true;
    case 200:
    case 206:
      return !reply.failure.empty();
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return true;
    default:
      return false;
  }
}

// Many readers that failed together must not come back together.
std::chrono::duration<double> Pause(int failures, const HttpReply& reply) {
  thread_local std::minstd_rand random(std::random_device{}());
  const double most = std::min(0.2 * std::pow(2, failures - 1), 10.0);
  double seconds = std::uniform_real_distribution<double>(most / 2, most)(random);
  double asked = 0;
  if (absl::SimpleAtod(reply.Header("retry-after"), &asked) && asked > 0) {
    seconds = std::max(seconds, std::min(asked, 60.0));
  }
  return std::chrono::duration<double>(seconds);
}

// Returns false if it is cancelled meanwhile.
bool Sleep(std::chrono::duration<double> time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    if (CancelScope::Current()()) return false;
    std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(time, kLook));
  }
  return true;
}

}  // namespace

std::string PercentEncoded(absl::string_view text, bool (*is_plain)(char byte)) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c)) {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

const std::string& HttpReply::Header(const std::string& name) const {
  static const auto* const none = new std::string;
  const auto found = headers.find(name);
  return found == headers.end() ? *none : found->second;
}

HttpReply HttpGet(const HttpRequest& request, char* out) {
  const int most = static_cast<int>(NumberFrom("TF_NVCODEC_HTTP_ATTEMPTS", 6, 1, 100));
  HttpRequest rest = request;
  size_t done = 0;
  int failures = 0;
  for (int attempt = 1;; ++attempt) {
    HttpReply reply = Attempt(rest, out + done);
    const size_t read = reply.read;
    done += read;
    reply.read = done;
    reply.attempts = attempt;
    if (!MayPass(reply)) return reply;
    failures = read >= kProgress ? 1 : failures + 1;
    if (failures >= most) return reply;
    if (rest.range.has_value()) rest.range->begin += static_cast<int64_t>(read);
    reply.cancelled = !Sleep(Pause(failures, reply));
    if (reply.cancelled) return reply;
  }
}

absl::Status HttpError(const HttpReply& reply, absl::string_view name, absl::string_view detail) {
  if (reply.cancelled) return CancelScope::Current().Error(absl::StrCat("reading ", name));
  std::string cause;
  if (reply.ignores_ranges) {
    return absl::FailedPreconditionError(absl::StrCat(
        name,
        ": the server sends whole files only, and answers no request for a range of bytes: "
        "download the file, or put it on a server such as nginx, Apache or S3"));
  }
  if (reply.bad_certificate) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, ": the server's certificate can't be checked (", reply.failure,
        "): set CURL_CA_BUNDLE to a file with the certificates to trust, such as that of certifi"));
  }
  if (reply.status == 0 || reply.status == 200 || reply.status == 206) {
    cause = reply.failure;
  } else {
    cause = absl::StrCat("HTTP status ", reply.status);
    if (!detail.empty()) absl::StrAppend(&cause, " (", detail, ")");
  }
  switch (reply.status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
      return absl::FailedPreconditionError(
          absl::StrCat(name, ": is redirected to where it is not read from (",
                       reply.failure.empty() ? cause : reply.failure,
                       "): only https:// is followed, and five times at most"));
    case 401:
    case 403:
      return absl::PermissionDeniedError(absl::StrCat(name, ": ", cause));
    case 404:
    case 410:
      return absl::NotFoundError(absl::StrCat(name, ": no such file, ", cause));
    case 412:
    case 416:
      return absl::FailedPreconditionError(
          absl::StrCat(name, ": has changed since it was opened: ", cause));
    default:
      break;
  }
  const bool tried = reply.attempts > 1;
  absl::StrAppend(&cause, tried ? absl::StrCat(", after ", reply.attempts, " attempts") : "");
  return MayPass(reply) ? absl::UnavailableError(absl::StrCat(name, ": ", cause))
                        : absl::FailedPreconditionError(absl::StrCat(name, ": ", cause));
}

}  // namespace nvc
