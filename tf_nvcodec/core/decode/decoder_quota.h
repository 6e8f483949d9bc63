// How many decoders a read may have at a time, where reads share what decodes.
#ifndef TF_NVCODEC_CORE_DECODE_DECODER_QUOTA_H_
#define TF_NVCODEC_CORE_DECODE_DECODER_QUOTA_H_

#include <functional>

namespace nvc {

// Of one read; its workers call it, each for a decoder of its own.
class DecoderShare {
 public:
  virtual ~DecoderShare() = default;
  // Waits until the read may have one more, at once where it has none. False: it has `enough`,
  // which is asked again with each GiveBack and AskAgain, and gets none.
  virtual bool Take(const std::function<bool()>& enough) = 0;
  // False: another read waits and has fewer by two or more; this one is to be given back.
  virtual bool MayKeep() = 0;
  virtual void GiveBack() = 0;
  // To be called when there may be enough now.
  virtual void AskAgain() = 0;
};

// One decoder of a share; without a share there is no limit.
class DecoderTurn {
 public:
  explicit DecoderTurn(DecoderShare* share) : share_(share) {}
  ~DecoderTurn() { End(); }
  DecoderTurn(const DecoderTurn&) = delete;
  DecoderTurn& operator=(const DecoderTurn&) = delete;

  // False: none is needed any more.
  bool Begin(const std::function<bool()>& enough) {
    if (share_ != nullptr && !held_) held_ = share_->Take(enough);
    return share_ == nullptr || held_;
  }
  bool IsOver() const { return held_ && !share_->MayKeep(); }
  // Of a decoder that is closed.
  void End() {
    if (held_) share_->GiveBack();
    held_ = false;
  }

 private:
  DecoderShare* const share_;
  bool held_ = false;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_DECODER_QUOTA_H_
