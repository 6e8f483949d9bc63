// Runs each target on the inputs that once crashed it, in regressions/NAME/.

#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "tests/core/testing/golden_corpus.h"
#include "tests/fuzz/targets.h"

namespace nvc {
namespace {

namespace fs = std::filesystem;
constexpr char kFolder[] = "tests/fuzz/regressions";

TEST(FuzzRegressionsTest, EachInputIsTaken) {
  int inputs = 0;
  for (const fuzz::Target& target : fuzz::kTargets) {
    const fs::path folder = fs::path(kFolder) / target.name;
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      SCOPED_TRACE(entry.path().string());
      const std::string input = ReadFile(entry.path());
      ASSERT_FALSE(input.empty());
      target.run(input);
      ++inputs;
    }
  }
  EXPECT_GT(inputs, 0);
}

}  // namespace
}  // namespace nvc
