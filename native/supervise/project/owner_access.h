#pragma once

#include <sys/types.h>

namespace native_runner {

// Lets the owner of a directory, if that is our user, write and search in it for as long as this
// lives, and puts its mode back then, unless somebody else has changed it meanwhile. A command may
// take these away (chmod 555 .), and what is ours in there has to go all the same. By descriptor:
// no path is looked up. Any thread.
class OwnerAccess {
 public:
  // `directory` may be O_PATH, and must live longer.
  explicit OwnerAccess(int directory);
  OwnerAccess(const OwnerAccess&) = delete;
  OwnerAccess& operator=(const OwnerAccess&) = delete;
  ~OwnerAccess();

 private:
  int directory_;
  mode_t before_ = 0;
  mode_t given_ = 0;  // 0: it was not needed, or could not be had
};

}  // namespace native_runner
