/** What somebody wants to run, and where, and how that stands in the address of the page. Pure. */
import type { NodeStatus } from '../../actors/resources/node.ts';
import type { Inputs } from '../../api/client/api.ts';
import { addressOf } from '../routes.ts';
import { isNodeId } from '../lists/named-nodes.ts';
import { durationMsOf } from './duration.ts';

/** What is asked of the API. */
export type NewCommand = Inputs['create_command'];
/** The nodes of it. */
export type Targeting = NewCommand['targeting'];

/** Ways to say which nodes, in the order of the page. `again`: those of an earlier command. */
export const PLACES = ['clusters', 'group', 'nodes', 'all', 'again'] as const;
/** One of them. */
export type PlaceKind = (typeof PLACES)[number];

/** Statuses by which nodes are left out. */
export const RUN_STATUSES: readonly NodeStatus[] = ['healthy', 'unhealthy', 'unreachable'];

/** The form, as it is typed. */
export interface RunForm {
  readonly text: string;
  readonly place: PlaceKind;
  /** Names of clusters, names or ids of nodes: with commas or spaces between them. */
  readonly clusters: string;
  readonly nodes: string;
  readonly group: string;
  /** Id of an earlier command. */
  readonly again: string;
  /** Of its nodes only those on which it did not succeed. */
  readonly onlyFailed: boolean;
  readonly labels: string;
  readonly status: NodeStatus | null;
  readonly timeout: string;
  readonly expires: string;
}

/** Nothing yet: also no nodes, so that nothing runs anywhere by mistake. */
export const EMPTY_FORM: RunForm = {
  text: '',
  place: 'clusters',
  clusters: '',
  nodes: '',
  group: '',
  again: '',
  onlyFailed: false,
  labels: '',
  status: null,
  timeout: '',
  expires: '',
};

/** Longest form that stands in an address, in characters: an admin refuses a request with 16 KiB of headers. */
export const ADDRESS_CHARACTERS_MAX = 8_000;

const WORDS = ['clusters', 'nodes', 'group', 'again', 'labels', 'timeout', 'expires'] as const;

/** The form of an address. What is no value of a field is left out: old links still lead somewhere. */
export function formOf(search: string): RunForm {
  const given = new URLSearchParams(search);
  const word = (name: string): string => given.get(name) ?? '';
  const implied = PLACES.find((place) => place !== 'all' && word(place) !== '');
  const place = PLACES.find((one) => one === word('in')) ?? implied ?? EMPTY_FORM.place;
  return {
    ...EMPTY_FORM,
    ...Object.fromEntries(WORDS.map((name) => [name, word(name)])),
    text: word('text'),
    place,
    onlyFailed: word('failed') === 'true',
    status: RUN_STATUSES.find((one) => one === word('status')) ?? null,
  };
}

/** The form as the end of an address: only what says something. Null: it is too long for one. */
export function searchOfForm(form: RunForm): string | null {
  const { place } = form;
  const isImplied = place !== 'all' && form[place] !== '';
  const all: [string, string][] = [
    ['in', isImplied || place === EMPTY_FORM.place ? '' : place],
    ...WORDS.filter((name) => !PLACES.some((one) => one === name) || name === place).map((name): [string, string] => [
      name,
      form[name],
    ]),
    ['failed', place === 'again' && form.onlyFailed ? 'true' : ''],
    ['status', form.status ?? ''],
    ['text', form.text],
  ];
  const pairs = all.filter(([, value]) => value !== '');
  if (pairs.length === 0) return '';
  const search = `?${new URLSearchParams(pairs).toString()}`;
  return search.length > ADDRESS_CHARACTERS_MAX ? null : search;
}

/** Where the form stands filled in. */
export function runAddress(form: Partial<RunForm>): string {
  return addressOf('run', { search: searchOfForm({ ...EMPTY_FORM, ...form }) ?? '' });
}

/**
 * Nodes that a command names: 39 bytes each, beside a script of 128 KiB that may be written twice as long, in a message
 * of 1 MiB. Source: COMMAND_TEXT_BYTES_MAX; maxPayload of api/trpc/sockets.ts.
 */
export const COMMAND_NODES_MAX = 20_000;

/** Nodes that stand by name in the question before it is sent. Equals PREVIEWED_NODES_MAX of the API. */
export const NAMED_NODES_MAX = 5_000;

/** The last moment that a Date holds, in Unix ms. Source: ECMA-262, "Time Values and Time Range". */
const DATE_MS_MAX = 8_640_000_000_000_000;

/** Fields that may be wrong; `many`: more nodes are named than a command can. */
export type FormField = 'text' | PlaceKind | 'many' | 'labels' | 'timeout' | 'expires';

/** The ids of nodes that the form names, or of those of the earlier command that it names; null: not known yet. */
export type KnownNodes = readonly string[] | null;

/** The nodes that are meant, or the field that does not say it yet. */
export function targetingOf(form: RunForm, known: KnownNodes): Targeting | FormField {
  const narrowed = {
    ...(form.labels.trim() !== '' && { labels: form.labels.trim() }),
    ...(form.status !== null && { node_filters: { status: form.status } }),
  };
  switch (form.place) {
    case 'all':
      return { type: 'all', ...narrowed };
    case 'clusters': {
      const names = namesIn(form.clusters);
      return names.length === 0 ? 'clusters' : { type: 'clusters', cluster_names: names, ...narrowed };
    }
    case 'nodes':
    case 'again': {
      const named = form.place === 'nodes' ? namesIn(form.nodes) : [];
      if (named.length > COMMAND_NODES_MAX) return 'many';
      const ids = named.length > 0 && named.every(isNodeId) ? named : [...(known ?? [])];
      if (ids.length === 0) return form.place;
      return ids.length > COMMAND_NODES_MAX ? 'many' : { type: 'nodes', node_ids: ids, ...narrowed };
    }
    case 'group':
      return form.group.trim() === '' ? 'group' : { type: 'group', group: form.group.trim(), ...narrowed };
    default:
      return form.place satisfies never;
  }
}

/** Names with commas, spaces or lines between them, each once. */
export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/u).filter((name) => name !== ''))];
}

/** What a form asks of the API. */
export interface MadeCommand {
  readonly command: NewCommand;
  /** How long it may wait, in ms, from which it has its `expired_at`; not there: the form does not say it. */
  readonly expiresMs?: number;
}

/** What is asked of the API, or the fields that are not as they should be. `nowMs`: Unix time. */
export function commandOfForm(
  form: RunForm,
  known: KnownNodes,
  nowMs: number,
): MadeCommand | { readonly wrong: readonly FormField[] } {
  const targeting = targetingOf(form, known);
  const { timeout, expires } = durationsOf(form, nowMs);
  const wrong: FormField[] = [
    ...(form.text.trim() === '' ? (['text'] as const) : []),
    ...(typeof targeting === 'string' ? [targeting] : []),
    ...(timeout === null ? (['timeout'] as const) : []),
    ...(expires === null ? (['expires'] as const) : []),
  ];
  if (wrong.length > 0 || typeof targeting === 'string') return { wrong };
  return {
    command: {
      command_text: form.text.replaceAll('\r\n', '\n'),
      targeting,
      ...limitsOf(form, nowMs),
    },
    ...(typeof expires === 'number' && { expiresMs: expires }),
  };
}

/** How long it may take and until when it may begin, as the API is asked. What is no duration is left out. */
export function limitsOf(form: RunForm, nowMs: number): Pick<NewCommand, 'timeout' | 'expired_at'> {
  const { timeout, expires } = durationsOf(form, nowMs);
  return {
    ...(typeof timeout === 'number' && { timeout }),
    ...(typeof expires === 'number' && { expired_at: new Date(nowMs + expires).toISOString() }),
  };
}

/** In ms; undefined: not said; null: no duration, or one that leads beyond all dates. */
function durationsOf({ timeout, expires }: RunForm, nowMs: number) {
  const [timeoutMs, expiresMs] = [timeout, expires].map((text) =>
    text.trim() === '' ? undefined : durationMsOf(text),
  );
  const isBeyond = typeof expiresMs === 'number' && nowMs + expiresMs > DATE_MS_MAX;
  return { timeout: timeoutMs, expires: isBeyond ? null : expiresMs };
}
