#include "tf_nvcodec/core/index/index_cache.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/index/index_of.h"
#include "tests/core/testing/index_checks.h"
#include "tests/core/testing/test_media.h"

namespace nvc {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr uid_t kOtherUser = 65534;

// Runs `work` in `count` processes at the same moment. Returns the processes' exit codes.
template <typename Work>
std::vector<int> InProcesses(int count, const Work& work) {
  int start[2];
  EXPECT_EQ(::pipe(start), 0);
  std::vector<pid_t> children;
  for (int process = 0; process < count; ++process) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    char byte;
    ::close(start[1]);
    ::_exit(::read(start[0], &byte, 1) == 0 ? work(process) : 9);
  }
  ::close(start[0]);
  ::close(start[1]);  // ends the children's reads
  std::vector<int> codes;
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return codes;
}

class IndexCacheTest : public ::testing::Test {
 protected:
  IndexCacheTest()
      : root_(fs::path(::testing::TempDir()) / ("index_cache_test_" + std::to_string(getpid()))),
        cache_((root_ / "a" / "b").string()),
        index_(IndexOf(BFramesClip())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
    file_.path = "/videos/a clip.mp4";
    file_.size = static_cast<int64_t>(BFramesClip().size());
    file_.mtime_ns = 1'700'000'000'123'456'789;
  }
  ~IndexCacheTest() override { fs::remove_all(root_); }

  size_t FilesKept() const {
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      count += entry.is_regular_file() ? 1 : 0;
    }
    return count;
  }

  void ExpectNotFound(const FileIdentity& file) const {
    const auto loaded = cache_.Load(file);
    EXPECT_TRUE(absl::IsNotFound(loaded.status())) << loaded.status();
    EXPECT_THAT(loaded.status().message(), HasSubstr(file.path));
  }

  const fs::path root_;
  const IndexCache cache_;
  const FrameIndex index_;
  FileIdentity file_;
};

TEST_F(IndexCacheTest, StoresAndLoads) {
  ExpectNotFound(file_);
  ASSERT_TRUE(cache_.Store(file_, index_).ok());
  const auto loaded = cache_.Load(file_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectSameIndex(index_, *loaded);
  struct stat status;
  ASSERT_EQ(::stat((root_ / "a" / "b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_TRUE(cache_.Store(file_, index_).ok());
  EXPECT_EQ(FilesKept(), 1u);
}

TEST_F(IndexCacheTest, AChangedFileIsNotFound) {
  ASSERT_TRUE(cache_.Store(file_, index_).ok());
  FileIdentity other = file_;
  other.size += 1;
  ExpectNotFound(other);
  other = file_;
  other.mtime_ns += 1;
  ExpectNotFound(other);
  other = file_;
  other.path += "x";
  ExpectNotFound(other);
  ASSERT_TRUE(cache_.Store(other, index_).ok());
  EXPECT_TRUE(cache_.Load(file_).ok());
  EXPECT_TRUE(cache_.Load(other).ok());
  // As if both paths had the same hash.
  fs::rename(cache_.FileName(other.path), cache_.FileName(file_.path));
  ExpectNotFound(file_);
}

TEST_F(IndexCacheTest, DamageAndOtherVersionsAreNotFound) {
  ASSERT_TRUE(cache_.Store(file_, index_).ok());
  const std::string name = cache_.FileName(file_.path);
  std::ifstream in(name, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  const auto write = [&](absl::string_view changed) {
    std::ofstream(name, std::ios::binary | std::ios::trunc) << changed;
  };
  for (size_t i = 0; i < bytes.size(); i += 5) {
    bytes[i] ^= 0x10;
    write(bytes);
    ExpectNotFound(file_);
    bytes[i] ^= 0x10;
    write(absl::string_view(bytes).substr(0, i));
    ExpectNotFound(file_);
  }
  write(bytes + "x");
  ExpectNotFound(file_);
  write(bytes);
  EXPECT_TRUE(cache_.Load(file_).ok());
}

TEST_F(IndexCacheTest, AFileThatOthersMayHaveWrittenIsNotFound) {
  ASSERT_TRUE(cache_.Store(file_, index_).ok());
  const std::string name = cache_.FileName(file_.path);
  for (const mode_t mode : {0620, 0602, 0600}) {
    ASSERT_EQ(::chmod(name.c_str(), mode), 0);
    EXPECT_EQ(cache_.Load(file_).ok(), mode == 0600) << mode;
  }
  if (::chown(name.c_str(), kOtherUser, static_cast<gid_t>(-1)) != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  ExpectNotFound(file_);
  ASSERT_TRUE(cache_.Store(file_, index_).ok());
  EXPECT_TRUE(cache_.Load(file_).ok());
}

TEST_F(IndexCacheTest, AHoleOfATerabyteAFolderOrAPipeIsNotFound) {
  ASSERT_TRUE(cache_.Store(file_, index_).ok());
  const std::string name = cache_.FileName(file_.path);
  fs::resize_file(name, uintmax_t{1} << 40);
  ExpectNotFound(file_);
  fs::remove(name);
  fs::create_directories(name);
  ExpectNotFound(file_);
  fs::remove(name);
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  ExpectNotFound(file_);
}

TEST_F(IndexCacheTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(root_ / "a") << "a file";
  EXPECT_FALSE(cache_.Store(file_, index_).ok());
  ExpectNotFound(file_);
  EXPECT_EQ(FilesKept(), 1u);
  EXPECT_FALSE(IndexCache("/proc/no/such").Store(file_, index_).ok());
}

// A limit on the file size stands in for a full disk: a write ends short, and the next one fails.
TEST_F(IndexCacheTest, AFailedWriteLeavesNothing) {
  ASSERT_TRUE(cache_.Store(file_, index_).ok());
  FileIdentity other = file_;
  other.path += "x";
  const auto store = [&](int) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return cache_.Store(other, index_).ok() || cache_.Store(file_, index_).ok() ? 1 : 0;
  };
  EXPECT_THAT(InProcesses(1, store), Each(0));
  EXPECT_EQ(FilesKept(), 1u);
  EXPECT_TRUE(cache_.Load(file_).ok()) << "the old index stays";
}

TEST_F(IndexCacheTest, AReadOnlyFolderIsAnError) {
  fs::create_directories(root_ / "a" / "b");
  fs::permissions(root_ / "a" / "b", fs::perms::owner_read | fs::perms::owner_exec);
  const auto store = [&](int) {
    // Root may write to any folder, so the child becomes another user.
    if (::geteuid() == 0 && ::seteuid(kOtherUser) != 0) return 2;
    return absl::IsUnavailable(cache_.Store(file_, index_)) ? 0 : 1;
  };
  const int code = InProcesses(1, store)[0];
  fs::permissions(root_ / "a" / "b", fs::perms::owner_all);
  if (code == 2) GTEST_SKIP() << "this root can't become another user";
  EXPECT_EQ(code, 0);
  EXPECT_EQ(FilesKept(), 0u);
}

TEST_F(IndexCacheTest, ManyProcessesMakeTheFolder) {
  for (int round = 0; round < 40; ++round) {
    fs::remove_all(root_ / "a");
    const auto store = [&](int) { return cache_.Store(file_, index_).ok() ? 0 : 1; };
    EXPECT_THAT(InProcesses(8, store), Each(0)) << "in round " << round;
    EXPECT_EQ(FilesKept(), 1u);
  }
}

// An index that is found must be that of the state it was looked up for.
TEST_F(IndexCacheTest, ManyProcessesNeverSeeATornFile) {
  const FrameIndex real = IndexOf(RealClip());
  FileIdentity real_file = file_;
  real_file.size = static_cast<int64_t>(RealClip().size());
  const auto work = [&](int process) {
    int found = 0;
    for (int i = 0; i < 300; ++i) {
      const bool is_real = (i + process) % 2 == 0;
      const FileIdentity& file = is_real ? real_file : file_;
      if (!cache_.Store(file, is_real ? real : index_).ok()) return 2;
      const auto loaded = cache_.Load(file);
      if (!loaded.ok()) {
        // Another process may have stored the other state.
        if (loaded.status().message().find("another version") == std::string::npos) return 3;
        continue;
      }
      ++found;
      if (loaded->num_frames() != (is_real ? kRealClipFrames : kBFramesClipFrames)) return 5;
    }
    return found > 0 ? 0 : 6;
  };
  EXPECT_THAT(InProcesses(8, work), Each(0));
  EXPECT_EQ(FilesKept(), 1u);
}

}  // namespace
}  // namespace nvc
