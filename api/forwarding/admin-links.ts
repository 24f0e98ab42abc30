/** How this admin gets to the others, as surfaces tell it. */
import { instant } from '../../actors/resources/instant.ts';
import type { LinkSnapshot } from '../../actors/inspection.ts';
import type { AdminLink } from '../admin-ports.ts';

/** What is known of the way to another admin that is alive. `why` completes "the admin …"; `sinceMs`: Unix ms. */
export interface KnownLink {
  readonly id: string;
  readonly name: string;
  readonly state:
    | { readonly type: 'unknown' | 'other_version' }
    | { readonly type: 'reached'; readonly sinceMs: number }
    | { readonly type: 'unreached'; readonly sinceMs: number; readonly why: string };
  /** How long the last answer to a ping took; null: there was none. */
  readonly latencyMs: number | null;
}

/** The admin that looks. */
export interface LooksFrom {
  readonly id: string;
  readonly name: string;
}

/** The link to the admin of this id; null: it is not known to be alive. */
export function adminLinkTo(id: string, from: LooksFrom, known: readonly KnownLink[]): AdminLink | null {
  if (id === from.id) return { from: from.name, state: 'self', since: null, reason: null, latency_ms: null };
  const link = known.find((one) => one.id === id);
  if (link === undefined) return null;
  const { state, latencyMs } = link;
  return {
    from: from.name,
    state: state.type,
    since: 'sinceMs' in state ? instant(Math.trunc(state.sinceMs)) : null,
    reason: state.type === 'unreached' ? `it ${state.why}` : null,
    latency_ms: state.type === 'reached' && latencyMs !== null ? Math.round(latencyMs * 10) / 10 : null,
  };
}

/** A link as it is inspected. */
export function linkSnapshot({ name, state, latencyMs }: KnownLink): LinkSnapshot {
  return {
    admin: name,
    state: state.type,
    sinceMs: 'sinceMs' in state ? state.sinceMs : null,
    latencyMs: state.type === 'reached' ? latencyMs : null,
    why: state.type === 'unreached' ? state.why : null,
  };
}
