#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "policy/options/environment.h"

namespace native_runner {
namespace {

// Words that say "secret" wherever they stand in a name; sorted.
constexpr auto kSecretWords = std::to_array<std::string_view>({
    "ACCESSKEY",    "ACCESSTOKEN",   "APIKEY",         "APIKEYS",  "APISECRET",
    "APITOKEN",     "AUTH",          "AUTHENTICATION", "AUTHKEY",  "AUTHORIZATION",
    "AUTHTOKEN",    "BEARER",        "CLIENTSECRET",   "COOKIE",   "COOKIES",
    "CRED",         "CREDENTIAL",    "CREDENTIALS",    "CREDS",    "DEPLOYKEY",
    "DSN",          "ENCRYPTIONKEY", "IDTOKEN",        "JWT",      "KEY",
    "KEYS",         "MASTERKEY",     "OAUTH",          "OTP",      "PASS",
    "PASSCODE",     "PASSPHRASE",    "PASSWD",         "PASSWORD", "PASSWORDS",
    "PAT",          "PRIVATEKEY",    "PRIVKEY",        "PSK",      "PW",
    "REFRESHTOKEN", "SECRET",        "SECRETKEY",      "SECRETS",  "SIGNINGKEY",
    "SSHKEY",       "TOKEN",         "TOKENS",         "TOTP",
});

// Names that none of the words finds: agents' and daemons' sockets, files of credentials; sorted.
constexpr auto kSecretNames = std::to_array<std::string_view>({
    "AZURE_STORAGE_CONNECTION_STRING",
    "BW_SESSION",
    "CONTAINER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SESSION_BUS_PID",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_HOST",
    "GNOME_KEYRING_CONTROL",
    "GNOME_KEYRING_PID",
    "GPG_AGENT_INFO",
    "KRB5CCNAME",
    "KRB5_KTNAME",
    "KUBECONFIG",
    "LDAPPASSWD",
    "NETRC",
    "PGPASSFILE",
    "PGPASSWORD",
    "PGSERVICEFILE",
    "SSHPASS",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "VSCODE_GIT_IPC_HANDLE",
    "VSCODE_IPC_HOOK_CLI",
    "XAUTHORITY",
});

static_assert(std::is_sorted(kSecretWords.begin(), kSecretWords.end()));
static_assert(std::is_sorted(kSecretNames.begin(), kSecretNames.end()));

constexpr std::size_t kLongestListed = 40;
constexpr std::string_view kMark = "://";

// <cctype> asks the locale; names are ASCII.
bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
char Upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
bool IsLetter(char c) {
  return Upper(c) >= 'A' && Upper(c) <= 'Z';
}

// Upper-case copy in a fixed buffer; what does not fit is in no list.
class UpperCase {
 public:
  explicit UpperCase(std::string_view text) {
    if (text.size() > buffer_.size()) return;
    std::transform(text.begin(), text.end(), buffer_.begin(), Upper);
    size_ = text.size();
  }
  std::string_view view() const { return {buffer_.data(), size_}; }

 private:
  std::array<char, kLongestListed> buffer_{};
  std::size_t size_ = 0;
};

template <std::size_t N>
bool Lists(const std::array<std::string_view, N>& sorted, std::string_view text) {
  return std::binary_search(sorted.begin(), sorted.end(), text);
}

// KEY2 and TOKEN1 are numbered, not other words.
std::string_view WithoutNumber(std::string_view word) {
  while (!word.empty() && IsDigit(word.back()))
    word.remove_suffix(1);
  return word;
}

bool NamesSecret(std::string_view name) {
  if (Lists(kSecretNames, UpperCase(name).view()) || name.starts_with("OP_SESSION_")) return true;
  std::size_t words = 0;
  bool has_pwd = false;
  bool has_old = false;
  std::size_t start = 0;
  while (start < name.size()) {
    std::size_t end = start;
    while (end < name.size() && (IsLetter(name[end]) || IsDigit(name[end])))
      ++end;
    if (end > start) {
      const UpperCase word(WithoutNumber(name.substr(start, end - start)));
      if (Lists(kSecretWords, word.view())) return true;
      ++words;
      has_pwd |= word.view() == "PWD";
      has_old |= word.view() == "OLD";
    }
    start = end + 1;
  }
  // In MYSQL_PWD it is a password; alone, or the old one, it is a working directory.
  return has_pwd && !has_old && words > 1;
}

// scheme://user:password@host anywhere in the value.
bool HoldsUrlWithPassword(std::string_view value) {
  std::size_t mark = value.find(kMark);
  while (mark != std::string_view::npos) {
    const std::size_t start = mark + kMark.size();
    const std::size_t end = std::min(value.find_first_of("/?# \t\r\n\"'<>", start), value.size());
    const std::string_view authority = value.substr(start, end - start);
    const std::size_t at = authority.rfind('@');  // a password may hold an unescaped @ itself
    const bool has_scheme = mark > 0 && (IsLetter(value[mark - 1]) || IsDigit(value[mark - 1]));
    if (has_scheme && at != std::string_view::npos && authority.substr(0, at).find(':') < at) {
      return true;
    }
    mark = value.find(kMark, start);
  }
  return false;
}

}  // namespace

bool CarriesSecret(std::string_view name, std::string_view value) {
  return NamesSecret(name) || HoldsUrlWithPassword(value);
}

}  // namespace native_runner
