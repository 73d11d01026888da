#include "supervise/network/connection/dns_stream.h"

#include <span>

namespace native_runner {
namespace {

constexpr std::size_t kMostStreamInput = 2 + 0xffff;  // one question, of any length
constexpr std::size_t kMostWaiting = std::size_t{64} << 10U;
constexpr int kQuestions = 64;  // a wake-up

}  // namespace

void DnsStream::Start() {
  TimeOutIn(parts().options->head_ms);
  client_.set_callback([this] { Step(); });
  Step();
}

void DnsStream::Step() {
  const SocketStream::ReadState read = client_.Read(kMostStreamInput);
  if (read == SocketStream::ReadState::kError) return Over();
  bool is_more = true;
  for (int count = 0; count < kQuestions && client_.output.size() < kMostWaiting; ++count) {
    const std::span<const std::uint8_t> input(
        reinterpret_cast<const std::uint8_t*>(client_.input.data()), client_.input.size());
    const auto message = FirstDnsMessage(input);
    is_more = message.has_value();
    if (!is_more) break;
    const auto answer = responder_->Answer(*message, DnsTransport::kTcp);
    const std::size_t size = message->size() + 2;
    client_.input.erase(0, size);
    if (answer) client_.output.append(answer->begin(), answer->end());
    TimeOutIn(parts().options->head_ms);
  }
  if (!client_.Flush()) return Over();
  if (read == SocketStream::ReadState::kEnd && client_.output.empty() && !is_more) return Over();
  // Questions that have been read wait for no more bytes, but for their turn.
  const bool writes = !client_.output.empty() || is_more;
  const bool reads = client_.output.size() < kMostWaiting && read != SocketStream::ReadState::kEnd;
  client_.Want((reads ? UV_READABLE : 0) | (writes ? UV_WRITABLE : 0));
}

void DnsStream::Over() {
  client_.Close();
  End();
}

}  // namespace native_runner
