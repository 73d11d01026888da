#include "effects/transaction/parts.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "effects/checkpoint/digests.h"
#include "policy/text/quote.h"
#include "policy/transaction/sha256.h"

namespace native_runner {
namespace {

bool IsBefore(const Change& one, const Change& other) {
  return one.path < other.path;
}

std::string DigestOf(const std::vector<std::uint8_t>& contents) {
  Sha256 digest;
  digest.Update(contents);
  return digest.Finish();
}

bool IsPart(const Change& change, const GivenContents& parts) {
  return parts.find(change.path) != parts.end();
}

void Insert(Change change, std::vector<Change>* changes) {
  const auto place = std::lower_bound(changes->begin(), changes->end(), change, IsBefore);
  changes->insert(place, std::move(change));
}

}  // namespace

Result<GivenContents> TakeParts(const ScannedTree& upper, const std::vector<Change>& chosen,
                                const GivenContents& given) {
  GivenContents parts;
  for (const auto& [path, contents] : given) {
    Change wanted;
    wanted.path = path;
    const auto change = std::lower_bound(chosen.begin(), chosen.end(), wanted, IsBefore);
    if (change == chosen.end() || change->path != path || !S_ISREG(change->mode)) {
      return Error{ErrorCode::kInvalidValue,
                   "Expected `contents` to name files that are committed, got " + QuotedShort(path),
                   ""};
    }
    std::vector<std::string> digests;
    if (change->size == contents.size()) MakeDigests(upper, {*change}, &digests);
    const bool is_whole = !digests.empty() && digests.front() == DigestOf(contents);
    if (!is_whole) parts.emplace(path, contents);
  }
  return parts;
}

std::vector<Change> WithoutParts(const std::vector<Change>& chosen, const GivenContents& parts) {
  std::vector<Change> whole;
  for (const Change& change : chosen)
    if (!IsPart(change, parts)) whole.push_back(change);
  return whole;
}

void TellParts(const std::vector<Change>& chosen, const GivenContents& parts,
               std::vector<Change>* committed, std::vector<std::string>* digests) {
  for (Change change : chosen) {
    if (!IsPart(change, parts)) continue;
    change.size = parts.find(change.path)->second.size();
    Insert(std::move(change), committed);
  }
  digests->resize(committed->size());
  for (std::size_t at = 0; at < committed->size(); ++at) {
    const auto part = parts.find((*committed)[at].path);
    if (part != parts.end()) (*digests)[at] = DigestOf(part->second);
  }
}

void LeaveParts(const std::vector<Change>& chosen, const GivenContents& parts,
                std::vector<Change>* left) {
  for (Change change : chosen) {
    const auto part = parts.find(change.path);
    if (part == parts.end()) continue;
    change.kind = Change::Kind::kModified;
    change.previous_size = part->second.size();
    change.previous_mode = change.mode;
    Insert(std::move(change), left);
  }
}

}  // namespace native_runner
