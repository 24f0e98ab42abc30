/** Egress of an agent as a test wants it, and what becomes of a dial. */
import type { Duplex } from 'node:stream';
import type { ExecutionContext } from 'ava';
import { CountedEgress, type EgressOptions } from '../../../../agent/access/egress/dialler.ts';
import type { EgressUse } from '../../../../agent/access/egress/egress.ts';
import { resolverBy } from '../../../../transport/net/outbound-guard/resolution.ts';
import { startDnsServer, type Answer, type Question } from '../../../support/net/dns-server.ts';

type Options = Omit<EgressOptions, 'rules'> & { readonly rules?: Partial<EgressOptions['rules']> };

/** Egress that blocks the port of mail and nothing else, unless it has other rules. */
export function egressWith(options: Options = {}): CountedEgress {
  return new CountedEgress({
    ...options,
    rules: { blockedPorts: ['25'], blockedHosts: [], allowedHosts: [], servedPorts: [], ...options.rules },
  });
}

/** Egress whose names come from a server of the test. */
export async function egressWithNames(
  t: ExecutionContext,
  answer: (question: Question) => Answer | Promise<Answer>,
  options: Options = {},
): Promise<{ egress: CountedEgress; questions: string[] }> {
  const { server, questions } = await startDnsServer(t, answer);
  return { egress: egressWith({ ...options, resolve: resolverBy([server]) }), questions };
}

/** Dials; the stream, if there is one, is ended with the test. */
export async function dial(
  t: ExecutionContext,
  egress: CountedEgress,
  host: string,
  port: number,
  use: EgressUse,
  signal: AbortSignal = new AbortController().signal,
): Promise<Duplex | { failure: string; message: string }> {
  const dialled = await egress.dial({ host, port }, use, signal);
  if (!dialled.ok) return { failure: dialled.failure, message: dialled.message };
  t.teardown(() => void dialled.stream.destroy());
  return dialled.stream;
}

/** What became of a dial, in a word. */
export async function outcome(...dialled: Parameters<typeof dial>): Promise<string> {
  const found = await dial(...dialled);
  if ('failure' in found) return found.failure;
  found.destroy();
  return 'open';
}
