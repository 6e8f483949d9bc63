// One SVT-AV1 encoder at a time.
#ifndef TF_NVCODEC_CORE_SVT_AV1_TURN_H_
#define TF_NVCODEC_CORE_SVT_AV1_TURN_H_

#include <mutex>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/cancellation.h"

namespace nvc {

// SVT-AV1 keeps block geometry, lookup tables and the list of cores in globals that opening an
// encoder rewrites and closing one frees, under the encoders that run (seen with 1.4: crashes and
// hangs; its own guard came in 2026). So an encoder holds this from before it opens until after it
// closes. It spreads over the cores by itself.
using SvtAv1Turn = std::unique_lock<std::timed_mutex>;

// Waits for the encoders of other threads. Cancelled if `cancelled` says so meanwhile.
absl::StatusOr<SvtAv1Turn> WaitForSvtAv1Turn(const Cancelled& cancelled);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_SVT_AV1_TURN_H_
