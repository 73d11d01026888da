/* Looks for /etc/passwd by path and by way of every descriptor that could be a preopened directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <wasi/api.h>

int main(void) {
  int opened = open("/etc/passwd", O_RDONLY);
  if (opened >= 0) printf("open: %d\n", opened);
  for (__wasi_fd_t directory = 0; directory < 64; directory++) {
    const char* const paths[] = {"etc/passwd", "../../../etc/passwd", "/etc/passwd", "passwd"};
    for (int i = 0; i < 4; i++) {
      __wasi_fd_t file = 0;
      __wasi_errno_t failed =
          __wasi_path_open(directory, 0, paths[i], 0, __WASI_RIGHTS_FD_READ, 0, 0, &file);
      if (failed == 0) printf("path_open(%u, %s)\n", directory, paths[i]);
      __wasi_prestat_t preopen;
      if (__wasi_fd_prestat_get(directory, &preopen) == 0) printf("preopen %u\n", directory);
    }
  }
  for (__wasi_fd_t fd = 3; fd < 1024; fd++) {
    char byte;
    __wasi_iovec_t into = {(uint8_t*)&byte, 1};
    __wasi_size_t count = 0;
    if (__wasi_fd_pread(fd, &into, 1, 0, &count) == 0) printf("fd %u can be read\n", fd);
    if (__wasi_fd_read(fd, &into, 1, &count) == 0) printf("fd %u can be read\n", fd);
    if (__wasi_fd_renumber(fd, 1) == 0 || __wasi_fd_renumber(1, fd) == 0) printf("renumber %u\n", fd);
  }
  printf("done");
  return 0;
}
