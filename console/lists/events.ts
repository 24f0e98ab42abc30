/** Events as a page keeps and shows them. Pure. */
import type { Envelope } from '../../actors/events.ts';
import { addressOf } from '../routes.ts';

/** Events that a page keeps; the oldest go. */
export const EVENTS_KEPT_MAX = 1_000;

/** Of them, those that are drawn at once. */
export const EVENTS_DRAWN_MAX = 200;

/** Newest first, each once. */
export function keptWith(kept: readonly Envelope[], news: readonly Envelope[]): readonly Envelope[] {
  const known = new Set(kept.slice(0, EVENTS_KEPT_MAX).map(({ id }) => id));
  const fresh = news.filter(({ id }) => !known.has(id)).toReversed();
  return [...fresh, ...kept].slice(0, EVENTS_KEPT_MAX);
}

/** Whether each word stands somewhere in the event. */
export function isMatch(event: Envelope, text: string): boolean {
  const words = text
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== '');
  if (words.length === 0) return true;
  const all = JSON.stringify(event).toLowerCase();
  return words.every((word) => all.includes(word));
}

/** What an event is of, and where that is shown; no address: nowhere. */
export interface Subject {
  readonly text: string;
  readonly href?: string;
}

/** Fields of `data` by which things are told, and the pages of these. */
const PAGES_OF = [
  ['node_id', 'node'],
  ['cluster_name', 'cluster'],
  ['self_update_request_id', 'update'],
  ['ssh_username_id', 'ssh-username'],
] as const;

/** Everything that it is of: a node, a cluster, what somebody asked for. */
export function subjectsOf({ data }: Envelope): readonly Subject[] {
  return PAGES_OF.flatMap(([field, page]): Subject[] => {
    const id = data[field];
    if (typeof id !== 'string' || id === '') return [];
    return [{ text: field === 'cluster_name' ? id : id.slice(0, 13), href: addressOf(page, { id }) }];
  });
}

/** What is new in it, in a few words: how it stands, and how that was before. */
export function wordsOf({ data }: Envelope): string {
  const words: string[] = [];
  for (const [field, before] of [
    ['status', 'previous_status'],
    ['version', 'previous_version'],
    ['result', null],
    ['exit_code', null],
    ['auth_method', null],
    ['username', null],
    ['message', null],
  ] as const) {
    const value = wordOf(data[field]);
    if (value === null) continue;
    const was = before === null ? null : wordOf(data[before]);
    words.push(was === null ? (field === 'exit_code' ? `exit code ${value}` : value) : `${was} → ${value}`);
  }
  return words.join(' · ');
}

function wordOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}
