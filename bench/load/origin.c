/* The target: answers pings and requests, sends and swallows bytes. One thread. Prints its port and runs until standard input ends. */
#define _GNU_SOURCE
#include "load.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 256

struct client {
  int fd;
  unsigned char head[REQUEST_BYTES];
  size_t got;
  enum { HEAD, SENDING, SWALLOWING } state;
  uint64_t left;
};

static char chunk[CHUNK_BYTES];
static int poller;

static void watch(struct client *client, uint32_t events) {
  struct epoll_event event = { .events = events, .data.ptr = client };
  epoll_ctl(poller, EPOLL_CTL_MOD, client->fd, &event);
}

static int answer(struct client *client, const void *bytes, size_t count) {
  client->got = 0;
  client->state = HEAD;
  return send(client->fd, bytes, count, MSG_NOSIGNAL) == (ssize_t)count; /* so little always fits */
}

/* Each step returns 1 when there may be more to do at once, 0 when the socket must be waited for, -1 when it is over. */
static int step(struct client *client) {
  if (client->state == SENDING) {
    ssize_t sent = send(client->fd, chunk, client->left < sizeof chunk ? (size_t)client->left : sizeof chunk, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN ? 0 : -1;
    client->left -= (uint64_t)sent;
    if (client->left > 0) return 1;
    client->state = HEAD;
    client->got = 0;
    watch(client, EPOLLIN);
    return 1;
  }
  if (client->state == SWALLOWING) {
    ssize_t got = recv(client->fd, chunk, client->left < sizeof chunk ? (size_t)client->left : sizeof chunk, 0);
    if (got == 0) return -1;
    if (got < 0) return errno == EAGAIN ? 0 : -1;
    client->left -= (uint64_t)got;
    return client->left > 0 || answer(client, "U", 1) ? 1 : -1;
  }
  size_t wanted = client->got > 0 && client->head[0] == REQUEST ? REQUEST_BYTES : HEAD_BYTES;
  ssize_t got = recv(client->fd, client->head + client->got, wanted - client->got, 0);
  if (got == 0) return -1;
  if (got < 0) return errno == EAGAIN ? 0 : -1;
  client->got += (size_t)got;
  if (client->got < wanted) return 1;
  switch (client->head[0]) {
    case PING: return answer(client, "P", 1) ? 1 : -1;
    case REQUEST: return client->got < REQUEST_BYTES || answer(client, client->head, REQUEST_BYTES) ? 1 : -1;
    case UP: client->state = SWALLOWING; break;
    case DOWN: client->state = SENDING; watch(client, EPOLLOUT); break;
    default: return -1;
  }
  client->left = count_of(client->head);
  return 1;
}

static void take(int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct client *client = calloc(1, sizeof *client);
  client->fd = fd;
  struct epoll_event event = { .events = EPOLLIN, .data.ptr = client };
  epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

int run_origin(void) {
  static int input = 0;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t length = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4096) != 0) fail("the target has no port");
  getsockname(listener, (struct sockaddr *)&address, &length);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  poller = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event on_listener = { .events = EPOLLIN, .data.ptr = NULL }, on_input = { .events = EPOLLIN, .data.ptr = &input }, events[EVENTS];
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &on_listener);
  epoll_ctl(poller, EPOLL_CTL_ADD, 0, &on_input);
  for (;;) {
    int count = epoll_wait(poller, events, EVENTS, -1);
    for (int index = 0; index < count; index += 1) {
      struct client *client = events[index].data.ptr;
      if (events[index].data.ptr == &input) return 0;
      if (client == NULL) {
        take(listener);
        continue;
      }
      int more = 1;
      for (int turns = 0; more == 1 && turns < 4; turns += 1) more = step(client); /* then the next one's turn */
      if (more >= 0) continue;
      close(client->fd);
      free(client);
    }
  }
}
