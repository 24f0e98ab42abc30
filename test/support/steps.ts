/** What came of a message to an actor, in short. */
import type { Change } from '../../actors/step.ts';
import { REPLY_TO } from './actors.ts';

/** What it stores, in order. */
export function writesOf({ changes }: { readonly changes: readonly Change[] }): readonly Change['write'][] {
  return changes.map(({ write }) => write);
}

/** The kinds of what it stores, in order. */
export function kindsOf({ changes }: { readonly changes: readonly Change[] }): readonly Change['write']['kind'][] {
  return changes.map(({ write }) => write.kind);
}

/** Those of one type. */
export function ofType<T extends { readonly type: string }, K extends T['type']>(
  all: readonly T[],
  type: K,
): readonly Extract<T, { readonly type: K }>[] {
  return all.filter((one): one is Extract<T, { readonly type: K }> => one.type === type);
}

/** The effect that refuses whoever asked. */
export function refusal(code: string, message: string) {
  return { type: 'answer', to: REPLY_TO, result: { ok: false, refusal: { code, message } } } as const;
}

/** The effect that tells another actor. */
export function tell(kind: string, id: string, message: object) {
  return { type: 'tell', told: { to: { kind, id }, message } } as const;
}
