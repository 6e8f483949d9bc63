// How long-running core calls learn that nobody wants their result any more.
#ifndef TF_NVCODEC_CORE_BASE_CANCELLATION_H_
#define TF_NVCODEC_CORE_BASE_CANCELLATION_H_

#include <functional>

namespace nvc {

// Polled between packets, from any thread; empty means never cancelled.
using Cancelled = std::function<bool()>;

inline bool IsCancelled(const Cancelled& cancelled) { return cancelled && cancelled(); }

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_CANCELLATION_H_
