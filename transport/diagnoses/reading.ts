/**
 * Reports of agents, which are untrusted: bounded, of the right shape, without control characters, and without
 * addresses of the VPN.
 */
import { isIP } from 'node:net';
import { rangesOf } from '../net/endpoints.ts';
import { Diagnosis, DIAGNOSIS_BYTES_MAX, plainText, withTexts } from '../protocol/diagnosis.ts';
import type { DiagnosisCheck } from '../protocol/diagnosis.ts';

/** Checks that an admin makes itself: an agent that names one of these lies. */
export const ADMIN_CHECKS = [
  'node_session',
  'node_last_seen',
  'node_tunnel',
  'node_round_trip',
  'agent_report',
  'version',
] as const;
/** One of them. */
export type AdminCheck = (typeof ADMIN_CHECKS)[number];

/** The checks of a report, or why it is none: the end of a sentence. */
export type ReadReport =
  | { readonly ok: true; readonly checks: readonly DiagnosisCheck[] }
  | { readonly ok: false; readonly problem: string };

/** Reads the body of an answer. */
export function readReport(body: Uint8Array, ranges: readonly string[]): ReadReport {
  if (body.length > DIAGNOSIS_BYTES_MAX) return problem(`it is larger than ${DIAGNOSIS_BYTES_MAX} bytes`);
  try {
    return reportOf(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)), ranges);
  } catch {
    return problem('it is no JSON');
  }
}

/**
 * Reads what was parsed already. `ranges` are those of the VPN of its cluster, as CIDR: addresses in them are blanked
 * (R3).
 */
export function reportOf(value: unknown, ranges: readonly string[]): ReadReport {
  const parsed = Diagnosis.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return problem(`${issue?.path.map(String).join('.').slice(0, 100) || 'the report'} is not as it should be`);
  }
  const { checks } = parsed.data;
  if (checks.some(({ name }) => ADMIN_CHECKS.some((own) => own === name)))
    return problem('it has a check that only admins make');
  return { ok: true, checks: cleaned(checks, ranges) };
}

/** Checks as they may be shown: without control characters, and without addresses of these ranges (R3). */
export function cleaned(checks: readonly DiagnosisCheck[], ranges: readonly string[]): readonly DiagnosisCheck[] {
  const isHidden = rangeTest(ranges);
  return withTexts(checks, (text) => withoutAddresses(plainText(text), isHidden));
}

function problem(text: string): ReadReport {
  return { ok: false, problem: text };
}

/** IPv4 in dots, and whatever may have IPv6 in it: hexadecimal digits, dots, and at least two colons. */
const ADDRESSES = /(?<![0-9a-f:.])[0-9a-f.]*:[0-9a-f.]*:[0-9a-f:.]*|\d{1,3}(?:\.\d{1,3}){3}/giu;

/**
 * Most places at which an IPv6 address may end, from where it begins: behind each of its parts, the last four of them
 * of IPv4.
 */
const ENDS_MAX = 12;

/**
 * What may be an address is tried so often in one report, some 20 ms; an honest one needs a hundred tries. What is left
 * then is blanked untried.
 */
const TRIES_MAX = 20_000;

function withoutAddresses(text: string, isHidden: (address: string) => boolean): string {
  return text.replaceAll(ADDRESSES, (found) => (holdsHidden(found, isHidden) ? '[VPN address]' : found));
}

/** Texts set colons before and behind addresses, such as that of a port: each sequence of parts may be one. */
function holdsHidden(found: string, isHidden: (address: string) => boolean): boolean {
  if (!found.includes(':')) return isHidden(found);
  const begins = [0, ...Array.from(found.matchAll(/(?<=[:.])|(?=::)/gu), ({ index }) => index)];
  const ends = [...Array.from(found.matchAll(/(?=[:.])|(?<=::)/gu), ({ index }) => index), found.length];
  let next = 0;
  return begins.some((begin) => {
    while ((ends[next] ?? found.length) <= begin && next < ends.length) next += 1;
    return ends.slice(next, next + ENDS_MAX).some((end) => isHidden(found.slice(begin, end)));
  });
}

function rangeTest(ranges: readonly string[]): (address: string) => boolean {
  const list = rangesOf(ranges);
  let left = TRIES_MAX;
  return (address) => {
    left -= 1;
    if (left < 0) return true;
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
}
