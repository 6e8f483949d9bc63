// Which frames make up the clips of a video.
#ifndef TF_NVCODEC_CORE_CLIPS_CLIP_SPEC_H_
#define TF_NVCODEC_CORE_CLIPS_CLIP_SPEC_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// Where clips begin: one `step` after the other, evenly from the first possible place to the last
// one, at random places, in the middle, at the beginning, or at given times.
enum class ClipSampling { kAll, kUniform, kRandom, kCenter, kStart, kAt };
absl::StatusOr<ClipSampling> ParseClipSampling(absl::string_view name);

// What fills a clip that ends after its video: nothing (there is no such clip), black frames, the
// last frame, or the video from its beginning.
enum class ClipPad { kDrop, kZero, kRepeat, kWrap };
absl::StatusOr<ClipPad> ParseClipPad(absl::string_view name);

struct Clip {
  std::vector<int64_t> frames;  // display indices, padding that repeats frames included
  int64_t own = 0;              // the first `own` of them are not padding
  int64_t zeros = 0;            // black frames that follow
};

// Positions are the video's frames, or, with `period`, moments `period` seconds apart from the
// first frame's pts to the end of the last frame, at each of which one frame is on screen.
struct ClipSpec {
  int64_t length = 16;  // frames
  int64_t stride = 1;   // positions from one frame to the next
  double period = 0;    // seconds; 0: positions are frames
  ClipSampling sampling = ClipSampling::kAll;
  int64_t step = 16;            // kAll: positions from the beginning of one clip to the next one's
  int64_t clips_per_video = 1;  // of every other sampling but kAt
  ClipPad pad = ClipPad::kRepeat;

  // InvalidArgument names the field and what it may be.
  absl::Status Validate() const;

  // Positions from the first frame of a clip to the last one, both included.
  int64_t Span() const { return (length - 1) * stride + 1; }

  // kAll: the clips of a video; what is left at its end is no clip, unless it is all there is.
  int64_t CountAll(const FrameIndex& index) const;

  // Clip `clip` of a video; not for kAt. `seed` decides about kRandom. NotFound: the video is too
  // short for it and `pad` is kDrop. InvalidArgument: there is no such clip.
  absl::StatusOr<Clip> Select(const FrameIndex& index, int64_t clip, uint64_t seed) const;

  // The clip that begins with the frame on screen at `seconds`. InvalidArgument: none is.
  absl::StatusOr<Clip> SelectAt(const FrameIndex& index, double seconds) const;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CLIPS_CLIP_SPEC_H_
