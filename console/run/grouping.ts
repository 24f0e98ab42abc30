/**
 * Executions that ended alike and said the same stand together, as `edge run --group` shows them. Kept up execution by
 * execution, so that 10,000 that end one after another cost no more than each of them once. Pure.
 */
import type { ExecutionStatus } from '../../actors/resources/command.ts';
import { plainTextOf } from './ansi.ts';
import { hashOf } from './text-hash.ts';

/** What a group has to know of an execution. */
export interface Grouped {
  readonly id: string;
  readonly status: ExecutionStatus;
  readonly exit_code: number | null;
}

/** Texts that are kept whole, in characters: of all groups together, and of one of them. */
export const KEPT_CHARACTERS_MAX = 33_554_432;
export const KEPT_OUTPUT_CHARACTERS_MAX = 4_194_304;

/** What is kept of any other group, in characters: enough to tell what it is. */
export const KEPT_BEGINNING_CHARACTERS = 1_024;

/** Characters of the first line that stands in the list. */
const PREVIEW_CHARACTERS = 160;

/** How a group ended; those that ask for somebody stand first. */
export const RESULTS = ['failed', 'cancelled', 'expired', 'dropped', 'running', 'pending', 'succeeded'] as const;
/** One of them. */
export type ResultKind = (typeof RESULTS)[number];

/** What is known of an output. `waiting`: it is asked for; `large`: only if somebody wants to see it. */
export type OutputState = 'none' | 'waiting' | 'large' | 'known';

/** Executions that ended alike and said the same. */
export interface OutputGroup {
  /** The same wherever it is made: links name a group by it. */
  readonly key: string;
  readonly kind: ResultKind;
  readonly exitCode: number | null;
  readonly output: OutputState;
  /** Of a known output: all of it, or its beginning. */
  readonly text: string;
  readonly isWhole: boolean;
  readonly characters: number;
  /** The machine kept no more than the first and last of it. */
  readonly isTruncated: boolean;
  /** Its first line that says something, as it may be shown. */
  readonly preview: string;
  /** Ids of its executions, in the order in which they came; it goes on changing. */
  readonly ids: ReadonlySet<string>;
  /** How many there were when `sorted` last showed it: all groups that it shows together have each execution once. */
  readonly shown: number;
}

interface Group extends OutputGroup {
  readonly ids: Set<string>;
}

/** What became known of one output. */
export type KnownOutput = { readonly text: string; readonly isTruncated: boolean } | 'large';

/** How an execution ended, or that it did not. */
export function resultOf({ status, exit_code: exitCode }: Omit<Grouped, 'id'>): ResultKind {
  switch (status) {
    case 'pending':
      return 'pending';
    case 'sent':
      return 'running';
    case 'completed':
      return exitCode === 0 ? 'succeeded' : 'failed';
    case 'cancelled':
    case 'expired':
    case 'dropped':
      return status;
    default:
      return status satisfies never;
  }
}

/** Whether an execution with this end has an output to be asked for. */
export function hasOutput({ status }: Pick<Grouped, 'status'>): boolean {
  return status === 'completed' || status === 'cancelled';
}

/** The groups of one command. */
export class OutputGroups {
  readonly #groups = new Map<string, Group>();
  readonly #keyOf = new Map<string, string>();
  /** Keys of groups that are not as `sorted` last showed them. */
  readonly #touched = new Set<string>();
  #keptCharacters = 0;
  #sorted: readonly OutputGroup[] | null = null;

  /** Characters that are kept of all texts together. */
  get keptCharacters(): number {
    return this.#keptCharacters;
  }

  /** Takes an execution that is new, or is another now. Answers whether its output is to be asked for. */
  put(execution: Grouped): boolean {
    const kind = resultOf(execution);
    const known = this.of(execution.id);
    if (known?.kind === kind && known.exitCode === execution.exit_code && known.output !== 'none') return false;
    const output = hasOutput(execution) ? 'waiting' : 'none';
    this.#move(execution.id, { kind, exitCode: execution.exit_code, output }, null);
    return output === 'waiting';
  }

  /** What an execution said, which was put before; of one that is gone it is forgotten. */
  say(id: string, said: KnownOutput): void {
    const before = this.of(id);
    if (before === undefined || before.output === 'none' || before.output === 'known') return;
    const { kind, exitCode } = before;
    if (said === 'large') this.#move(id, { kind, exitCode, output: 'large' }, null);
    else this.#move(id, { kind, exitCode, output: 'known' }, said);
  }

  remove(id: string): void {
    this.#leave(id);
    this.#keyOf.delete(id);
  }

  get(key: string): OutputGroup | undefined {
    return this.#groups.get(key);
  }

  /** The group that an execution is in. */
  of(id: string): OutputGroup | undefined {
    return this.#groups.get(this.#keyOf.get(id) ?? '');
  }

  /**
   * What failed first; of each kind the largest first. The same list as long as nothing changed, and a group that
   * changed is another object: whoever draws one draws it anew then.
   */
  sorted(): readonly OutputGroup[] {
    for (const key of this.#touched) {
      const group = this.#groups.get(key);
      if (group !== undefined) this.#groups.set(key, { ...group, shown: group.ids.size });
    }
    this.#touched.clear();
    this.#sorted ??= [...this.#groups.values()].sort(
      (one, other) =>
        RESULTS.indexOf(one.kind) - RESULTS.indexOf(other.kind) ||
        other.ids.size - one.ids.size ||
        (one.key < other.key ? -1 : 1),
    );
    return this.#sorted;
  }

  #move(
    id: string,
    { kind, exitCode, output }: Pick<OutputGroup, 'kind' | 'exitCode' | 'output'>,
    said: Exclude<KnownOutput, 'large'> | null,
  ): void {
    const words = [kind, exitCode ?? '', said === null ? output : `${hashOf(said.text)}${said.isTruncated ? '-' : ''}`];
    const key = words.filter((word) => word !== '').join('.');
    if (this.#keyOf.get(id) === key) return;
    this.#leave(id);
    const group = this.#groups.get(key) ?? this.#made({ key, kind, exitCode, output }, said);
    group.ids.add(id);
    this.#keyOf.set(id, key);
    this.#touched.add(key);
    this.#sorted = null;
  }

  #made(
    of: Pick<OutputGroup, 'key' | 'kind' | 'exitCode' | 'output'>,
    said: Exclude<KnownOutput, 'large'> | null,
  ): Group {
    const text = said?.text ?? '';
    const isWhole =
      text.length <= KEPT_BEGINNING_CHARACTERS ||
      (text.length <= KEPT_OUTPUT_CHARACTERS_MAX && this.#keptCharacters + text.length <= KEPT_CHARACTERS_MAX);
    const kept = isWhole ? text : beginningOf(text, KEPT_BEGINNING_CHARACTERS);
    const group: Group = {
      ...of,
      text: kept,
      isWhole,
      characters: text.length,
      isTruncated: said?.isTruncated ?? false,
      preview: previewOf(kept),
      ids: new Set(),
      shown: 0,
    };
    this.#keptCharacters += kept.length;
    this.#groups.set(of.key, group);
    return group;
  }

  #leave(id: string): void {
    const group = this.#groups.get(this.#keyOf.get(id) ?? '');
    if (group === undefined) return;
    group.ids.delete(id);
    this.#touched.add(group.key);
    this.#sorted = null;
    if (group.ids.size > 0) return;
    this.#groups.delete(group.key);
    this.#keptCharacters -= group.text.length;
  }
}

/** What most of those that succeeded said; where none did, what most said. Others are compared with it. */
export function mostFrequent(groups: readonly OutputGroup[]): OutputGroup | null {
  const known = groups.filter(({ output }) => output === 'known');
  const good = known.filter(({ kind }) => kind === 'succeeded');
  return (good.length > 0 ? good : known).reduce<OutputGroup | null>(
    (most, one) => (most === null || one.ids.size > most.ids.size ? one : most),
    null,
  );
}

/** A piece of a text that does not keep the whole of it in memory, as `slice` alone does in V8. */
function beginningOf(text: string, characters: number): string {
  return JSON.parse(JSON.stringify(text.slice(0, characters))) as string;
}

function previewOf(text: string): string {
  const line = text
    .slice(0, KEPT_BEGINNING_CHARACTERS)
    .split('\n')
    .map((one) => plainTextOf(one).trim())
    .find((one) => one !== '');
  return beginningOf(line ?? '', PREVIEW_CHARACTERS);
}
