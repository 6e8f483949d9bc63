#include "tf_nvcodec/core/remote/aws_settings.h"

#include <fstream>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

class AwsSettingsTest : public ::testing::Test {
 protected:
  AwsSettingsTest() {
    variables_["AWS_SHARED_CREDENTIALS_FILE"] = Path("credentials");
    variables_["AWS_CONFIG_FILE"] = Path("config");
  }

  static std::string Path(const std::string& file) { return ::testing::TempDir() + "/" + file; }
  void Write(const std::string& file, const std::string& text) {
    std::ofstream(Path(file)) << text;
  }
  absl::StatusOr<AwsSettings> Read() {
    return ReadAwsSettings([this](const char* variable) { return variables_[variable]; });
  }
  void TearDown() override {
    std::remove(Path("credentials").c_str());
    std::remove(Path("config").c_str());
  }

  std::map<std::string, std::string> variables_;
};

TEST_F(AwsSettingsTest, NothingIsSetWithoutVariablesAndFiles) {
  const AwsSettings settings = Read().value();
  EXPECT_EQ(settings.key_id, "");
  EXPECT_EQ(settings.region, "us-east-1");
  EXPECT_EQ(settings.endpoint, "");
}

TEST_F(AwsSettingsTest, VariablesComeFirst) {
  Write("credentials",
        "[default]\naws_access_key_id = file\naws_secret_access_key = secret\n"
        "aws_session_token = of the file\n");
  Write("config", "[default]\nregion = eu-west-1\nendpoint_url = https://file\n");
  variables_["AWS_ACCESS_KEY_ID"] = "id";
  variables_["AWS_SECRET_ACCESS_KEY"] = "key";
  variables_["AWS_DEFAULT_REGION"] = "eu-north-1";
  variables_["AWS_ENDPOINT_URL"] = "http://localhost:9000/";
  AwsSettings settings = Read().value();
  EXPECT_EQ(settings.key_id, "id");
  EXPECT_EQ(settings.secret, "key");
  EXPECT_EQ(settings.token, "");  // the file's belongs to another key
  EXPECT_EQ(settings.region, "eu-north-1");
  EXPECT_EQ(settings.endpoint, "http://localhost:9000");
  variables_["AWS_REGION"] = "eu-south-1";
  variables_["AWS_ENDPOINT_URL_S3"] = "https://s3.host";
  settings = Read().value();
  EXPECT_EQ(settings.region, "eu-south-1");
  EXPECT_EQ(settings.endpoint, "https://s3.host");
}

TEST_F(AwsSettingsTest, ReadsTheProfileFromBothFiles) {
  Write("credentials",
        "# keys\n[default]\naws_access_key_id = a\naws_secret_access_key = b\n\n"
        "[ lab ]\nAWS_ACCESS_KEY_ID=c\r\naws_secret_access_key = d=e/f+\naws_session_token = t\n");
  Write("config",
        "[profile lab]\nregion = ap-east-1\ns3 =\n  region = nested\n  endpoint_url = nested\n");
  variables_["AWS_PROFILE"] = "lab";
  const AwsSettings settings = Read().value();
  EXPECT_EQ(settings.key_id, "c");
  EXPECT_EQ(settings.secret, "d=e/f+");
  EXPECT_EQ(settings.token, "t");
  EXPECT_EQ(settings.region, "ap-east-1");
  EXPECT_EQ(settings.endpoint, "");
}

TEST_F(AwsSettingsTest, RequestsAreNotSignedIfTheUserSaysSo) {
  variables_["AWS_ACCESS_KEY_ID"] = "id";
  variables_["AWS_SECRET_ACCESS_KEY"] = "key";
  variables_["AWS_NO_SIGN_REQUEST"] = "YES";
  EXPECT_EQ(Read()->key_id, "");
}

TEST_F(AwsSettingsTest, NamesWhatItDoesNotRead) {
  Write("config", "[profile work]\nsso_session = my-sso\n");
  variables_["AWS_PROFILE"] = "work";
  EXPECT_THAT(Read().status().message(),
              HasSubstr("aws configure export-credentials --profile work --format env"));
  variables_["AWS_PROFILE"] = "other";
  EXPECT_THAT(Read().status().message(), HasSubstr("no AWS profile \"other\""));
  variables_["AWS_ACCESS_KEY_ID"] = "id";
  variables_["AWS_SECRET_ACCESS_KEY"] = "key";
  EXPECT_EQ(Read()->key_id, "id");
}

TEST_F(AwsSettingsTest, RefusesAnEndpointWithoutAScheme) {
  variables_["AWS_ENDPOINT_URL"] = "localhost:9000";
  EXPECT_THAT(Read().status().message(), HasSubstr("must begin with https:// or http://"));
}

}  // namespace
}  // namespace nvc
