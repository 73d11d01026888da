#include "policy/bubblewrap/placeholder_form.h"

#include <algorithm>
#include <array>

namespace native_runner {
namespace {

struct NamedForm {
  std::string_view name;
  PlaceholderForm form;
};

constexpr PlaceholderForm kEmptyDirectory;
constexpr PlaceholderForm kEmptyFile = {.is_file = true, .text = ""};

constexpr PlaceholderForm Text(std::string_view text) {
  return {.is_file = true, .text = text};
}

constexpr std::array kForms = {
    // npm, pnpm and yarn fail on a directory. An empty file sets nothing.
    NamedForm{".npmrc", kEmptyFile},
    NamedForm{".yarnrc.yml", kEmptyFile},
    // A module that exports nothing: pnpm writes no checksum of it into its lock file.
    NamedForm{".pnpmfile.cjs", kEmptyFile},
    // An empty text is no JSON.
    NamedForm{".mcp.json", Text("{ \"mcpServers\": {} }\n")},
    // Every git command fails on a directory.
    NamedForm{".gitconfig", kEmptyFile},
    // Shells and gdb complain about a directory.
    NamedForm{".bashrc", kEmptyFile},
    NamedForm{".bash_logout", kEmptyFile},
    NamedForm{".profile", kEmptyFile},
    NamedForm{".zshrc", kEmptyFile},
    NamedForm{".zprofile", kEmptyFile},
    NamedForm{".zshenv", kEmptyFile},
    NamedForm{".zlogin", kEmptyFile},
    NamedForm{".gdbinit", kEmptyFile},
    // A login shell reads the first of .bash_profile, .bash_login and .profile that exists, even if
    // it is empty, a directory or unreadable: these lead on to the next.
    NamedForm{".bash_profile", Text("if [ -r ~/.bash_login ]; then . ~/.bash_login; "
                                    "elif [ -r ~/.profile ]; then . ~/.profile; fi\n")},
    NamedForm{".bash_login", Text("if [ -r ~/.profile ]; then . ~/.profile; fi\n")},
    // Vim reads the first of these that exists.
    NamedForm{".vimrc", Text("if filereadable(expand('~/.vim/vimrc')) | source ~/.vim/vimrc | "
                             "else | silent! source $VIMRUNTIME/defaults.vim | endif\n")},
    // direnv passes over a directory. An empty file would hide the one of a directory above, and
    // the host's shell would report it as blocked.
    NamedForm{".envrc", kEmptyDirectory},
    // Programs look for files in these.
    NamedForm{".githooks", kEmptyDirectory},
    NamedForm{".husky", kEmptyDirectory},
    NamedForm{".vscode", kEmptyDirectory},
    NamedForm{".idea", kEmptyDirectory},
    NamedForm{".claude", kEmptyDirectory},
    NamedForm{".ssh", kEmptyDirectory},
};

}  // namespace

PlaceholderForm PlaceholderFormOf(std::string_view path) {
  while (path.ends_with('/'))
    path.remove_suffix(1);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto* const found = std::find_if(
      kForms.begin(), kForms.end(), [name](const NamedForm& each) { return each.name == name; });
  return found == kForms.end() ? kEmptyDirectory : found->form;
}

}  // namespace native_runner
