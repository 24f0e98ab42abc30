/** What the palette asks the service for: clusters, groups and commands by what is typed. Pure. */
import type { CommandResource } from '../actors/resources/command.ts';
import type { GroupResource } from '../actors/resources/group.ts';
import { targetingText } from './lists/targeting.ts';
import { anywhere } from './lists/query.ts';
import type { Api } from '../api/client/api.ts';
import { longestWordOf, type Item } from './palette.ts';
import { addressOf } from './routes.ts';
import { PALETTE } from './texts/palette.ts';

/** Clusters and groups that are asked for: one page of each list. */
export const ASKED_ROWS_MAX = 100;

/** Commands that are asked for, the latest first. Fewer, as each comes with its whole script. */
export const ASKED_COMMANDS_MAX = 20;

/** A word of fewer letters than this is looked for among the latest commands alone: most scripts have it. */
export const SCRIPT_WORD_LETTERS_MIN = 3;

/** Age of the commands whose scripts are looked through for a word, in days: no index has words of scripts. */
export const SCRIPTS_DAYS_MAX = 7;

const DAY_MS = 86_400_000;

/** What is typed is asked for after this, in ms: not at each letter. */
export const ASKED_AFTER_MS = 200;

/** First characters of a script that stand for it. */
const SCRIPT_CHARACTERS_MAX = 80;

/** First characters of a script that are looked through here for the other words. */
const SCRIPT_LOOKED_THROUGH_MAX = 4_000;

/** The lists that are asked. */
export type PaletteApi = Pick<Api, 'list_clusters' | 'list_groups' | 'list_commands'>;

/**
 * Clusters, groups and commands of the last days that have the longest word of what is sought; of the other words the
 * palette judges itself. Without a word: the first ones by name. Without one that is long enough: the latest commands.
 * What cannot be had is left out. `nowMs`: Unix time in ms.
 */
export async function askedItems(api: PaletteApi, sought: string, nowMs: number): Promise<readonly Item[]> {
  const word = longestWordOf(sought);
  const named = { page_size: ASKED_ROWS_MAX, sort: 'name', ...(word !== '' && { name: anywhere(word.toLowerCase()) }) };
  const [clusters, groups, commands] = await Promise.allSettled([
    api.list_clusters.query(named),
    api.list_groups.query(named),
    api.list_commands.query({
      page_size: ASKED_COMMANDS_MAX,
      sort: '-inserted_at',
      ...(word.length >= SCRIPT_WORD_LETTERS_MIN && {
        command_text: anywhere(word),
        inserted_at__gte: new Date(nowMs - SCRIPTS_DAYS_MAX * DAY_MS).toISOString(),
      }),
    }),
  ]);
  return [
    ...(clusters.status === 'fulfilled' ? clusters.value.data.map(clusterItem) : []),
    ...(groups.status === 'fulfilled' ? groups.value.data.map(groupItem) : []),
    ...(commands.status === 'fulfilled' ? commands.value.data.map((one) => commandItem(one, word)) : []),
  ];
}

function clusterItem({ name }: { readonly name: string }): Item {
  return { kind: 'clusters', id: `cluster-${name}`, text: name, leads: { to: addressOf('cluster', { id: name }) } };
}

function groupItem({ name, targeting }: Pick<GroupResource, 'name' | 'targeting'>): Item {
  const to = addressOf('group', { id: name });
  return { kind: 'groups', id: `group-${name}`, text: name, more: targetingText(targeting), leads: { to } };
}

/** By the line of its script in which the word stands, else by the first. */
function commandItem(
  { id, command_text: script, summary }: Pick<CommandResource, 'id' | 'command_text' | 'summary'>,
  word: string,
): Item {
  const lines = script.trim().split('\n');
  const line = lines.find((one) => word !== '' && one.includes(word)) ?? lines[0] ?? '';
  const at = Math.max(0, word === '' ? 0 : line.indexOf(word) - SCRIPT_CHARACTERS_MAX / 2);
  const text = line.slice(at, at + SCRIPT_CHARACTERS_MAX);
  const more = PALETTE.nodes(summary.total);
  const also = script.slice(0, SCRIPT_LOOKED_THROUGH_MAX);
  return { kind: 'commands', id: `command-${id}`, text, more, also, leads: { to: addressOf('command', { id }) } };
}

/** Asks for what is typed: once typing pauses, one question at a time, and of those that wait the last alone. */
export class PaletteSearch {
  readonly #ask: (sought: string) => Promise<readonly Item[]>;
  readonly #found: (items: readonly Item[]) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wanted: string | null = null;
  #isAsking = false;
  #isStopped = false;

  /** `found` is told what was found last, as long as nobody stops it. `ask` never rejects. */
  constructor(ask: (sought: string) => Promise<readonly Item[]>, found: (items: readonly Item[]) => void) {
    this.#ask = ask;
    this.#found = found;
  }

  want(sought: string, afterMs = ASKED_AFTER_MS): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#wanted = sought;
      void this.#pump();
    }, afterMs);
  }

  /** Nobody is told of anything from now on. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #pump(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    while (this.#wanted !== null && !this.#isStopped) {
      const sought = this.#wanted;
      this.#wanted = null;
      const items = await this.#ask(sought);
      if (!this.#isStopped) this.#found(items);
    }
    this.#isAsking = false;
  }
}
