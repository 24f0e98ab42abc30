/* The load program: which part, and what the parts share. */
#define _GNU_SOURCE
#include "load.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* What takes longer has hung, in s. */
#define STALL_SECONDS 180

static void raise_descriptors(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

int main(int words, char **word) {
  signal(SIGPIPE, SIG_IGN);
  raise_descriptors();
  const char *part = words > 1 ? word[1] : "";
  if (strcmp(part, "origin") == 0) return run_origin();
  if (strcmp(part, "pipe") == 0) return run_pipe(words - 2, word + 2);
  alarm(STALL_SECONDS);
  if (strcmp(part, "streams") == 0) return run_streams(words - 2, word + 2);
  if (strcmp(part, "connections") == 0) return run_connections(words - 2, word + 2);
  fprintf(stderr, "load origin | streams COUNT BYTES down|up ROUTE | connections THREADS SECONDS ROUTE | pipe ROUTE\n");
  return 2;
}

int read_all(int fd, void *bytes, size_t count) {
  for (size_t got = 0; got < count;) {
    ssize_t more = read(fd, (char *)bytes + got, count - got);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) return 0;
    got += (size_t)more;
  }
  return 1;
}

int write_all(int fd, const void *bytes, size_t count) {
  for (size_t sent = 0; sent < count;) {
    ssize_t more = write(fd, (const char *)bytes + sent, count - sent);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) return 0;
    sent += (size_t)more;
  }
  return 1;
}

void head_of(unsigned char head[HEAD_BYTES], enum operation operation, uint64_t count) {
  head[0] = (unsigned char)operation;
  for (int index = 0; index < 8; index += 1) head[1 + index] = (unsigned char)(count >> (8 * (7 - index)));
}

uint64_t count_of(const unsigned char head[HEAD_BYTES]) {
  uint64_t count = 0;
  for (int index = 0; index < 8; index += 1) count = count << 8 | head[1 + index];
  return count;
}

double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double cpu_ms(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

void fail(const char *what) {
  fprintf(stderr, "load: %s\n", what);
  exit(1);
}
