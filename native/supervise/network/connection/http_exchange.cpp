// How HttpConversation has one request answered.
#include <utility>

#include "policy/network/http/forward.h"
#include "supervise/network/connection/http_conversation.h"
#include "supervise/network/connection/relayed.h"
#include "supervise/network/connection/replies.h"

namespace native_runner {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{16} << 10U;
constexpr int kExchangeTurns = 16;
constexpr unsigned kBadBody = 400;

}  // namespace

void HttpConversation::BeginExchange() {
  phase_ = Phase::kExchange;
  answered_ = 0;
  body_.emplace(request_);
  response_.emplace(request_);
  host_.output += ForwardedHead(request_, request_.closes);
  client_.set_callback([this] { Exchange(); });
  host_.set_callback([this] { Exchange(); });
  Exchange();
}

void HttpConversation::Exchange() {
  TimeOutIn(parts().options->idle_ms);
  bool moves = true;
  for (int turn = 0; turn < kExchangeTurns && moves && phase_ == Phase::kExchange; ++turn) {
    const std::uint64_t before = host_.sent() + client_.sent() + answered_;
    if (!SendBody()) return;
    if (!host_.Flush()) is_host_deaf_ = true;
    if (is_host_deaf_) host_.output.clear();
    record_->record.bytes_out = host_.sent();
    if (!TakeAnswer()) return;
    if (!client_.Flush()) return Abort("the client closed the connection");
    if (HasEnded()) return;
    moves = host_.sent() + client_.sent() + answered_ != before;
  }
  WantForExchange();
}

// False: it is over.
bool HttpConversation::SendBody() {
  while (body_->state() == BodyState::kNeedsMore && host_.output.size() < kPieceBytes &&
         !is_host_deaf_) {
    if (client_.input.empty()) {
      const SocketStream::ReadState read = client_.Read(kPieceBytes);
      if (read == SocketStream::ReadState::kNothing) break;
      if (read != SocketStream::ReadState::kSome) {
        Abort("the client ended within its request");
        return false;
      }
    }
    const std::size_t size = body_->Feed(client_.input);
    host_.output.append(client_.input, 0, size);
    client_.input.erase(0, size);
  }
  if (body_->state() != BodyState::kMalformed) return true;
  record_->record.reason = "the body of its request is malformed";
  host_.Reset();
  if (answered_ == 0) {
    client_.output += HttpRefusal(kBadBody, "the body of the request is malformed");
    SayFarewell();
  } else {
    Abort("");
  }
  return false;
}

// False: it is over.
bool HttpConversation::TakeAnswer() {
  while (!is_host_over_ && client_.output.size() < kPieceBytes &&
         (response_->state() == ResponseState::kNeedsMore ||
          response_->state() == ResponseState::kUntilClose)) {
    if (host_.input.empty()) {
      const SocketStream::ReadState read = host_.Read(kPieceBytes);
      if (read == SocketStream::ReadState::kNothing) break;
      if (read == SocketStream::ReadState::kEnd) is_host_over_ = true;
      if (read == SocketStream::ReadState::kError) {
        is_host_over_ = true;
        // Where only the end says that it is whole, it is not.
        if (response_->state() == ResponseState::kUntilClose) {
          AnswerBroke();
          return false;
        }
      }
      if (is_host_over_) break;
    }
    const std::size_t size = response_->Feed(host_.input);
    client_.output.append(host_.input, 0, size);
    host_.input.erase(0, size);
    answered_ += size;
    record_->record.bytes_in += size;
  }
  return true;
}

// True: the answer is over, and something else goes on.
bool HttpConversation::HasEnded() {
  if (!client_.output.empty()) return false;
  switch (response_->state()) {
    case ResponseState::kUpgraded:
      Upgrade();
      return true;
    case ResponseState::kComplete:
      if (body_->state() == BodyState::kNeedsMore && !is_host_deaf_ && !is_host_over_) return false;
      AnswerEnded();
      return true;
    case ResponseState::kUntilClose:
      if (!is_host_over_) return false;
      SayFarewell();
      return true;
    case ResponseState::kNeedsMore:
      if (!is_host_over_) return false;
      AnswerBroke();
      return true;
  }
  return false;
}

void HttpConversation::AnswerEnded() {
  const bool goes_on = body_->state() == BodyState::kComplete && !request_.closes &&
                       response_->keeps() && host_.input.empty() && !is_host_deaf_;
  if (goes_on) return ReadNextHead();
  SayFarewell();
}

void HttpConversation::AnswerBroke() {
  record_->record.reason = "the host closed the connection without a whole answer";
  if (answered_ > 0 || is_reused_) {
    // A kept connection that the host has closed meanwhile: the client asks again, as it would
    // without us.
    return Abort("the host closed the connection without a whole answer");
  }
  client_.output += HttpRefusal(
      HttpStatusOf(DialState::kFailed),
      RefusalText(request_.host, AskedPort(), "it closed the connection without an answer"));
  SayFarewell();
}

void HttpConversation::Upgrade() {
  phase_ = Phase::kOver;
  record_->record.bytes_out = host_.sent();
  Become(std::make_unique<Relayed>(&parts(), connections(), started_ns(), std::move(client_),
                                   std::move(host_), std::move(record_)));
}

void HttpConversation::WantForExchange() {
  const bool sends = body_->state() == BodyState::kNeedsMore && !is_host_deaf_ &&
                     host_.output.size() < kPieceBytes;
  client_.Want((sends ? UV_READABLE : 0) | (client_.output.empty() ? 0 : UV_WRITABLE));
  const bool reads = !is_host_over_ && response_->state() != ResponseState::kComplete &&
                     client_.output.size() < kPieceBytes;
  host_.Want((reads ? UV_READABLE : 0) | (host_.output.empty() ? 0 : UV_WRITABLE));
}

}  // namespace native_runner
