// Finds the clips for tests that must hold for every kind of file: those in tests/golden/media, and
// those that tests/golden/make_clips.py makes if it has run.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_GOLDEN_CORPUS_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_GOLDEN_CORPUS_H_

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

namespace nvc {

// Returns the newest finished folder of make_clips.py's cache, or an empty path if there is none.
// Skips the folders gpu-* beside it, where tests/gpu/gpu_clips.py keeps other clips.
inline std::filesystem::path GoldenFolder() {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path root;
  if (const char* chosen = std::getenv("TF_NVCODEC_GOLDEN")) {
    root = chosen;
  } else {
    // Bazel links the tests' data into the source tree.
    const fs::path clip = fs::canonical("tests/golden/media/bframes_160x90.mp4", error);
    if (error) return {};
    root = clip.parent_path() / "../../../build/golden";
  }
  fs::path newest;
  fs::file_time_type time = fs::file_time_type::min();
  for (const auto& entry : fs::directory_iterator(root, error)) {
    const auto made = fs::last_write_time(entry.path() / "commands.txt", error);
    const bool other = entry.path().extension() == ".unfinished" ||
                       entry.path().filename().string().rfind("gpu-", 0) == 0;
    if (error || made < time || other) continue;
    time = made;
    newest = entry.path();
  }
  return newest;
}

// Returns the sorted paths of all clips of at most `longest` bytes.
inline std::vector<std::string> GoldenClips(uintmax_t longest = 4 << 20) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const std::filesystem::path& folder :
       {GoldenFolder(), std::filesystem::path("tests/golden/media")}) {
    if (folder.empty()) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const std::string extension = entry.path().extension();
      if (extension == ".txt" || extension == ".json" || extension == ".md" || extension.empty() ||
          entry.file_size(error) > longest) {
        continue;
      }
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

inline std::string ReadFile(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  std::string bytes(error ? 0 : size, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(&bytes[0], static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_GOLDEN_CORPUS_H_
