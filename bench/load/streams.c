/* Streams: so many open ways, then so many bytes on each at the same time. Prints one JSON object. */
#define _GNU_SOURCE
#include "load.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS 256

struct stream {
  int fd;
  uint64_t left;
  int is_over;
};

static char chunk[CHUNK_BYTES];

static int move_down(struct stream *stream) {
  ssize_t got = read(stream->fd, chunk, stream->left < sizeof chunk ? (size_t)stream->left : sizeof chunk);
  if (got == 0) fail("a stream ended early");
  if (got < 0) {
    if (errno == EAGAIN) return 0;
    fail("a stream broke");
  }
  stream->left -= (uint64_t)got;
  stream->is_over = stream->left == 0;
  return !stream->is_over;
}

static int move_up(struct stream *stream, int poller) {
  if (stream->left == 0) { /* all is sent: the target says that it has it */
    char said = 0;
    ssize_t got = read(stream->fd, &said, 1);
    if (got < 0 && errno == EAGAIN) return 0;
    if (got != 1 || said != 'U') fail("a stream was not confirmed");
    stream->is_over = 1;
    return 0;
  }
  ssize_t sent = write(stream->fd, chunk, stream->left < sizeof chunk ? (size_t)stream->left : sizeof chunk);
  if (sent < 0) {
    if (errno == EAGAIN) return 0;
    fail("a stream broke");
  }
  stream->left -= (uint64_t)sent;
  if (stream->left > 0) return 1;
  struct epoll_event event = { .events = EPOLLIN, .data.ptr = stream };
  epoll_ctl(poller, EPOLL_CTL_MOD, stream->fd, &event);
  return 1;
}

int run_streams(int words, char **word) {
  if (words < 4) fail("streams COUNT BYTES down|up ROUTE");
  int count = atoi(word[0]), is_down = strcmp(word[2], "down") == 0, poller = epoll_create1(EPOLL_CLOEXEC);
  uint64_t bytes = strtoull(word[1], NULL, 10);
  struct route route = route_of(words - 3, word + 3);
  struct stream *streams = calloc((size_t)count, sizeof *streams);
  unsigned char head[HEAD_BYTES];
  char said;
  double began = now_seconds();
  for (int index = 0; index < count; index += 1) {
    if ((streams[index].fd = open_route(&route)) < 0) return 1;
  }
  head_of(head, PING, 0);
  for (int index = 0; index < count; index += 1) {
    if (!write_all(streams[index].fd, head, HEAD_BYTES) || !read_all(streams[index].fd, &said, 1) || said != 'P') fail("the target does not answer");
    fcntl(streams[index].fd, F_SETFL, O_NONBLOCK);
  }
  double open_seconds = now_seconds() - began;

  head_of(head, is_down ? DOWN : UP, bytes);
  double cpu_before = cpu_ms();
  began = now_seconds();
  for (int index = 0; index < count; index += 1) {
    struct stream *stream = &streams[index];
    struct epoll_event event = { .events = is_down ? EPOLLIN : EPOLLOUT, .data.ptr = stream };
    stream->left = bytes;
    if (!write_all(stream->fd, head, HEAD_BYTES)) fail("a stream broke");
    epoll_ctl(poller, EPOLL_CTL_ADD, stream->fd, &event);
  }
  for (int open = count; open > 0;) {
    struct epoll_event events[EVENTS];
    int ready = epoll_wait(poller, events, EVENTS, -1);
    for (int index = 0; index < ready; index += 1) {
      struct stream *stream = events[index].data.ptr;
      for (int turns = 0; turns < 4 && (is_down ? move_down(stream) : move_up(stream, poller)); turns += 1) {}
      if (!stream->is_over) continue;
      epoll_ctl(poller, EPOLL_CTL_DEL, stream->fd, NULL);
      open -= 1;
    }
  }
  printf("{\"seconds\":%.6f,\"open_seconds\":%.6f,\"cpu_ms\":%.3f}\n", now_seconds() - began, open_seconds, cpu_ms() - cpu_before);
  return 0;
}
