#include "policy/transaction/ledger.h"

#include <utility>

#include "policy/transaction/host_file_text.h"

namespace native_runner {
namespace {

constexpr std::string_view kLedgerVersion = "ledger 1";
constexpr std::uint64_t kIsSuspect = 1;
constexpr std::uint64_t kHasHost = 2;

bool TakeBaseline(std::string_view* rest, Ledger* ledger) {
  std::string path;
  Baseline baseline;
  std::uint64_t flags = 0;
  if (!TakeField(rest, &path) || path.empty() || !TakeNumber(rest, &flags) ||
      flags > (kIsSuspect | kHasHost) || !TakeNumber(rest, &baseline.since_ns)) {
    return false;
  }
  baseline.is_suspect = (flags & kIsSuspect) != 0;
  if ((flags & kHasHost) != 0 && !TakeHostFile(rest, &baseline.host.emplace())) return false;
  return ledger->baselines.emplace(std::move(path), baseline).second;
}

}  // namespace

bool HostHasChanged(const Baseline& baseline, const std::optional<HostFile>& now, bool is_hidden) {
  if (baseline.is_suspect || baseline.host.has_value() != now.has_value()) return true;
  if (!now) return false;
  if (!now->is_directory() || !baseline.host->is_directory()) return *now != *baseline.host;
  if (!now->IsSameInode(*baseline.host) || !now->HasSameAttributes(*baseline.host)) return true;
  return is_hidden && now->changed_ns != baseline.host->changed_ns;
}

std::uint64_t SinceAbove(const Ledger& ledger, std::string_view path) {
  for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos;
       slash = path.rfind('/')) {
    path = path.substr(0, slash);
    const auto above = ledger.baselines.find(path);
    if (above != ledger.baselines.end()) return above->second.since_ns;
  }
  return ledger.looked_ns;
}

std::string EncodeLedger(const Ledger& ledger) {
  std::string text;
  PutField(&text, kLedgerVersion);
  PutNumber(&text, ledger.looked_ns);
  for (const auto& [path, baseline] : ledger.baselines) {
    PutField(&text, path);
    PutNumber(&text, (baseline.is_suspect ? kIsSuspect : 0) | (baseline.host ? kHasHost : 0));
    PutNumber(&text, baseline.since_ns);
    if (baseline.host) PutHostFile(&text, *baseline.host);
  }
  return text;
}

Result<Ledger> DecodeLedger(std::string_view text) {
  Ledger ledger;
  std::string version;
  bool is_whole = TakeField(&text, &version) && version == kLedgerVersion &&
                  TakeNumber(&text, &ledger.looked_ns);
  while (is_whole && !text.empty())
    is_whole = TakeBaseline(&text, &ledger);
  if (is_whole) return ledger;
  return Error{ErrorCode::kSetup, "the transaction's ledger is not whole", ""};
}

}  // namespace native_runner
