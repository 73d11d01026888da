#include "supervise/network/relay/relay.h"

#include <utility>

namespace native_runner {
namespace {

// Of what a command had sent when it ended: more than the kernel holds for a connection.
constexpr int kDrainTurns = 64;

bool IsReadable(OneWay::Needs needs) {
  return needs == OneWay::Needs::kMore || needs == OneWay::Needs::kTurn;
}

}  // namespace

void Relay::Start(OnChange on_change) {
  on_change_ = std::move(on_change);
  client_.set_callback([this] { Pump(); });
  host_.set_callback([this] { Pump(); });
  Pump();
}

void Relay::Pump() {
  const OneWay::Needs out = out_.Pump();
  const OneWay::Needs in = in_.Pump();
  // A target that is broken may have sent something before, which the other direction hands on
  // until it ends; where a source is broken there is nothing left to be done.
  has_ended_ =
      (out_.has_ended() && in_.has_ended()) || out_.is_source_broken() || in_.is_source_broken();
  if (has_ended_) {
    const bool is_broken = out_.is_broken() || in_.is_broken();
    if (is_broken) {
      client_.Reset();
      host_.Reset();
    } else {
      client_.Close();
      host_.Close();
    }
  } else {
    client_.Want((IsReadable(out) ? UV_READABLE : 0) |
                 (in == OneWay::Needs::kRoom ? UV_WRITABLE : 0));
    host_.Want((IsReadable(in) ? UV_READABLE : 0) |
               (out == OneWay::Needs::kRoom ? UV_WRITABLE : 0));
  }
  const OnChange on_change = on_change_;
  if (on_change) on_change();
}

void Relay::Drain() {
  for (int turn = 0; turn < kDrainTurns && out_.Pump() == OneWay::Needs::kTurn; ++turn) {
  }
  has_ended_ = true;
  client_.Close();
  host_.Close();
}

}  // namespace native_runner
