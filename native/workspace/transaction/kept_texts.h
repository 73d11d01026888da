#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/file_systems.h"
#include "policy/transaction/host_file.h"
#include "supervise/os/descriptor.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// Texts: files that are merged by lines. Larger ones are not, nor are those with a NUL byte near
// their beginning, as for git.
inline constexpr std::uint64_t kMostText = std::uint64_t{8} << 20U;  // bytes of one file
bool IsText(const std::string& bytes);

// So many bytes of a file that is open for reading; nullopt where it has fewer, or can't be read.
std::optional<std::string> ReadBytes(int file, std::uint64_t offset, std::uint64_t size);

// Writes all bytes where the file stands; false, with errno, where it can't.
bool WriteBytes(int file, std::string_view bytes);

// The host's texts at paths that a transaction has changed, as they were when it was first seen to
// have changed them: the base of a commit that merges. A copy knows its changes only when somebody
// asks: for all copies of a workspace, each transaction keeps what it is about to replace. On disk:
//
//   texts/
//     TIME-ID/     what was kept at once: whole, or not there
//       list       the paths, and what each file was
//       data       the contents, one behind the other
//     new-TIME-ID/ one that was being written
//
// That for copies is in the state directory, below replaced-texts/ and a name for the workspace.
// Those that a commit has merged are in merging/ until they get their places.
//
// What is kept is a help and no promise: where it is missing, a change of the host's is a conflict.
// `directory`: a transaction's, open for reading. Any thread; blocks as the file system does.
inline constexpr const char* kMergingTexts = "merging";

struct TextOnHost {
  std::string path;
  HostFile file;  // as the host had it
};

// So many bytes are kept in one place, and at so many times. A transaction keeps no more then; of
// what is kept for copies the oldest goes.
inline constexpr std::uint64_t kMostKeptTexts = std::uint64_t{256} << 20U;
inline constexpr std::size_t kMostTimesKept = 1024;

// Keeps those that are texts and still what they were. kSetup where the file system refuses.
// `file_systems`: those of the files, as they are numbered now.
std::optional<Error> KeepTexts(int directory, const ScannedTree& host,
                               const std::vector<TextOnHost>& texts,
                               const FileSystemList& file_systems);

// The same for the copies of a workspace, in the state directory, which is open for reading.
std::optional<Error> KeepReplacedTexts(int state, const std::string& workspace,
                                       const ScannedTree& host,
                                       const std::vector<TextOnHost>& texts,
                                       const FileSystemList& file_systems);

// Removes what is older than all copies of the workspace, and what deaths have left half written an
// hour ago or more. `oldest_ns`: when the oldest copy was made (CLOCK_REALTIME); nullopt: there is
// none.
void TidyReplacedTexts(int state, const std::string& workspace,
                       std::optional<std::uint64_t> oldest_ns);

// Those that a transaction has kept, as they are when this is made. Movable, one owner.
class KeptTexts {
 public:
  KeptTexts(Descriptor directory, const FileSystemList& file_systems);

  // Reads the texts that are kept for the copies of a workspace.
  static KeptTexts OfCopies(Descriptor state, const std::string& workspace,
                            const FileSystemList& file_systems);

  // The text of exactly this state of a file; nullopt: it was not kept, or can't be read.
  std::optional<std::string> Find(const std::string& path, const HostFile& file) const;

 private:
  struct Place {
    HostFile file;
    std::string name;  // with the place that it is in
    std::uint64_t offset = 0;
  };
  KeptTexts(Descriptor directory, const std::string& place, const FileSystemList& file_systems);

  Descriptor directory_;
  std::multimap<std::string, Place, std::less<>> places_;
};

// Removes what no baseline of the ledger is of any more, and what a death has left.
void TidyTexts(int directory, const Ledger& ledger, const FileSystemList& file_systems);

}  // namespace native_runner
