// The C API of libtf_nvcodec.so, which Python calls with ctypes: every function is one of these.
#ifndef TF_NVCODEC_CAPI_EXPORT_H_
#define TF_NVCODEC_CAPI_EXPORT_H_

// The library exports what begins with nvc_, and nothing else (build_defs/exports.lds).
#define NVC_API extern "C" __attribute__((visibility("default")))

#endif  // TF_NVCODEC_CAPI_EXPORT_H_
