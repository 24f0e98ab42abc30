/** What the parts of a command's page are drawn with. */
import type { Fleet } from '../../fleet/feed.ts';
import type { Live } from '../../live.ts';
import type { CommandWatch } from '../../run/command-watch.ts';
import type { OutputGroup } from '../../run/grouping.ts';

/** The groups of outputs. */
export interface OutputsProps {
  readonly live: Live;
  readonly watch: CommandWatch;
  readonly fleet: Fleet;
  /** Of the command. */
  readonly id: string;
  readonly search: string;
}

/** One of them. */
export interface GroupProps extends OutputsProps {
  readonly group: OutputGroup;
  readonly pattern: RegExp | null;
  readonly nameOf: (execution: string) => string;
  /** The execution that the address names, which stands before all others; empty: none. */
  readonly first: string;
  /** Where the output of an execution is seen: an address. */
  readonly addressOf: (execution: string) => string;
}
