#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probe.h"

static int BindLoopback(int family, unsigned short port) {
  const struct sockaddr_in in = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
                                   .sin6_port = htons(port),
                                   .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  const int fd = socket(family, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  const int failed = family == AF_INET ? bind(fd, (const struct sockaddr*)&in, sizeof in)
                                       : bind(fd, (const struct sockaddr*)&in6, sizeof in6);
  return failed == 0 ? fd : -1;
}

// 4|6 PORT MILLISECONDS: binds a port of the loopback, listens after so many milliseconds, says so,
// and answers "hello" to its first client within 20 s; says how many bytes that one has sent.
int Serve(int argc, char** argv) {
  if (argc != 3) return 98;
  const int family = strcmp(argv[0], "6") == 0 ? AF_INET6 : AF_INET;
  const int fd = BindLoopback(family, (unsigned short)atoi(argv[1]));
  if (fd < 0) return Say(-1);
  setvbuf(stdout, NULL, _IONBF, 0);
  puts("bound");
  usleep((useconds_t)atoi(argv[2]) * 1000);
  if (listen(fd, 1) != 0) return Say(-1);
  puts("listening");
  struct pollfd waiting = {.fd = fd, .events = POLLIN};
  if (poll(&waiting, 1, 20000) != 1) return 97;
  const int client = accept(fd, NULL, NULL);
  char byte;
  printf("a client sent %zd\n", recv(client, &byte, 1, 0));
  return send(client, "hello", 5, MSG_NOSIGNAL) == 5 ? 0 : 96;
}
