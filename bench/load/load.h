/* The load program of the bench: clients and a target so lean that they are not the limit. Built by bench/load/program.ts. */
#ifndef EDGE_BENCH_LOAD_H
#define EDGE_BENCH_LOAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a client says first: one of these and a count, 8 bytes, big-endian. The target answers PING with PING. */
enum operation { PING = 'P', DOWN = 'D', UP = 'U', REQUEST = 'R' };
#define HEAD_BYTES 9

/* A request and its answer, in bytes. Source: docs/performance.md. */
#define REQUEST_BYTES 100

/* One read or write, in bytes. Smaller ones cost more calls, larger ones were not faster. */
#define CHUNK_BYTES 262144

/* How a client gets to the target: itself, through a SOCKS5 proxy, or over the pipes of a command. */
struct route {
  enum { DIRECT, SOCKS5, COMMAND } kind;
  int port;
  const char *user, *password, *host;
  int target;
  char **command;
};

/* Reads `direct PORT`, `socks5 PORT USER PASSWORD HOST TARGET` or `command WORD...`; ends the program when it is none. */
struct route route_of(int words, char **word);

/* An open way to the target, as a blocking descriptor. -1: there is none, and a line on standard error says why. */
int open_route(const struct route *route);

/* All of it, or 0. */
int read_all(int fd, void *bytes, size_t count);
int write_all(int fd, const void *bytes, size_t count);

/* Writes the head of an operation; reads the count of one. */
void head_of(unsigned char head[HEAD_BYTES], enum operation operation, uint64_t count);
uint64_t count_of(const unsigned char head[HEAD_BYTES]);

/* Seconds on a steady clock; processor time of this process, in ms. */
double now_seconds(void);
double cpu_ms(void);

/* Ends the program with a line on standard error. */
_Noreturn void fail(const char *what);

/* The parts, each the rest of a command line. They return the exit status. */
int run_origin(void);
int run_streams(int words, char **word);
int run_connections(int words, char **word);
int run_pipe(int words, char **word);

#endif
