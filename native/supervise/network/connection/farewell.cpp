#include "supervise/network/connection/farewell.h"

namespace native_runner {
namespace {

constexpr std::size_t kPartBytes = std::size_t{16} << 10U;
constexpr int kTurns = 16;

}  // namespace

void Farewell::Start() {
  TimeOutIn(parts().options->head_ms);
  client_.set_callback([this] { Step(); });
  Step();
}

void Farewell::Step() {
  if (!client_.Flush()) return Over();
  if (client_.output.empty() && !is_shut_) {
    is_shut_ = true;
    client_.ShutWrite();
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    client_.input.clear();
    const SocketStream::ReadState state = client_.Read(kPartBytes);
    if (state == SocketStream::ReadState::kNothing) break;
    if (state == SocketStream::ReadState::kError) return Over();
    if (state != SocketStream::ReadState::kEnd) continue;
    if (is_shut_) return Over();
    client_.Want(UV_WRITABLE);  // it sends no more, and reads
    return;
  }
  client_.Want(UV_READABLE | (client_.output.empty() ? 0 : UV_WRITABLE));
}

void Farewell::Over() {
  client_.Close();
  End();
}

}  // namespace native_runner
