// The driver's parser of packets, with its callbacks as calls of an object.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_PARSER_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

// Called inside Parse, on its thread.
class NvdecParserEvents {
 public:
  virtual ~NvdecParserEvents() = default;
  // The first sequence header, and each that says something else than the one before. Gives the
  // number of surfaces that the parser may spread pictures over, above 1; 0 ends parsing.
  virtual int OnSequence(const CUVIDEOFORMAT& format) = 0;
  // A picture, or a field of one, to be decoded into surface CurrPicIdx. False ends parsing.
  virtual bool OnPicture(CUVIDPICPARAMS* picture) = 0;
  // That surface is to be shown next. The parser may have another picture decoded into it as soon
  // as this returns.
  virtual void OnDisplay(const CUVIDPARSERDISPINFO& info) = 0;
};

class NvdecParser {
 public:
  // `events` must outlive it.
  static absl::StatusOr<std::unique_ptr<NvdecParser>> Create(GpuDevice* device,
                                                             const CuvidDriver* cuvid,
                                                             cudaVideoCodec codec,
                                                             NvdecParserEvents* events);
  ~NvdecParser();
  NvdecParser(const NvdecParser&) = delete;
  NvdecParser& operator=(const NvdecParser&) = delete;

  // `whole`: the bytes are exactly one picture or one field, which is then decoded at once, not
  // only when the next one begins; anything behind it would be lost.
  absl::Status Parse(const uint8_t* data, size_t size, bool whole);
  // No more bytes: all pictures are decoded and shown.
  absl::Status Finish();

 private:
  NvdecParser(GpuDevice* device, const CuvidDriver* cuvid) : device_(device), cuvid_(*cuvid) {}
  absl::Status Parse(CUVIDSOURCEDATAPACKET* packet);

  GpuDevice* const device_;
  const CuvidDriver& cuvid_;
  CUvideoparser parser_ = nullptr;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_PARSER_H_
