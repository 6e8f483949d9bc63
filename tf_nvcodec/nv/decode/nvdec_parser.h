// Wraps the NVIDIA driver's parser, which reads packets and reports sequences and pictures. Its
// callbacks become calls of an object.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_PARSER_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

// The parser calls these inside Parse and Finish, on the caller's thread.
class NvdecParserEvents {
 public:
  virtual ~NvdecParserEvents() = default;
  // Called for the first sequence header and for each one that differs from the one before. Returns
  // the number of decode surfaces that the parser may use, above 1; 0 ends parsing.
  virtual int OnSequence(const CUVIDEOFORMAT& format) = 0;
  // Called to decode a picture, or one field of it, into surface CurrPicIdx. Returns false to end
  // parsing.
  virtual bool OnPicture(CUVIDPICPARAMS* picture) = 0;
  // Called in display order for each picture to show. As soon as this returns, the parser may
  // decode another picture into the same surface.
  virtual void OnDisplay(const CUVIDPARSERDISPINFO& info) = 0;
};

class NvdecParser {
 public:
  // `events` must outlive the parser.
  static absl::StatusOr<std::unique_ptr<NvdecParser>> Create(GpuDevice* device,
                                                             const CuvidDriver* cuvid,
                                                             cudaVideoCodec codec,
                                                             NvdecParserEvents* events);
  ~NvdecParser();
  NvdecParser(const NvdecParser&) = delete;
  NvdecParser& operator=(const NvdecParser&) = delete;

  // Parses some bytes of the stream. With `whole` they must be exactly one picture or one field.
  // The parser then decodes it at once, instead of when the next one begins, and ignores any bytes
  // after it.
  absl::Status Parse(const uint8_t* data, size_t size, bool whole);
  // Ends the stream: the parser decodes and displays all remaining pictures.
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
