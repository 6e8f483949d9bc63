// Marks the C functions that libtf_nvcodec.so exports for Python's ctypes.
#ifndef TF_NVCODEC_CAPI_EXPORT_H_
#define TF_NVCODEC_CAPI_EXPORT_H_

// The library exports names that begin with nvc_ and nothing else (build_defs/exports.lds).
#define NVC_API extern "C" __attribute__((visibility("default")))

#endif  // TF_NVCODEC_CAPI_EXPORT_H_
