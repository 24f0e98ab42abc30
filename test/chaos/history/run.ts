/**
 * Plays one history and tells of it: figures, a line for each breach, and a verdict. What this machine cannot do is
 * left out, and it says what.
 */
import { missingPeers } from '../../support/run/peers.ts';
import { enterOwnNamespaces } from '../../support/run/own-namespaces.ts';
import type { Scope } from '../../support/scope.ts';
import { FAULT_NAMES, FAULTS, type FaultKind, type FaultName } from './fault-kinds.ts';
import { playHistory } from './play.ts';

/** What is wanted. */
export interface HistoryOptions {
  readonly admins: number;
  readonly clients?: number;
  readonly seed: number;
  readonly faults: number;
  /** Not longer than this. */
  readonly seconds?: number;
  /** Those whose name has one of these words; all unless given. */
  readonly only?: readonly string[];
  /** Where the logs of admins are kept. */
  readonly logs?: string;
  /** As many faults in as little time as a test has. */
  readonly isShort: boolean;
}

/** How faults follow each other: with time for what each leads to, or as close as a test needs them. */
const PACES = { long: { atOnce: 1, calmMs: 2_500 }, short: { atOnce: 2, calmMs: 500 } } as const;

/**
 * Goes on in namespaces of its own, with a network: this process is another one then. Returns why it could not, or null
 * when it is in them.
 */
export async function enterNetworks(): Promise<string | null> {
  const missing = await missingPeers(['root', 'ip', 'nft']);
  return missing.length > 0 ? `needs ${missing.join(', ')}` : enterOwnNamespaces({}, { hasNetwork: true });
}

/** Resolves with the breaches. `problem`: why there are no networks; null: there are. */
export async function tellHistory(
  scope: Scope,
  options: HistoryOptions,
  problem: string | null,
  tell: (line: string) => void,
): Promise<readonly string[]> {
  const { admins, clients, seed, seconds, isShort } = options;
  const hasClocks = !isShort && (await missingPeers(['faketime'])).length === 0;
  const problems: Readonly<Record<NonNullable<FaultKind['needs']>, string | null>> = {
    networks: problem,
    clocks: hasClocks ? null : isShort ? 'needs more time than a test has' : 'needs faketime',
  };
  const wanted = FAULT_NAMES.filter((name) => options.only?.some((words) => name.includes(words)) ?? true);
  const kinds: FaultName[] = [];
  for (const name of wanted) {
    const { needs } = FAULTS[name];
    const why = needs === undefined ? null : problems[needs];
    if (why === null) kinds.push(name);
    else tell(`left out  ${name}: ${why}`);
  }
  if (kinds.length === 0 && seconds === undefined) return ['none of the faults that are wanted can be done here'];
  tell(`seed ${seed}`);
  const { violations, calls, faults, figures, leftOut } = await playHistory(scope, {
    admins,
    seed,
    hasClocks,
    hasNetworks: problem === null,
    ...(options.logs !== undefined && { logs: options.logs }),
    ...(clients !== undefined && { clients }),
    ...(seconds !== undefined && { seconds }),
    faults: { kinds, count: options.faults, ...PACES[isShort ? 'short' : 'long'] },
    tell,
  });
  for (const what of leftOut) tell(`left out  ${what}`);
  for (const figure of figures) tell(figure);
  const done = [...faults].map(([name, count]) => `${count} ${name}`).join(', ');
  const count = [...faults.values()].reduce((sum, one) => sum + one, 0);
  tell(`${calls.length} calls, ${count} faults: ${done || 'none'}`);
  return violations;
}
