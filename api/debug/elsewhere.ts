/**
 * The debug page of another admin, made there and shown here: who may look is decided where somebody looks, and whether
 * there is anything to see where it is made.
 */
import { z } from 'zod';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import { callToAdmin } from '../forwarding/call-to-admin.ts';
import type { PeerAnswer, PeerCall, PeerCallHandler, PeerCalls, PeerOutcome } from '../forwarding/ports.ts';

/** By this name admins ask each other for it. */
export const DEBUG_CALL = 'debug_page';

/** So long another admin has to make its page, in ms. */
export const DEBUG_MS_MAX = 4_500;

/** Page of an admin of another version may have more. */
const Page = z.object({ html: z.string() });

/** The other admins that are alive. */
export interface DebugPeers {
  states(): readonly { readonly id: string; readonly name: string }[];
}

/** Pages of other admins. */
export interface DebugElsewhere {
  /** Their names, in order. */
  names(): readonly string[];
  /** The page of the admin of this name, for a query as it came in. */
  page(name: string, query: unknown): Promise<Result<string>>;
}

/** Pages of others, asked by a call. */
export function debugElsewhere(peers: DebugPeers, calls: PeerCalls): DebugElsewhere {
  return {
    names: () =>
      peers
        .states()
        .map(({ name }) => name)
        .toSorted(),
    async page(name, query) {
      const peer = peers.states().find((one) => one.name === name);
      if (peer === undefined) return refuse('not_found', 'No admin of this name is alive.');
      const asked = {
        operation: DEBUG_CALL,
        input: query,
        principal: 'admin',
        surface: 'debug',
        name,
        msMax: DEBUG_MS_MAX,
      };
      const outcome = await calls.call(peer.id, callToAdmin(asked), new AbortController().signal);
      return pageIn(outcome);
    },
  };
}

/** Makes the page of this admin for others; null: its dashboard is switched off. */
export type DebugAnswer = ((query: unknown) => Promise<Result<string>>) | null;

/** Answers calls for the debug page of this admin, and hands on all others. */
export function withDebugPage(answer: DebugAnswer, next: PeerCallHandler): PeerCallHandler {
  return async (call, from) => (call.operation === DEBUG_CALL ? answered(answer, call) : next(call, from));
}

async function answered(answer: DebugAnswer, { input }: PeerCall): Promise<PeerAnswer> {
  if (answer === null) return { type: 'answered', result: SWITCHED_OFF };
  const html = await answer(input);
  return { type: 'answered', result: html.ok ? ok({ html: html.value }) : html };
}

function pageIn(outcome: PeerOutcome): Result<string> {
  if (outcome.type === 'unknown_operation' || outcome.type === 'other_version') return OLDER;
  if (outcome.type !== 'answered') return NO_ANSWER;
  if (!outcome.result.ok) return outcome.result;
  const page = Page.safeParse(outcome.result.value);
  return page.success ? ok(page.data.html) : OLDER;
}

const SWITCHED_OFF = refuse('not_found', 'The debug dashboard of that admin is switched off.');
const OLDER = refuse('service_unavailable', 'That admin is of another version: look at its own debug dashboard.');
const NO_ANSWER = refuse('service_unavailable', 'That admin does not answer now. Its own debug dashboard may.');
