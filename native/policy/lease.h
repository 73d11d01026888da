#pragma once

#include <atomic>
#include <cstdint>

namespace native_runner {

// What runs may be given: they go on only for as long as somebody says in time that they are still
// wanted. Once its end has passed it stays so. Any thread; times are nanoseconds of one clock,
// which is for whoever uses it to choose, and to read.
class Lease {
 public:
  static constexpr std::uint64_t kMostMs = 2'147'483'647;  // 24.8 days

  Lease(std::uint64_t term_ms, std::uint64_t now_ns)
      : term_ms_(term_ms), until_ns_(now_ns + term_ns()) {}

  std::uint64_t term_ms() const { return term_ms_; }
  std::uint64_t until_ns() const { return until_ns_; }
  bool HasEnded(std::uint64_t now_ns) const { return now_ns >= until_ns_; }

  // From now on for another term. False: it had ended.
  bool Renew(std::uint64_t now_ns) {
    std::uint64_t until = until_ns_;
    while (now_ns < until) {
      const std::uint64_t later = now_ns + term_ns();
      if (later <= until || until_ns_.compare_exchange_weak(until, later)) return true;
    }
    return false;
  }

 private:
  std::uint64_t term_ns() const { return term_ms_ * 1'000'000; }

  std::uint64_t term_ms_;
  std::atomic<std::uint64_t> until_ns_;
};

}  // namespace native_runner
