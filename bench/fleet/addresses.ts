/** Source addresses of simulated agents: one address has only about 28,000 free ports, and the kernel keeps closed ones for a minute. */

/** 127.0.0.2 to 127.0.0.9, in turns. */
export function sourceAddress(index: number): string {
  return `127.0.0.${2 + (index % 8)}`;
}
