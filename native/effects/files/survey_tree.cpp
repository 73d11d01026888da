#include "effects/files/survey_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <optional>

#include "effects/tree/entry_state.h"
#include "policy/text/utf8.h"

namespace native_runner {
namespace {

constexpr const char* kCall = "scandir";
class Surveyor {
 public:
  FileResult<std::optional<FileType>> Visit(int directory, const char* name,
                                            const std::string& path) {
    if (!IsUtf8(path)) return Refused(kCall, EILSEQ);
    const auto state = StateOf(directory, name, kCall);
    if (!state) {
      if (state.error().number == ENOENT) return std::optional<FileType>();
      return state.error();
    }
    const FileType type = FileTypeOf(static_cast<mode_t>(state.value().front()));
    std::string target;
    if (type == FileType::kSymlink) {
      auto read = TargetOf(directory, name);
      if (!read) return read.error();
      if (!*read) return std::optional<FileType>();
      target = std::move(**read);
    }
    survey_.text += path;
    survey_.text += '\0';
    if (type == FileType::kSymlink) {
      survey_.text += target;
      survey_.text += '\0';
    }
    survey_.numbers.insert(survey_.numbers.end(), state.value().begin(), state.value().end());
    return std::optional(type);
  }

  Survey Finish() { return std::move(survey_); }

 private:
  // nullopt: it is no link any more.
  static FileResult<std::optional<std::string>> TargetOf(int directory, const char* name) {
    std::string target(PATH_MAX, '\0');
    const ssize_t size = readlinkat(directory, name, target.data(), target.size());
    if (size < 0 && (errno == ENOENT || errno == EINVAL)) return std::optional<std::string>();
    if (size < 0) return Refused(kCall, errno);
    target.resize(static_cast<std::size_t>(size));
    if (!IsUtf8(target)) return Refused(kCall, EILSEQ);
    return std::optional(std::move(target));
  }

  Survey survey_;
};

}  // namespace

FileResult<Survey> SurveyTree(const Beneath& root, std::uint64_t most) {
  Surveyor surveyor;
  const auto top = surveyor.Visit(root.directory(), "", ".");
  if (!top) return top.error();
  const auto walked =
      WalkTree(root, "", {.recursive = true, .most = most},
               [&surveyor](int directory, const NamedType& entry, const std::string& path) {
                 return surveyor.Visit(directory, entry.name.c_str(), path);
               });
  if (!walked) return walked.error();
  return surveyor.Finish();
}

}  // namespace native_runner
