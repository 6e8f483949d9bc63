#include "tf_nvcodec/kernels/stream/video_store.h"

#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/platform/file_statistics.h"
#include "tensorflow/core/platform/logging.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/index/index_cache.h"
#include "tf_nvcodec/kernels/stream/file_source.h"

namespace nvc {
namespace {

using ::tensorflow::Env;
using ::tensorflow::Tensor;
using ::tensorflow::tstring;

absl::string_view StringAt(const Tensor& tensor, int64_t i) {
  const tstring& value = tensor.flat<tstring>()(i);
  return absl::string_view(value.data(), value.size());
}

// Counts the bytes read from the wrapped source.
class CountedSource : public ByteSource {
 public:
  CountedSource(std::unique_ptr<ByteSource> source, DatasetStatistics* statistics)
      : source_(std::move(source)), statistics_(statistics) {}

  int64_t Size() const override { return source_->Size(); }
  absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override {
    auto read = source_->ReadAt(offset, out, count);
    if (read.ok()) statistics_->bytes_read += static_cast<int64_t>(*read);
    return read;
  }
  int64_t ReadOverhead() const override { return source_->ReadOverhead(); }
  void WillRead(int64_t begin, int64_t end) const override { source_->WillRead(begin, end); }

 private:
  const std::unique_ptr<ByteSource> source_;
  DatasetStatistics* const statistics_;
};

absl::StatusOr<FrameIndex> BuildCounted(const ByteSource& source, const FrameIndex::Limits& limits,
                                        const Cancelled& cancelled, DatasetStatistics* statistics) {
  const auto begin = std::chrono::steady_clock::now();
  auto index = FrameIndex::Build(source, limits, cancelled);
  statistics->index_ns +=
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  if (index.ok()) ++statistics->files_indexed;
  return index;
}

bool HasScheme(const std::string& name) { return name.find("://") != std::string::npos; }

// Returns the absolute path of a local file, such as "/a/b" for "b" in folder /a, so that another
// process finds the index under the same name.
std::string AbsoluteName(const std::string& name) {
  if (HasScheme(name)) return name;
  char* const resolved = realpath(name.c_str(), nullptr);
  if (resolved == nullptr) return name;
  std::string result(resolved);
  std::free(resolved);
  return result;
}

// Returns the modification time in nanoseconds. TensorFlow gives whole seconds for local files, and
// a file can change more than once in a second.
int64_t MtimeNs(const std::string& name, const ::tensorflow::FileStatistics& found) {
  struct stat local;
  if (HasScheme(name) || stat(name.c_str(), &local) != 0) {
    return found.mtime_nsec;
  }
  return int64_t{local.st_mtim.tv_sec} * 1'000'000'000 + local.st_mtim.tv_nsec;
}

// Reading a pipe may wait forever, and a device has no end.
bool IsPipeOrDevice(const std::string& name) {
  struct stat local;
  if (HasScheme(name) || stat(name.c_str(), &local) != 0) return false;
  return !S_ISREG(local.st_mode) && !S_ISDIR(local.st_mode) && !S_ISBLK(local.st_mode);
}

class FileStore : public VideoStore {
 public:
  FileStore(Tensor names, std::string cache_directory, const FrameIndex::Limits& limits)
      : names_(std::move(names)),
        use_cache_(!cache_directory.empty()),
        cache_(std::move(cache_directory)),
        limits_(limits) {}

  absl::StatusOr<IndexedVideo> Open(int64_t video, const Cancelled& cancelled,
                                    DatasetStatistics* statistics, const char** stage,
                                    const FrameIndex* wrong) override {
    *stage = "open";
    const CancelScope scope(cancelled);
    const std::string name(StringAt(names_, video));
    ::tensorflow::FileStatistics found;
    Env* const env = Env::Default();
    if (name.empty()) return absl::InvalidArgumentError("the file's name is empty");
    if (IsPipeOrDevice(name)) {
      return absl::InvalidArgumentError(
          "is a pipe or a device: read its bytes, and pass them as contents");
    }
    NVC_RETURN_IF_ERROR(env->Stat(name, &found));
    if (found.is_directory) {
      return absl::InvalidArgumentError("is a folder; pass the files in it, or \"folder/*.mp4\"");
    }
    // Takes size and time before it opens the file. If another file replaces this one in between,
    // the new file's index is stored under the old time, where nobody looks for it. In the other
    // order the old file's index would be stored under the new file's time.
    const FileIdentity identity{AbsoluteName(name), found.length, MtimeNs(name, found)};
    NVC_ASSIGN_OR_RETURN(auto file, OpenFile(env, name, found.length));
    IndexedVideo result;
    result.source = std::make_unique<CountedSource>(std::move(file), statistics);
    ++statistics->files_opened;

    *stage = "index";
    const std::string key =
        absl::StrCat(identity.path, "\n", identity.size, "\n", identity.mtime_ns, "\n",
                     limits_.max_pixels, "\n", limits_.max_packets);
    FrameIndex::Limits limits = limits_;
    limits.believe_sample_table = IsRemote(name) && wrong == nullptr;
    const auto build = [&] {
      return LoadOrBuild(identity, limits, *result.source, cancelled, statistics);
    };
    NVC_ASSIGN_OR_RETURN(result.index, IndexMemory::Shared().Get(key, build, cancelled, wrong));
    return result;
  }

 private:
  absl::StatusOr<FrameIndex> LoadOrBuild(const FileIdentity& identity,
                                         const FrameIndex::Limits& limits, const ByteSource& source,
                                         const Cancelled& cancelled,
                                         DatasetStatistics* statistics) const {
    // Without a modification time, nobody can see later that the file has changed.
    const bool use_cache = use_cache_ && identity.mtime_ns > 0;
    if (use_cache) {
      auto cached = cache_.Load(identity);
      // The cache holds indexes made under any limit. Building refuses a video above this limit.
      const bool good = cached.ok() && IsInLimits(*cached) &&
                        (limits.believe_sample_table || !cached->only_sample_table());
      if (good) return cached;
    }
    auto built = BuildCounted(source, limits, cancelled, statistics);
    if (!built.ok() || !use_cache) return built;
    const absl::Status stored = cache_.Store(identity, *built);
    if (!stored.ok() && !absl::IsFailedPrecondition(stored)) {
      LOG_FIRST_N(WARNING, 1) << "tf_nvcodec's frame-index cache does not work, so that every "
                                 "process indexes its videos anew: "
                              << stored.message();
    }
    return built;
  }

  bool IsInLimits(const FrameIndex& index) const {
    const AVCodecParameters& codec = *index.stream().codec;
    const auto packets = static_cast<int64_t>(index.packets().size());
    return (limits_.max_pixels <= 0 || int64_t{codec.width} * codec.height <= limits_.max_pixels) &&
           (limits_.max_packets <= 0 || packets <= limits_.max_packets);
  }

  const Tensor names_;
  const bool use_cache_;
  const IndexCache cache_;
  const FrameIndex::Limits limits_;
};

class MemoryStore : public VideoStore {
 public:
  MemoryStore(Tensor contents, const FrameIndex::Limits& limits)
      : contents_(std::move(contents)),
        limits_(limits),
        // The index memory has no limit, because an index is small beside its video, which is in
        // memory.
        indexes_(std::numeric_limits<size_t>::max()) {}

  absl::StatusOr<IndexedVideo> Open(int64_t video, const Cancelled& cancelled,
                                    DatasetStatistics* statistics, const char** stage,
                                    const FrameIndex* wrong) override {
    *stage = "index";
    IndexedVideo result;
    result.source = std::make_unique<CountedSource>(
        std::make_unique<MemorySource>(StringAt(contents_, video)), statistics);
    const auto build = [&] {
      ++statistics->files_opened;
      return BuildCounted(*result.source, limits_, cancelled, statistics);
    };
    NVC_ASSIGN_OR_RETURN(result.index, indexes_.Get(absl::StrCat(video), build, cancelled));
    return result;
  }

 private:
  const Tensor contents_;
  const FrameIndex::Limits limits_;
  IndexMemory indexes_;
};

}  // namespace

std::unique_ptr<VideoStore> MakeFileStore(Tensor names, std::string cache_directory,
                                          const FrameIndex::Limits& limits) {
  return std::make_unique<FileStore>(std::move(names), std::move(cache_directory), limits);
}

std::unique_ptr<VideoStore> MakeMemoryStore(Tensor contents, const FrameIndex::Limits& limits) {
  return std::make_unique<MemoryStore>(std::move(contents), limits);
}

}  // namespace nvc
