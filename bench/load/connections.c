/* Connections: open, one request and its answer, close, over and over, each thread for itself. Prints one JSON object. */
#define _GNU_SOURCE
#include "load.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of one thread; more are not kept. */
#define LATENCIES_MAX 200000

/* A route that fails this often in a row is none. */
#define FAILURES_MAX 10

struct worker {
  pthread_t thread;
  const struct route *route;
  double until;
  double *latencies;
  int count, failures;
};

static int one(const struct route *route) {
  char request[REQUEST_BYTES] = { REQUEST }, answer[REQUEST_BYTES];
  int fd = open_route(route);
  if (fd < 0) return 0;
  int is_right = write_all(fd, request, sizeof request) && read_all(fd, answer, sizeof answer) && memcmp(request, answer, sizeof answer) == 0;
  close(fd);
  return is_right;
}

static void *work(void *given) {
  struct worker *worker = given;
  for (double began = now_seconds(), ended; began < worker->until && worker->count < LATENCIES_MAX && worker->failures < FAILURES_MAX; began = ended) {
    int is_right = one(worker->route);
    ended = now_seconds();
    if (is_right) worker->latencies[worker->count++] = ended - began;
    else worker->failures += 1;
  }
  return NULL;
}

static int by_length(const void *one, const void *other) {
  double difference = *(const double *)one - *(const double *)other;
  return (difference > 0) - (difference < 0);
}

int run_connections(int words, char **word) {
  if (words < 4) fail("connections THREADS SECONDS ROUTE");
  int threads = atoi(word[0]), count = 0, failures = 0;
  struct route route = route_of(words - 2, word + 2);
  struct worker *workers = calloc((size_t)threads, sizeof *workers);
  double began = now_seconds(), until = began + atof(word[1]), cpu_before = cpu_ms();
  for (int index = 0; index < threads; index += 1) {
    workers[index] = (struct worker){ .route = &route, .until = until, .latencies = malloc(LATENCIES_MAX * sizeof(double)) };
    pthread_create(&workers[index].thread, NULL, work, &workers[index]);
  }
  for (int index = 0; index < threads; index += 1) {
    pthread_join(workers[index].thread, NULL);
    count += workers[index].count;
    failures += workers[index].failures;
  }
  double seconds = now_seconds() - began;
  double *all = malloc((size_t)(count + 1) * sizeof *all);
  for (int index = 0, at = 0; index < threads; at += workers[index].count, index += 1) memcpy(all + at, workers[index].latencies, (size_t)workers[index].count * sizeof *all);
  if (count == 0) fail("no connection came about");
  qsort(all, (size_t)count, sizeof *all, by_length);
  printf("{\"count\":%d,\"failures\":%d,\"seconds\":%.6f,\"p50_ms\":%.4f,\"p99_ms\":%.4f,\"cpu_ms\":%.3f}\n",
    count, failures, seconds, all[count / 2] * 1e3, all[(int)(count * 0.99)] * 1e3, cpu_ms() - cpu_before);
  return 0;
}
