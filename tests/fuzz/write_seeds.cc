// Writes inputs for the targets that do not read video files:
//     write_seeds FOLDER CLIP...
// makes FOLDER/{packed,packets,compat_parser}/CLIP.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/core/testing/golden_corpus.h"
#include "tests/fuzz/targets.h"
#include "tf_nvcodec/core/bitstream/elementary_packets.h"
#include "tf_nvcodec/core/clips/packed_clip.h"

namespace nvc {
namespace {

namespace fs = std::filesystem;
constexpr int kPackets = 4;
constexpr size_t kLongestChunk = 4096;
constexpr char kPieces = 16;  // of 257 bytes

void Write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void AddChunk(const uint8_t* data, size_t size, std::string* out) {
  size = std::min(size, kLongestChunk);
  out->push_back(static_cast<char>(size & 255));
  out->push_back(static_cast<char>(size >> 8));
  if (size > 0) out->append(reinterpret_cast<const char*>(data), size);
}

absl::Status WriteSeeds(const fs::path& folder, const fs::path& clip) {
  const std::string bytes = ReadFile(clip);
  const MemorySource source(bytes);
  NVC_ASSIGN_OR_RETURN(const FrameIndex index, FrameIndex::Build(source, {}, nullptr));
  Clip clip_of_two;
  clip_of_two.frames = {0, index.num_frames() / 2};
  clip_of_two.own = 2;
  const auto packed = PackClip(index, source, clip_of_two);
  if (packed.ok()) Write(folder / "packed" / clip.filename(), *packed);
  const AVCodecParameters& codec = *index.stream().codec;
  const auto place = std::find(std::begin(fuzz::kCodecs), std::end(fuzz::kCodecs), codec.codec_id);
  if (place == std::end(fuzz::kCodecs)) return absl::OkStatus();
  std::string packets(1, static_cast<char>(place - std::begin(fuzz::kCodecs)));
  std::string stream = packets + kPieces;
  AddChunk(codec.extradata, static_cast<size_t>(codec.extradata_size), &packets);
  NVC_ASSIGN_OR_RETURN(const auto elementary,
                       ElementaryPackets::Create(codec, index.stream().time_base));
  const int count = std::min(kPackets, static_cast<int>(index.packets().size()));
  for (int i = 0; i < count; ++i) {
    AvPacketPtr packet(av_packet_alloc());
    NVC_RETURN_IF_ERROR(index.ReadPacket(source, i, packet.get()));
    AddChunk(packet->data, static_cast<size_t>(packet->size), &packets);
    NVC_RETURN_IF_ERROR(elementary->Convert(packet.get()));
    stream.append(reinterpret_cast<const char*>(packet->data), static_cast<size_t>(packet->size));
  }
  Write(folder / "packets" / clip.filename(), packets);
  Write(folder / "compat_parser" / clip.filename(), stream);
  return absl::OkStatus();
}

}  // namespace
}  // namespace nvc

int main(int count, char** arguments) {
  for (int i = 2; i < count; ++i) {
    const absl::Status status = nvc::WriteSeeds(arguments[1], arguments[i]);
    if (!status.ok()) std::fprintf(stderr, "%s: %s\n", arguments[i], status.ToString().c_str());
  }
  return count > 2 ? 0 : 2;
}
