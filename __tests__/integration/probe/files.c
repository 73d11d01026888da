#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "probe.h"

// PATH: opens it for reading and reads nothing.
int OpenForReading(int argc, char** argv) {
  return argc == 1 ? Say(open(argv[0], O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) : 98;
}

// PATH: opens it for writing and writes nothing.
int OpenForWriting(int argc, char** argv) {
  return argc == 1 ? Say(open(argv[0], O_WRONLY | O_NOCTTY | O_CLOEXEC)) : 98;
}

static int TellIfWritable(const char* path, const struct stat* status, int type, struct FTW* at) {
  (void)status;
  // A process's descriptors and mappings are links to what it has already.
  if (type == FTW_D || type == FTW_DNR) {
    const char* const name = path + at->base;
    return strcmp(name, "fd") == 0 || strcmp(name, "map_files") == 0 ? FTW_SKIP_SUBTREE
                                                                     : FTW_CONTINUE;
  }
  if (type != FTW_F) return FTW_CONTINUE;
  const int file = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (file >= 0 && close(file) == 0) puts(path);
  return FTW_CONTINUE;
}

// DIRECTORY: tells its process id, then each file below that it may open for writing. Writes nothing.
int TellWritable(int argc, char** argv) {
  if (argc != 1) return 98;
  printf("%d\n", (int)getpid());
  return nftw(argv[0], TellIfWritable, 16, FTW_PHYS | FTW_ACTIONRETVAL) < 0 ? Say(-1) : 0;
}

// PATH: the value of its attribute user.note.
int ShowNote(int argc, char** argv) {
  char value[64];
  const ssize_t size = argc == 1 ? getxattr(argv[0], "user.note", value, sizeof value) : 98;
  if (size < 0 || argc != 1) return Say((int)size);
  printf("%.*s\n", (int)size, value);
  return 0;
}

// DIRECTORY: says OK when it is watched, then the name of the first file that is opened in it.
int WatchNames(int argc, char** argv) {
  if (argc != 1) return 98;
  const int watch = inotify_init1(IN_CLOEXEC);
  if (watch < 0 || inotify_add_watch(watch, argv[0], IN_OPEN) < 0) return Say(-1);
  Say(0);
  fflush(stdout);
  char bytes[sizeof(struct inotify_event) + NAME_MAX + 1];
  struct pollfd entry = {watch, POLLIN, 0};
  if (poll(&entry, 1, 10000) != 1 || read(watch, bytes, sizeof bytes) <= 0) return Say(-1);
  puts(((const struct inotify_event*)(const void*)bytes)->name);
  return 0;
}

// PATH: makes a new file.
int CreateFile(int argc, char** argv) {
  return argc == 1 ? Say(open(argv[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) : 98;
}

// PATH: cuts it to the size that it has.
int Truncate(int argc, char** argv) {
  if (argc != 1) return 98;
  struct stat status;
  if (stat(argv[0], &status) != 0) Die(argv[0]);
  return Say(truncate(argv[0], status.st_size));
}

// PATH: gives it the mode that it has.
int ChangeMode(int argc, char** argv) {
  if (argc != 1) return 98;
  struct stat status;
  if (stat(argv[0], &status) != 0) Die(argv[0]);
  return Say(chmod(argv[0], status.st_mode & 07777));
}

// PATH: sets its times to now.
int ChangeTimes(int argc, char** argv) {
  return argc == 1 ? Say(utimensat(AT_FDCWD, argv[0], NULL, 0)) : 98;
}

// FROM TO: a hard link.
int MakeLink(int argc, char** argv) {
  return argc == 2 ? Say(link(argv[0], argv[1])) : 98;
}

// FROM TO: by one rename(2), whatever they are.
int Rename(int argc, char** argv) {
  return argc == 2 ? Say(rename(argv[0], argv[1])) : 98;
}

// ONE OTHER TIMES: they change places again and again.
int Swap(int argc, char** argv) {
  if (argc != 3) return 98;
  for (long left = atol(argv[2]); left > 0; --left) {
    if (renameat2(AT_FDCWD, argv[0], AT_FDCWD, argv[1], RENAME_EXCHANGE) != 0) return Say(-1);
  }
  return Say(0);
}

// PATH NAME VALUE: sets an extended attribute.
int SetAttribute(int argc, char** argv) {
  return argc == 3 ? Say(lsetxattr(argv[0], argv[1], argv[2], strlen(argv[2]), 0)) : 98;
}

// PATH char|block|fifo|whiteout: /dev/null's numbers for the character device, none that exists for
// the block, and those by which an overlay marks what is not there.
int MakeNode(int argc, char** argv) {
  if (argc != 2) return 98;
  if (strcmp(argv[1], "fifo") == 0) return Say(mknod(argv[0], S_IFIFO | 0600, 0));
  if (strcmp(argv[1], "whiteout") == 0) return Say(mknod(argv[0], S_IFCHR | 0600, 0));
  const int is_block = strcmp(argv[1], "block") == 0;
  return Say(mknod(argv[0], (is_block ? S_IFBLK : S_IFCHR) | 0600,
                   is_block ? makedev(259, 1048575) : makedev(1, 3)));
}

// PATH: makes a read-only bind mount writable.
int Remount(int argc, char** argv) {
  return argc == 1 ? Say(mount(NULL, argv[0], NULL, MS_REMOUNT | MS_BIND, NULL)) : 98;
}

// PATH: opens it again by its file handle, as the "shocker" exploit does.
int OpenByHandle(int argc, char** argv) {
  if (argc != 1) return 98;
  union {
    struct file_handle handle;
    char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
  } file;
  file.handle.handle_bytes = MAX_HANDLE_SZ;
  int mount_id = 0;
  if (name_to_handle_at(AT_FDCWD, argv[0], &file.handle, &mount_id, 0) != 0) {
    Die("name_to_handle_at");
  }
  const int mount = open(argv[0], O_RDONLY | O_CLOEXEC);
  if (mount < 0) Die(argv[0]);
  return Say(open_by_handle_at(mount, &file.handle, O_RDONLY | O_CLOEXEC));
}

static void Tell(const char* directory, const char* word, int number) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s-%d", directory, word, number);
  if (open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) < 0) Die(path);
}

static void AwaitWord(const char* directory, const char* word, int number) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s-%d", directory, word, number);
  while (access(path, F_OK) != 0)
    usleep(5000);
}

// FILE DIRECTORY TEXT...: maps a file, and writes to its page at once what is there already. Says
// so by DIRECTORY/done-0; writes the first text by DIRECTORY/go-1, says done-1, and so on. Keeps
// the mapping, not the descriptor, until the last was written.
int WriteMapped(int argc, char** argv) {
  if (argc < 2) return 98;
  const int file = open(argv[0], O_RDWR | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) Die(argv[0]);
  volatile char* map =
      mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (map == MAP_FAILED) Die("mmap");
  close(file);
  const char first = map[0];
  map[0] = first;
  Tell(argv[1], "done", 0);
  for (int i = 2; i < argc; ++i) {
    AwaitWord(argv[1], "go", i - 1);
    for (size_t at = 0; argv[i][at] != '\0' && at < (size_t)status.st_size; ++at)
      map[at] = argv[i][at];
    Tell(argv[1], "done", i - 1);
  }
  return Say(0);
}
