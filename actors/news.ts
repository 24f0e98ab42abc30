/** What this admin wants to hear of what others store, and how much of it it hears. */
import type { CommandId } from '../transport/protocol/ids.ts';

/** Of what somebody here wants to hear: all nodes or none, and these commands with their executions. */
export interface WantedNews {
  readonly nodes: boolean;
  readonly commands: ReadonlySet<CommandId> | 'all';
}

/** News of the other admins, told on the bus of news. */
export interface NewsSource {
  /** Replaces what this subscriber wanted before. Nothing is dialled while nobody wants anything. */
  want(subscriber: 'feeds' | 'actors', wanted: WantedNews): void;
  /**
   * Null: news of this command may be left out now. Else all of them are told, and the number is another one whenever
   * some may have been left out since: whoever read the rows under this number needs to read no more.
   */
  coverage(command: CommandId): number | null;
}

/** Nothing is wanted. */
export const NO_NEWS: WantedNews = { nodes: false, commands: new Set() };
