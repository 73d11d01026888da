#include "workspace/transaction/space.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "policy/options/home.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "workspace/files/directory_entries.h"
#include "workspace/transaction/checkpoints.h"
#include "workspace/transaction/own_files.h"
#include "workspace/transaction/transaction_directory.h"
#include "workspace/tree/beneath.h"
#include "workspace/tree/file_stat.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

namespace {

constexpr std::uint64_t kMostEntries = 1ULL << 40U;

// A file with several names.
struct Linked {
  std::uint64_t bytes = 0;
  std::uint32_t links = 0;  // names that it has
  std::uint32_t seen = 0;   // those in the transaction

  bool is_shared() const { return seen < links; }
};

// Adds up one transaction.
class Measurement {
 public:
  explicit Measurement(std::string id) { space_.id = std::move(id); }

  std::optional<Error> Add(Descriptor directory) {
    const auto visit = [this](int parent, const NamedType& entry, const std::string& path) {
      return Visit(parent, entry.name, path);
    };
    // To let its owner in for a moment would be in the way of whoever scans the transaction, and
    // does the same.
    bool has_closed = false;
    const WalkRule rule = {.recursive = true, .most = kMostEntries, .has_closed = &has_closed};
    const auto walked = WalkTree(Beneath::Of(std::move(directory)), "", rule, visit);
    if (has_closed) space_.is_whole = false;
    if (walked) return std::nullopt;
    const FileError& why = walked.error();
    if (why.kind == FileError::Kind::kSandbox) return why.sandbox;
    return SystemError("readdir in a transaction's directory", why.number);
  }

  const std::map<std::uint64_t, Linked>& linked() const { return linked_; }

  TransactionSpace Space() const {
    TransactionSpace space = space_;
    for (const auto& [inode, file] : linked_)
      (file.is_shared() ? space.shared_bytes : space.bytes) += file.bytes;
    return space;
  }

 private:
  FileResult<std::optional<FileType>> Visit(int parent, const std::string& name,
                                            const std::string& path) {
    if (path == "work") return std::optional<FileType>();  // the kernel's; it holds no contents
    constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    const Descriptor entry(openat(parent, name.c_str(), kFlags));
    if (!entry.valid()) {
      if (errno == EACCES) space_.is_whole = false;  // the directory may be listed, no more
      return std::optional<FileType>();              // else it has been removed
    }
    auto node = NodeOf(entry.get());
    if (!node) return std::optional<FileType>();
    AddNode(*node, path);
    return std::optional(FileTypeOf(node->mode));
  }

  void AddNode(const Node& node, const std::string& path) {
    if (S_ISDIR(node.mode) || node.links < 2) {
      space_.bytes += node.allocated;
    } else {
      Linked& file = linked_[node.inode];
      file = {.bytes = node.allocated, .links = node.links, .seen = file.seen + 1};
      if (file.seen > 1) return;
    }
    const std::string top = path.substr(0, path.find('/'));
    if (top == kOverlayNames.tree || top == kCopyNames.tree) {
      space_.changes_bytes += node.allocated;
    } else if (top == "checkpoints") {
      space_.checkpoints_bytes += node.allocated;
    } else if (top == kTransactionHome || top == "caches") {
      space_.home_bytes += node.allocated;
    }
  }

  TransactionSpace space_;
  std::map<std::uint64_t, Linked> linked_;  // by inode
};

}  // namespace

Result<SpaceReport> MeasureTransactions(const std::string& state, const std::string& workspace) {
  auto listed = ListTransactions(state);
  if (!listed) return listed.error();
  SpaceReport report;
  if (listed->empty()) return report;
  auto directory = OpenPath(state.c_str(), O_RDONLY | O_DIRECTORY);
  if (!directory) return directory.error();
  std::set<std::uint64_t> counted;
  for (const ListedTransaction& each : *listed) {
    if (!workspace.empty() && each.record.workspace != workspace) continue;
    auto own = OpenOwn(directory->get(), each.record.id);
    if (!own) continue;  // it has been removed
    Measurement measurement(each.record.id);
    if (auto error = measurement.Add(std::move(*own))) return *error;
    report.each.push_back(measurement.Space());
    report.total_bytes += report.each.back().bytes;
    for (const auto& [inode, file] : measurement.linked()) {
      if (file.is_shared() && counted.insert(inode).second) report.total_bytes += file.bytes;
    }
  }
  return report;
}

}  // namespace native_runner
