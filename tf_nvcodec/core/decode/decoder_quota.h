// Limits how many decoders each read may have when several reads share the decoders' hardware.
#ifndef TF_NVCODEC_CORE_DECODE_DECODER_QUOTA_H_
#define TF_NVCODEC_CORE_DECODE_DECODER_QUOTA_H_

#include <functional>

namespace nvc {

// The quota of one read. The read's workers call it from their threads, each for its own decoder.
class DecoderQuota {
 public:
  virtual ~DecoderQuota() = default;
  // Waits until the read may have one more decoder, and returns true. The first decoder of a read
  // never waits. Returns false as soon as enough() says that the read needs no more; Take calls it
  // again after each GiveBack and AskAgain.
  virtual bool Take(const std::function<bool()>& enough) = 0;
  // False when another read is waiting and has at least two decoders fewer. The caller must then
  // close its decoder and call GiveBack.
  virtual bool MayKeep() = 0;
  virtual void GiveBack() = 0;
  // Call this when enough() may have become true.
  virtual void AskAgain() = 0;
};

// Holds one decoder of a quota. Without a quota (null) there is no limit.
class DecoderLease {
 public:
  explicit DecoderLease(DecoderQuota* quota) : quota_(quota) {}
  ~DecoderLease() { End(); }
  DecoderLease(const DecoderLease&) = delete;
  DecoderLease& operator=(const DecoderLease&) = delete;

  // Takes a decoder from the quota unless it holds one already. Returns false when the read needs
  // no more decoders.
  bool Begin(const std::function<bool()>& enough) {
    if (quota_ != nullptr && !held_) held_ = quota_->Take(enough);
    return quota_ == nullptr || held_;
  }
  bool IsOver() const { return held_ && !quota_->MayKeep(); }
  // Gives the decoder back. Close the decoder first.
  void End() {
    if (held_) quota_->GiveBack();
    held_ = false;
  }

 private:
  DecoderQuota* const quota_;
  bool held_ = false;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_DECODER_QUOTA_H_
