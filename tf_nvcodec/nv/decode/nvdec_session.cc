#include "tf_nvcodec/nv/decode/nvdec_session.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

// Above this the driver may fail to open a decoder.
constexpr int kMaxSurfaces = 32;
// The driver's error for a surface that can't be mapped, mostly because nothing was decoded into
// it.
constexpr int kCudaMapFailed = 205;

// The number of decode surfaces of a session. It goes up in steps, so that streams with slightly
// different needs can share sessions.
int NumSurfaces(int min_surfaces) {
  constexpr int kStep = 4;
  const int wanted = min_surfaces + NvdecSession::kSpareSurfaces;
  return std::max(min_surfaces, std::min(kMaxSurfaces, (wanted + kStep - 1) / kStep * kStep));
}

// Rounds a size up to an even one. Sizes of VP8 and VP9 may be odd, and sizes of surfaces can't.
// The driver's post-processing does not scale if the sizes before and after it are equal.
int Even(int size) { return (size + 1) & ~1; }

bool SameKind(const NvdecFormat& a, const NvdecFormat& b) {
  return std::tie(a.codec, a.chroma, a.bit_depth) == std::tie(b.codec, b.chroma, b.bit_depth);
}

template <typename Rectangle>
void SetWhole(int width, int height, Rectangle* rectangle) {
  rectangle->left = rectangle->top = 0;
  rectangle->right = static_cast<short>(width);
  rectangle->bottom = static_cast<short>(height);
}

// Whether a damaged stream can cause this error. Other errors are failures of the GPU.
bool IsAboutThePicture(CUresult result) {
  const int code = static_cast<int>(result);
  return code == kCudaInvalidValue || code == kCudaInvalidImage || code == kCudaMapFailed ||
         code == kCudaNotSupported;
}

absl::Status AsDataLoss(const absl::Status& status) {
  return absl::DataLossError(status.message());
}

}  // namespace

absl::StatusOr<std::unique_ptr<NvdecSurface>> NvdecSurface::Create(GpuDevice* device) {
  NVC_ASSIGN_OR_RETURN(CudaEvent ready, CudaEvent::Create(device));
  return std::unique_ptr<NvdecSurface>(new NvdecSurface(std::move(ready)));
}

absl::Status NvdecSurface::UsedOn(CUstream stream) {
  GpuDevice* const device = ready_.device();
  std::lock_guard<std::mutex> lock(mutex_);
  if (num_readers_ == readers_.size()) {
    absl::StatusOr<CudaEvent> event = CudaEvent::Create(device);
    if (!event.ok()) {
      // Without an event Unmap could not wait for the reader later, so that this waits now.
      const ScopedContext current(*device);
      NVC_RETURN_IF_ERROR(current.status());
      return device->Check(device->cuda().cuStreamSynchronize(stream), "cuStreamSynchronize");
    }
    readers_.push_back(std::move(event).value());
  }
  NVC_RETURN_IF_ERROR(readers_[num_readers_].Record(stream));
  ++num_readers_;
  return absl::OkStatus();
}

absl::Status NvdecSurface::WaitForReaders() {
  std::lock_guard<std::mutex> lock(mutex_);
  while (num_readers_ > 0) {
    NVC_RETURN_IF_ERROR(readers_[num_readers_ - 1].Synchronize());
    --num_readers_;
  }
  return absl::OkStatus();
}

NvdecSession::NvdecSession(GpuDevice* device, const CuvidDriver* cuvid, const NvdecFormat& format,
                           int num_surfaces)
    : device_(device),
      cuvid_(*cuvid),
      format_(format),
      created_(format),
      num_surfaces_(num_surfaces) {}

absl::StatusOr<std::unique_ptr<NvdecSession>> NvdecSession::Create(GpuDevice* device,
                                                                   const CuvidDriver* cuvid,
                                                                   const NvdecFormat& format,
                                                                   int min_surfaces) {
  std::unique_ptr<NvdecSession> session(
      new NvdecSession(device, cuvid, format, NumSurfaces(min_surfaces)));
  NVC_RETURN_IF_ERROR(session->Initialize());
  return session;
}

absl::Status NvdecSession::Initialize() {
  const ScopedContext current(*device_);
  NVC_RETURN_IF_ERROR(current.status());
  NVC_ASSIGN_OR_RETURN(stream_, CudaStream::Create(device_));
  for (auto& surface : surfaces_) {
    NVC_ASSIGN_OR_RETURN(surface, NvdecSurface::Create(device_));
  }
  CUVIDDECODECREATEINFO info = {};
  info.CodecType = format_.codec;
  info.ChromaFormat = format_.chroma;
  info.bitDepthMinus8 = static_cast<tcu_ulong>(format_.bit_depth - 8);
  info.OutputFormat = NvdecSurfaceFormat(format_.chroma, format_.bit_depth);
  info.DeinterlaceMode = cudaVideoDeinterlaceMode_Weave;
  info.ulCreationFlags = cudaVideoCreate_PreferCUVID;
  const int width = Even(format_.width), height = Even(format_.height);
  info.ulWidth = info.ulMaxWidth = info.ulTargetWidth = static_cast<tcu_ulong>(width);
  info.ulHeight = info.ulMaxHeight = info.ulTargetHeight = static_cast<tcu_ulong>(height);
  SetWhole(width, height, &info.display_area);
  info.ulNumDecodeSurfaces = static_cast<tcu_ulong>(num_surfaces_);
  info.ulNumOutputSurfaces = kOutputSurfaces;
  return device_->Check(cuvid_.cuvidCreateDecoder(&decoder_, &info),
                        absl::StrCat("opening an NVDEC session of ", width, "x", height, " (about ",
                                     bytes() >> 20, " MiB, ", num_surfaces_, " surfaces)"));
}

NvdecSession::~NvdecSession() {
  const ScopedContext current(*device_);
  if (decoder_ == nullptr || !current.status().ok()) return;
  for (const auto& surface : surfaces_) {
    if (surface->mapped()) Unmap(surface.get()).IgnoreError();
  }
  cuvid_.cuvidDestroyDecoder(decoder_);
}

size_t NvdecSession::bytes() const {
  const size_t luma = static_cast<size_t>(Even(created_.width)) *
                      static_cast<size_t>(Even(created_.height)) * (created_.bit_depth > 8 ? 2 : 1);
  const size_t picture = created_.chroma == cudaVideoChromaFormat_444 ? luma * 3 : luma * 3 / 2;
  return picture * static_cast<size_t>(num_surfaces_ + kOutputSurfaces);
}

bool NvdecSession::IsFor(const NvdecFormat& format, int min_surfaces) const {
  return SameKind(format, format_) && format.width == format_.width &&
         format.height == format_.height && NumSurfaces(min_surfaces) <= num_surfaces_;
}

bool NvdecSession::CanBecome(const NvdecFormat& format, int min_surfaces) const {
  return SameKind(format, format_) && format.width <= created_.width &&
         format.height <= created_.height && NumSurfaces(min_surfaces) <= num_surfaces_;
}

absl::Status NvdecSession::Reconfigure(const NvdecFormat& format) {
  const ScopedContext current(*device_);
  NVC_RETURN_IF_ERROR(current.status());
  for (const auto& surface : surfaces_) {
    if (surface->mapped()) NVC_RETURN_IF_ERROR(Unmap(surface.get()));
  }
  CUVIDRECONFIGUREDECODERINFO info = {};
  const int width = Even(format.width), height = Even(format.height);
  info.ulWidth = info.ulTargetWidth = static_cast<unsigned int>(width);
  info.ulHeight = info.ulTargetHeight = static_cast<unsigned int>(height);
  info.ulNumDecodeSurfaces = static_cast<unsigned int>(num_surfaces_);
  SetWhole(width, height, &info.display_area);
  const absl::Status status =
      device_->Check(cuvid_.cuvidReconfigureDecoder(decoder_, &info),
                     absl::StrCat("reconfiguring an NVDEC session to ", width, "x", height));
  if (!status.ok()) return Fail(status);
  format_ = format;
  return absl::OkStatus();
}

absl::Status NvdecSession::Decode(CUVIDPICPARAMS* picture) {
  const ScopedContext current(*device_);
  NVC_RETURN_IF_ERROR(current.status());
  const CUresult result = cuvid_.cuvidDecodePicture(decoder_, picture);
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const absl::Status status = device_->Check(result, "cuvidDecodePicture");
  return Fail(IsAboutThePicture(result) ? AsDataLoss(status) : status);
}

absl::StatusOr<NvdecSurface*> NvdecSession::Map(const CUVIDPARSERDISPINFO& info) {
  const ScopedContext current(*device_);
  NVC_RETURN_IF_ERROR(current.status());
  NVC_ASSIGN_OR_RETURN(NvdecSurface* const surface, FreeSurface());
  CUVIDPROCPARAMS params = {};
  // This outputs both fields in one picture, as software decoders do. The parser's own flag is not
  // reliable for single frames.
  params.progressive_frame = 1;
  params.top_field_first = info.top_field_first;
  params.unpaired_field = info.repeat_first_field < 0;
  params.output_stream = stream_.get();
  unsigned long long memory = 0;
  unsigned int pitch = 0;
  const CUresult result =
      cuvid_.cuvidMapVideoFrame64(decoder_, info.picture_index, &memory, &pitch, &params);
  if (result != CUDA_SUCCESS) {
    const absl::Status status = device_->Check(result, "cuvidMapVideoFrame");
    return Fail(IsAboutThePicture(result) ? AsDataLoss(status) : status);
  }
  surface->memory_ = memory;
  surface->pitch_ = pitch;
  surface->rows_ = Even(format_.height);
  NVC_RETURN_IF_ERROR(ReadStatus(info.picture_index, surface));
  const absl::Status recorded = surface->ready_.Record(stream_.get());
  if (!recorded.ok()) return Fail(recorded);
  surface->held_.store(true, std::memory_order_relaxed);
  return surface;
}

// Call this when the picture is mapped: then it is decoded and its status is final.
absl::Status NvdecSession::ReadStatus(int picture, NvdecSurface* surface) {
  surface->concealed_ = surface->broken_ = false;
  CUVIDGETDECODESTATUS status = {};
  const CUresult result = cuvid_.cuvidGetDecodeStatus(decoder_, picture, &status);
  // Many codecs have no status.
  if (result == static_cast<CUresult>(kCudaNotSupported)) return absl::OkStatus();
  if (result != CUDA_SUCCESS) return Fail(device_->Check(result, "cuvidGetDecodeStatus"));
  surface->concealed_ = status.decodeStatus == cuvidDecodeStatus_Error_Concealed;
  surface->broken_ = status.decodeStatus == cuvidDecodeStatus_Error;
  return absl::OkStatus();
}

absl::StatusOr<NvdecSurface*> NvdecSession::FreeSurface() {
  // The search starts at the surface mapped first, because its readers are the likeliest to be
  // done.
  for (size_t i = 0; i < surfaces_.size(); ++i) {
    NvdecSurface* const surface = surfaces_[next_surface_].get();
    next_surface_ = (next_surface_ + 1) % surfaces_.size();
    if (surface->held_.load(std::memory_order_acquire)) continue;
    if (surface->mapped()) NVC_RETURN_IF_ERROR(Unmap(surface));
    return surface;
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "all ", kOutputSurfaces, " pictures that an NVDEC session can show at a time are held"));
}

absl::Status NvdecSession::Unmap(NvdecSurface* surface) {
  const absl::Status waited = surface->WaitForReaders();
  if (!waited.ok()) Fail(waited).IgnoreError();
  const CUresult result = cuvid_.cuvidUnmapVideoFrame64(decoder_, surface->memory_);
  surface->memory_ = 0;
  if (!waited.ok()) return waited;
  if (result != CUDA_SUCCESS) return Fail(device_->Check(result, "cuvidUnmapVideoFrame"));
  return absl::OkStatus();
}

absl::Status NvdecSession::Fail(absl::Status status) {
  failed_ = true;
  return status;
}

}  // namespace nvc
