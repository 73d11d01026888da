#pragma once

#include <llhttp.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace native_runner {

struct HttpField {
  std::string name;   // as written
  std::string value;  // without the blanks around it
};

// Why a request is refused.
enum class HttpFault {
  kRequestLine,
  kVersion,
  kTarget,
  kScheme,
  kHost,
  kField,
  kFraming,
  kConnection,
};

// The most fields that a head may have, of those that are kept.
inline constexpr std::size_t kMostHttpFields = 256;

// Reads the head of one HTTP/1 message by llhttp in its strict mode, in pieces of any size: each
// byte once, and nothing behind the empty line. Refuses what llhttp lets through and recipients may
// read differently: versions other than 1.0 and 1.1, several blanks in a request line. Bounds the
// number of fields, not the size, and checks no more of a target than llhttp does. Copyable.
class HeadParser {
 public:
  enum class Kind {
    kRequest,   // with one of the methods that llhttp knows
    kResponse,  // of whose fields only those about framing and the connection are kept
  };
  enum class State { kNeedsMore, kComplete, kRefused };

  explicit HeadParser(Kind kind);

  // Takes the head's bytes off the front of `bytes` and returns their number. Takes nothing once
  // the state has left kNeedsMore.
  std::size_t Feed(std::string_view bytes);

  State state() const { return state_; }
  HttpFault fault() const { return fault_; }  // in kRefused

  // In kComplete.
  std::string& target() { return target_; }  // of a request, as written
  unsigned minor_version() const { return parser_.http_minor; }
  unsigned status() const { return parser_.status_code; }  // of a response
  std::vector<HttpField>& fields() { return fields_; }

 private:
  static const llhttp_settings_t kSettings;

  static HeadParser* Of(llhttp_t* parser) { return static_cast<HeadParser*>(parser->data); }
  std::uint64_t OffsetOf(const char* at) const {
    return fed_ + static_cast<std::uint64_t>(at - piece_);
  }
  int Refuse(HttpFault fault);
  HttpFault FaultOf(llhttp_errno_t error) const;

  int OnMethod(const char* at, std::size_t size);
  int OnTarget(const char* at, std::size_t size);
  int OnTargetComplete();
  int OnVersion(const char* at);
  int OnVersionComplete();
  int OnFieldName(const char* at, std::size_t size);
  int OnFieldNameComplete();
  int OnFieldValue(const char* at, std::size_t size);
  int OnFieldValueComplete();

  llhttp_t parser_{};
  State state_ = State::kNeedsMore;
  HttpFault fault_ = HttpFault::kRequestLine;
  bool is_refused_by_us_ = false;
  const char* piece_ = nullptr;  // during Feed
  std::uint64_t fed_ = 0;        // bytes before piece_
  std::uint64_t next_part_ = 0;  // where the next part of the request line has to begin
  bool has_version_begun_ = false;
  bool has_version_ = false;
  bool is_within_field_ = false;
  bool keeps_field_ = true;
  std::string target_;
  HttpField field_;  // the one that is being read
  std::vector<HttpField> fields_;
};

}  // namespace native_runner
