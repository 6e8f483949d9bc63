#include "tf_nvcodec/core/remote/aws_settings.h"

#include <cstdlib>
#include <fstream>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

using Section = std::map<std::string, std::string>;
using Sections = std::map<std::string, Section>;

// Adds the sections of an INI file, if it is there. Values that are in `sections` already stay.
// Indented lines belong to nested settings.
void ReadIni(const std::string& path, Sections* sections) {
  std::ifstream file(path);
  std::string line;
  Section* section = nullptr;
  while (std::getline(file, line)) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (text.empty() || text[0] == '#' || text[0] == ';') continue;
    if (text.front() == '[') {
      absl::string_view name = text.substr(1, text.find(']') - 1);
      if (absl::StartsWith(name, "profile ")) name = name.substr(8);
      section = &(*sections)[std::string(absl::StripAsciiWhitespace(name))];
      continue;
    }
    const size_t equals = text.find('=');
    if (section == nullptr || equals == text.npos || absl::ascii_isspace(line[0])) continue;
    section->insert({absl::AsciiStrToLower(absl::StripAsciiWhitespace(text.substr(0, equals))),
                     std::string(absl::StripAsciiWhitespace(text.substr(equals + 1)))});
  }
}

std::string FirstOf(const Environment& get, std::initializer_list<const char*> variables) {
  for (const char* variable : variables) {
    const std::string value = get(variable);
    if (!value.empty()) return value;
  }
  return "";
}

std::string In(const Section& section, const char* key) {
  const auto found = section.find(key);
  return found == section.end() ? "" : found->second;
}

// Takes the keys of the profile. Without any, requests are not signed.
absl::Status TakeKeys(const Section& section, const std::string& profile, AwsSettings* settings) {
  settings->key_id = In(section, "aws_access_key_id");
  settings->secret = In(section, "aws_secret_access_key");
  settings->token = In(section, "aws_session_token");
  if (!settings->key_id.empty()) return absl::OkStatus();
  for (const char* elsewhere : {"sso_session", "sso_start_url", "role_arn", "credential_process",
                                "credential_source", "web_identity_token_file"}) {
    if (section.count(elsewhere) == 0) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the keys of the AWS profile \"", profile, "\" come from ", elsewhere,
        ", which is not read: run eval \"$(aws configure export-credentials --profile ", profile,
        " --format env)\" first"));
  }
  return absl::OkStatus();
}

bool IsTrue(const std::string& text) {
  const std::string lower = absl::AsciiStrToLower(text);
  return lower == "1" || lower == "yes" || lower == "true";
}

}  // namespace

absl::StatusOr<AwsSettings> ReadAwsSettings(const Environment& get) {
  const std::string home = get("HOME");
  const auto path = [&](const char* variable, const char* file) {
    const std::string named = get(variable);
    return named.empty() ? absl::StrCat(home, "/.aws/", file) : named;
  };
  Sections sections;
  ReadIni(path("AWS_SHARED_CREDENTIALS_FILE", "credentials"), &sections);
  ReadIni(path("AWS_CONFIG_FILE", "config"), &sections);

  const std::string named = FirstOf(get, {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
  const std::string profile = named.empty() ? "default" : named;
  AwsSettings settings;
  settings.key_id = get("AWS_ACCESS_KEY_ID");
  settings.secret = get("AWS_SECRET_ACCESS_KEY");
  settings.token = get("AWS_SESSION_TOKEN");
  const bool has_keys = !settings.key_id.empty() && !settings.secret.empty();
  if (sections.count(profile) == 0 && !named.empty() && !has_keys) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no AWS profile \"", named,
                     "\", which AWS_PROFILE names, in ~/.aws/credentials or ~/.aws/config"));
  }
  const Section& section = sections[profile];
  if (IsTrue(get("AWS_NO_SIGN_REQUEST"))) {
    settings.key_id.clear();
  } else if (!has_keys) {
    NVC_RETURN_IF_ERROR(TakeKeys(section, profile, &settings));
  }
  settings.region = FirstOf(get, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (settings.region.empty()) settings.region = In(section, "region");
  if (settings.region.empty()) settings.region = "us-east-1";
  settings.endpoint = FirstOf(get, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (settings.endpoint.empty()) settings.endpoint = In(section, "endpoint_url");
  while (absl::EndsWith(settings.endpoint, "/")) settings.endpoint.pop_back();
  const bool has_scheme = absl::StartsWith(settings.endpoint, "https://") ||
                          absl::StartsWith(settings.endpoint, "http://");
  if (!settings.endpoint.empty() && !has_scheme) {
    return absl::InvalidArgumentError(absl::StrCat("the endpoint of S3, \"", settings.endpoint,
                                                   "\", must begin with https:// or http://"));
  }
  return settings;
}

absl::StatusOr<AwsSettings> ReadAwsSettings() {
  return ReadAwsSettings([](const char* variable) -> std::string {
    const char* const value = std::getenv(variable);
    return value == nullptr ? "" : value;
  });
}

}  // namespace nvc
