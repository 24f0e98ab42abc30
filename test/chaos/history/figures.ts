/** What a history shows besides violations: how often each operation was answered how, at owners and elsewhere. */
import type { Call, Place } from './history.ts';
import type { AskedCommand } from './landscape.ts';
import { UNREACHED } from './questions.ts';
import { answersByPlace } from './rules.ts';
import type { Rows } from './rows.ts';

const PLACES: readonly Place[] = ['owner', 'other', 'ownerless', 'any'];

/** Width of the column of operations, in characters. */
const NAME_WIDTH = 28;

/** Width of the columns of answers, in characters. */
const ANSWERS_WIDTH = 34;

/**
 * A line for each operation, with its answers at each place: done, refused for what is stored, in doubt, and by the
 * status with which it could not be done.
 */
export function answerTable(calls: readonly Call[]): string[] {
  const line = (name: string, cells: readonly string[]): string =>
    [name.padEnd(NAME_WIDTH), ...cells.map((cell) => cell.padEnd(ANSWERS_WIDTH))].join(' ').trimEnd();
  const rows = [...answersByPlace(calls)]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([operation, counts]) =>
      line(
        operation,
        PLACES.map((place) =>
          [...counts]
            .filter(([answer]) => answer.startsWith(`${place} `))
            .toSorted(([one], [other]) => one.localeCompare(other))
            .map(([answer, count]) => `${count} ${answer.slice(place.length + 1)}`)
            .join(', '),
        ),
      ),
    );
  return [line('operation', PLACES), ...rows];
}

/**
 * Writes that were done at the first try or for a reason refused, of those that came to an admin, in percent, at each
 * place.
 */
export function servedShares(calls: readonly Call[]): string {
  const writes = calls.filter(
    ({ request, outcome }) =>
      !request.verb.startsWith('show') && !(outcome.type === 'unavailable' && outcome.status === UNREACHED),
  );
  return PLACES.map((place) => {
    const here = writes.filter((call) => call.place === place);
    const served = here.filter(({ outcome }) => outcome.type === 'ok' || outcome.type === 'refused');
    return here.length === 0
      ? null
      : `${place} ${((100 * served.length) / here.length).toFixed(1)} % of ${here.length}`;
  })
    .filter((share) => share !== null)
    .join(', ');
}

/** From the answer of a create to the first start of its script, p50 and p99 in ms, by where it was asked. */
export function startTimes(
  commands: readonly AskedCommand[],
  { executions }: Rows,
  startedS: ReadonlyMap<string, number>,
): string {
  const byCommand = Map.groupBy(executions, ({ command_id: id }) => id);
  const times = commands.flatMap(({ id, answeredS, answeredAt }) => {
    const starts = (byCommand.get(id ?? '') ?? []).flatMap((row) => startedS.get(row.id) ?? []);
    if (answeredS === null || starts.length === 0) return [];
    return [{ place: answeredAt ?? 'any', ms: Math.max(0, 1_000 * (Math.min(...starts) - answeredS)) }];
  });
  return [...Map.groupBy(times, ({ place }) => place)]
    .map(([place, own]) => {
      const sorted = own.map(({ ms }) => ms).toSorted((one, other) => one - other);
      const at = (share: number): number => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
      return `${place} ${at(0.5)} and ${at(0.99)} of ${sorted.length}`;
    })
    .join(', ');
}
