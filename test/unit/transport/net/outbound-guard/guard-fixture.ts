/** A guard whose DNS server answers what a test wants. */
import type { ExecutionContext } from 'ava';
import { createGuard, type Guard, type GuardVerdict } from '../../../../../transport/net/outbound-guard/guard.ts';
import { resolverBy } from '../../../../../transport/net/outbound-guard/resolution.ts';
import { startDnsServer, type Answer, type Question } from '../../../../support/net/dns-server.ts';

/** A public address. */
export const GOOD = '93.184.215.14';

/** A public address of IPv6. */
export const GOOD_6 = '2606:4700:4700::1111';

/** A guard that asks a real DNS server, and the questions that came there. */
export async function guardWith(
  t: ExecutionContext,
  answer: (question: Question) => Answer | Promise<Answer>,
  allowPrivate = false,
): Promise<Guard & { questions: string[] }> {
  const { server, questions } = await startDnsServer(t, answer);
  // a busy machine may take longer than a guard waits
  return { ...createGuard({ allowPrivate, resolve: resolverBy([server]), resolveMsMax: 60_000 }), questions };
}

/** What is said to somebody who gave the URL. */
export function said(verdict: GuardVerdict): string {
  return verdict.ok ? verdict.url.href : verdict.reason;
}
