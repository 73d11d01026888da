/*
 * Stands in for an engine whose WebAssembly was escaped from: a native program that tries to get at
 * what was planted for it, and answers what it got. Its arguments: a file to read, a file to write,
 * a TCP port of the loopback, a mark and a pid. A process of the host has "host-" and the mark in its
 * command line; what outlives this one has "survivor-" and the mark. Bounded: it forks once.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int reads(const char* path) {
  char byte;
  int file = open(path, O_RDONLY);
  return file >= 0 && read(file, &byte, 1) == 1;
}

static int writes(const char* path) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  return file >= 0 && write(file, "x", 1) == 1;
}

/* A directory in which a file can be made, other than those that end with the run. */
static int writes_beside(const char* skill) {
  char path[4096];
  snprintf(path, sizeof path, "%s.written", skill);
  return writes(path);
}

static int connects(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int peer = socket(AF_INET, SOCK_STREAM, 0);
  return peer >= 0 && connect(peer, (struct sockaddr*)&address, sizeof address) == 0;
}

static int sees(const char* mark) {
  char wanted[256], path[300], line[4096];
  snprintf(wanted, sizeof wanted, "host-%s", mark);
  DIR* processes = opendir("/proc");
  if (processes == NULL) return 0;
  for (struct dirent* entry; (entry = readdir(processes)) != NULL;) {
    snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
    int file = open(path, O_RDONLY);
    if (file < 0) continue;
    ssize_t size = read(file, line, sizeof line - 1);
    close(file);
    if (size > 0 && memmem(line, (size_t)size, wanted, strlen(wanted)) != NULL) return 1;
  }
  return 0;
}

/* Leaves a process behind, in a session of its own and with no descriptor of the run. */
static void stay(const char* self, const char* mark) {
  int up[2];
  if (pipe(up) != 0) return;
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    signal(SIGTERM, SIG_IGN);
    char name[256];
    snprintf(name, sizeof name, "survivor-%s", mark);
    for (int fd = 0; fd < 64; fd++) {
      if (fd != up[1]) close(fd);
    }
    fcntl(up[1], F_SETFD, FD_CLOEXEC); /* its end says that the survivor has its name */
    execl(self, name, (char*)NULL);
    sleep(30);
    _exit(0);
  }
  close(up[1]);
  char byte;
  if (read(up[0], &byte, 1) != 0) return;
}

int main(int argc, char** argv) {
  if (argc == 1) { /* the survivor, for as long as a test may take */
    sleep(60);
    return 0;
  }
  if (argc != 7) return 2;
  printf("{\"read\":%d,", reads(argv[1]));
  printf("\"write\":%d,", writes(argv[2]));
  printf("\"beside\":%d,", writes_beside(argv[6]));
  printf("\"connect\":%d,", connects(atoi(argv[3])));
  printf("\"see\":%d,", sees(argv[4]));
  printf("\"signal\":%d,", kill(atoi(argv[5]), 0) == 0);
  stay("/proc/self/exe", argv[4]);
  printf("\"skill\":%d}", reads(argv[6]));
  return 0;
}
