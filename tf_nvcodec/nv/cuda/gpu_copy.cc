#include "tf_nvcodec/nv/cuda/gpu_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "tf_nvcodec/core/base/pool.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {
namespace {

// Large enough for the full rate of the bus, small enough to stay in a CPU's cache.
constexpr size_t kPieceBytes = size_t{4} << 20;
constexpr size_t kKeptForDevice = 8;

// Two pieces of page-locked memory: while one is filled, the other is emptied.
struct Staging {
  struct Piece {
    PinnedMemory memory;
    CudaEvent copied;  // the GPU has finished with the memory
  };
  Piece pieces[2];

  static absl::StatusOr<std::unique_ptr<Staging>> Create(GpuDevice* device) {
    auto staging = std::make_unique<Staging>();
    for (Piece& piece : staging->pieces) {
      NVC_ASSIGN_OR_RETURN(piece.memory, PinnedMemory::Allocate(device, kPieceBytes));
      NVC_ASSIGN_OR_RETURN(piece.copied, CudaEvent::Create(device));
    }
    return staging;
  }

  // Waits until the GPU has finished with the memory.
  ~Staging() {
    for (const Piece& piece : pieces) {
      if (piece.copied.get() != nullptr) piece.copied.Synchronize().IgnoreError();
    }
  }
};

using Stagings = Pool<std::unique_ptr<Staging>>;

// The GPU may still read the memory of an idle one. The next user of a piece waits for that.
Stagings& IdleOf(GpuDevice* device) {
  static auto* const mutex = new std::mutex;
  static auto* const idle = new std::map<GpuDevice*, Stagings>;
  std::lock_guard<std::mutex> lock(*mutex);
  return idle->try_emplace(device, SIZE_MAX, kKeptForDevice).first->second;
}

// Calls step(piece, offset, count) for each piece of `bytes`.
template <typename Step>
absl::Status ForEachPiece(Staging* staging, size_t bytes, Step step) {
  for (size_t offset = 0, i = 0; offset < bytes; offset += kPieceBytes, ++i) {
    NVC_RETURN_IF_ERROR(
        step(staging->pieces[i % 2], offset, std::min(kPieceBytes, bytes - offset)));
  }
  return absl::OkStatus();
}

absl::Status DownloadPieces(GpuDevice* device, CUstream stream, Staging* staging, uint8_t* to,
                            CUdeviceptr from, size_t bytes) {
  // The piece that the GPU is copying while the next one is queued.
  Staging::Piece* under_way = nullptr;
  size_t under_way_at = 0, under_way_count = 0;
  const auto arrive = [&]() -> absl::Status {
    if (under_way == nullptr) return absl::OkStatus();
    NVC_RETURN_IF_ERROR(under_way->copied.Synchronize());
    std::memcpy(to + under_way_at, under_way->memory.get(), under_way_count);
    return absl::OkStatus();
  };
  const absl::Status status = ForEachPiece(
      staging, bytes, [&](Staging::Piece& piece, size_t offset, size_t count) -> absl::Status {
        NVC_RETURN_IF_ERROR(piece.copied.Synchronize());
        NVC_RETURN_IF_ERROR(device->Check(
            device->cuda().cuMemcpyDtoHAsync(piece.memory.get(), from + offset, count, stream),
            "copying frames to the host"));
        NVC_RETURN_IF_ERROR(piece.copied.Record(stream));
        NVC_RETURN_IF_ERROR(arrive());
        under_way = &piece;
        under_way_at = offset;
        under_way_count = count;
        return absl::OkStatus();
      });
  NVC_RETURN_IF_ERROR(status);
  return arrive();
}

absl::Status UploadPieces(GpuDevice* device, CUstream stream, Staging* staging, CUdeviceptr to,
                          const uint8_t* from, size_t bytes) {
  return ForEachPiece(
      staging, bytes, [&](Staging::Piece& piece, size_t offset, size_t count) -> absl::Status {
        NVC_RETURN_IF_ERROR(piece.copied.Synchronize());
        std::memcpy(piece.memory.get(), from + offset, count);
        NVC_RETURN_IF_ERROR(device->Check(
            device->cuda().cuMemcpyHtoDAsync(to + offset, piece.memory.get(), count, stream),
            "copying frames to the GPU"));
        return piece.copied.Record(stream);
      });
}

// Runs `copy` with a staging, which is kept only if `copy` succeeds.
template <typename Copy>
absl::Status WithStaging(GpuDevice* device, Copy copy) {
  const ScopedContext context(*device);
  NVC_RETURN_IF_ERROR(context.status());
  Stagings& idle = IdleOf(device);
  auto staging = idle.Take([](const auto&) { return true; }).value_or(nullptr);
  if (staging == nullptr) {
    NVC_ASSIGN_OR_RETURN(staging, Staging::Create(device));
  }
  NVC_RETURN_IF_ERROR(copy(staging.get()));
  idle.Give(std::move(staging));
  return absl::OkStatus();
}

}  // namespace

absl::Status CopyOnDevice(GpuDevice* device, CUstream stream, CUdeviceptr to, CUdeviceptr from,
                          size_t bytes) {
  const ScopedContext context(*device);
  NVC_RETURN_IF_ERROR(context.status());
  return device->Check(device->cuda().cuMemcpyDtoDAsync(to, from, bytes, stream),
                       "copying a frame on the GPU");
}

absl::Status ZeroOnDevice(GpuDevice* device, CUstream stream, CUdeviceptr at, size_t bytes) {
  const ScopedContext context(*device);
  NVC_RETURN_IF_ERROR(context.status());
  return device->Check(device->cuda().cuMemsetD8Async(at, 0, bytes, stream),
                       "clearing frames on the GPU");
}

absl::Status CopyToHost(GpuDevice* device, CUstream stream, void* to, CUdeviceptr from,
                        size_t bytes) {
  return WithStaging(device, [&](Staging* staging) {
    return DownloadPieces(device, stream, staging, static_cast<uint8_t*>(to), from, bytes);
  });
}

absl::Status CopyToDevice(GpuDevice* device, CUstream stream, CUdeviceptr to, const void* from,
                          size_t bytes) {
  return WithStaging(device, [&](Staging* staging) {
    return UploadPieces(device, stream, staging, to, static_cast<const uint8_t*>(from), bytes);
  });
}

}  // namespace nvc
