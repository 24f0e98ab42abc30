/* Ways to the target. */
#define _GNU_SOURCE
#include "load.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct route route_of(int words, char **word) {
  struct route route = {0};
  if (words == 2 && strcmp(word[0], "direct") == 0) {
    route.kind = DIRECT;
    route.port = atoi(word[1]);
  } else if (words == 6 && strcmp(word[0], "socks5") == 0) {
    route = (struct route){ .kind = SOCKS5, .port = atoi(word[1]), .user = word[2], .password = word[3], .host = word[4], .target = atoi(word[5]) };
    if (strlen(route.user) > 255 || strlen(route.password) > 255 || strlen(route.host) > 255) fail("a word of the route is too long for SOCKS5");
  } else if (words >= 2 && strcmp(word[0], "command") == 0) {
    route.kind = COMMAND;
    route.command = word + 1; /* argv ends with a null */
  } else {
    fail("the route should be direct PORT, socks5 PORT USER PASSWORD HOST TARGET, or command WORD...");
  }
  return route;
}

static int connect_to(int port) {
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  fprintf(stderr, "load: port %d: %s\n", port, strerror(errno));
  close(fd);
  return -1;
}

/* RFC 1928 and 1929, one step after the other, as its clients do. The host is always sent as a name, unless it is 127.0.0.1. */
static int greet(int fd, const struct route *route) {
  unsigned char out[600], in[262];
  size_t user = strlen(route->user), password = strlen(route->password), host = strlen(route->host), at = 0;
  if (!write_all(fd, "\5\1\2", 3) || !read_all(fd, in, 2) || in[1] != 2) return 0;
  out[at++] = 1;
  out[at++] = (unsigned char)user;
  memcpy(out + at, route->user, user);
  at += user;
  out[at++] = (unsigned char)password;
  memcpy(out + at, route->password, password);
  at += password;
  if (!write_all(fd, out, at) || !read_all(fd, in, 2) || in[1] != 0) return 0;
  memcpy(out, "\5\1\0\3", 4);
  at = 4;
  if (strcmp(route->host, "127.0.0.1") == 0) {
    memcpy(out + 3, "\1\177\0\0\1", 5);
    at = 8;
  } else {
    out[at++] = (unsigned char)host;
    memcpy(out + at, route->host, host);
    at += host;
  }
  out[at++] = (unsigned char)(route->target >> 8);
  out[at++] = (unsigned char)route->target;
  if (!write_all(fd, out, at) || !read_all(fd, in, 4)) return 0;
  if (in[1] != 0) {
    fprintf(stderr, "load: the proxy answers %d\n", in[1]);
    return 0;
  }
  return read_all(fd, in + 4, in[3] == 4 ? 18 : 6);
}

static int spawn(char **command) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) fail("no socket pair");
  if (fork() == 0) {
    dup2(pair[1], 0);
    dup2(pair[1], 1);
    execvp(command[0], command);
    _exit(127);
  }
  close(pair[1]);
  return pair[0];
}

int open_route(const struct route *route) {
  if (route->kind == COMMAND) return spawn(route->command);
  int fd = connect_to(route->port);
  if (fd < 0 || route->kind == DIRECT || greet(fd, route)) return fd;
  fprintf(stderr, "load: the proxy on port %d did not let in\n", route->port);
  close(fd);
  return -1;
}

/* For ProxyCommand: standard input and output become the route. */
static void copy(int from, int to, char *chunk) {
  for (;;) {
    ssize_t got = read(from, chunk, CHUNK_BYTES);
    if (got <= 0 || !write_all(to, chunk, (size_t)got)) return;
  }
}

int run_pipe(int words, char **word) {
  static char chunk[CHUNK_BYTES];
  struct route route = route_of(words, word);
  int fd = open_route(&route);
  if (fd < 0) return 1;
  if (fork() == 0) {
    copy(0, fd, chunk);
    shutdown(fd, SHUT_WR);
    _exit(0);
  }
  copy(fd, 1, chunk);
  return 0;
}
