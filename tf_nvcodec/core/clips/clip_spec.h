// Chooses the frames that make up the clips of a video.
#ifndef TF_NVCODEC_CORE_CLIPS_CLIP_SPEC_H_
#define TF_NVCODEC_CORE_CLIPS_CLIP_SPEC_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/format/frame_format.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// Where clips begin. kAll: every `step` positions. kUniform: spread evenly from the first possible
// place to the last. kRandom: at random places. kCenter: in the middle. kStart: at the beginning.
// kAt: at given times.
enum class ClipSampling { kAll, kUniform, kRandom, kCenter, kStart, kAt };
absl::StatusOr<ClipSampling> ParseClipSampling(absl::string_view name);

// What fills a clip that goes beyond the end of its video. kDrop: nothing, there is no such clip.
// kZero: black frames. kRepeat: the last frame. kWrap: the video from its beginning.
enum class ClipPad { kDrop, kZero, kRepeat, kWrap };
absl::StatusOr<ClipPad> ParseClipPad(absl::string_view name);

// The part of a video in which clips are chosen: the frames that appear at `start` seconds or
// later, and before `end`. Sampling and padding take it for a whole video.
struct TimeSegment {
  double start = -std::numeric_limits<double>::infinity();
  double end = std::numeric_limits<double>::infinity();

  // Returns InvalidArgument unless 0 <= start < end.
  absl::Status Validate() const;
};

struct Clip {
  std::vector<int64_t> frames;  // display indices, including repeated frames of the padding
  int64_t own = 0;              // the first `own` of them are not padding
  int64_t zeros = 0;            // number of black frames that follow
  std::optional<Crop> crop;     // of this clip; without a value, the crop of all clips
  bool flip = false;            // see OutputSpec
};

// The rules for choosing clips. A position is a frame of the segment, or, if `period` is set, one
// of the moments that are `period` seconds apart from the first frame's pts to the end of the last
// frame or of the segment. A moment stands for the frame on screen then.
struct ClipSpec {
  int64_t length = 16;  // in frames
  int64_t stride = 1;   // positions from one frame to the next
  double period = 0;    // seconds; 0: positions are frames
  ClipSampling sampling = ClipSampling::kAll;
  int64_t step = 16;            // kAll: positions from the beginning of one clip to the next
  int64_t clips_per_video = 1;  // for all samplings but kAll and kAt
  ClipPad pad = ClipPad::kRepeat;

  // Returns InvalidArgument that names the field and its allowed values.
  absl::Status Validate() const;

  // Returns the number of positions from a clip's first frame to its last, including both.
  int64_t Span() const { return (length - 1) * stride + 1; }

  // Returns the number of clips for kAll. A rest at the segment's end that is shorter than a clip
  // does not count, unless it is the whole segment. A segment without frames counts as too short.
  int64_t CountAll(const FrameIndex& index, const TimeSegment& segment = {}) const;

  // Returns clip `clip` of a video, for samplings other than kAt. `seed` determines kRandom.
  // Returns NotFound when the segment has no frame, or is too short and `pad` is kDrop, and
  // InvalidArgument when there is no such clip.
  absl::StatusOr<Clip> Select(const FrameIndex& index, int64_t clip, uint64_t seed,
                              const TimeSegment& segment = {}) const;

  // Returns the clip that begins with the frame on screen at `seconds`, as FrameIndex::FrameAt
  // finds it, or with the segment's first frame if that one appears later. Returns InvalidArgument
  // when `seconds` is outside the segment or the video, else the same errors as Select.
  absl::StatusOr<Clip> SelectAt(const FrameIndex& index, double seconds, double tolerance = 0,
                                const TimeSegment& segment = {}) const;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CLIPS_CLIP_SPEC_H_
