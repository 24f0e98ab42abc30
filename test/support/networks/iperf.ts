/** Bytes that `iperf3` sends from one machine to another. */
import type { Machine } from './machine.ts';

/** What it says in the end. */
export interface Transfer {
  readonly end: { readonly sum_received: { readonly bytes: number } };
  /** One each second. */
  readonly intervals: readonly { readonly sum: { readonly bytes: number } }[];
}

/** Lets others send to this machine, until it ends. */
export function serveIperf(machine: Machine): void {
  machine.spawn('iperf3', ['--server']);
}

/** Sends to another one that serves; `words` say how much. Rejects when nothing comes through. */
export async function sendByIperf(machine: Machine, to: string, words: readonly string[]): Promise<Transfer> {
  const { stdout } = await machine.run('iperf3', ['--client', to, ...words, '--json', '--connect-timeout', '20000']);
  return JSON.parse(stdout) as Transfer;
}
