/** Commands that clients asked for, as the checks of chaos judge what is stored of them. */
import type { Attempt } from '../books.ts';
import type { Call } from './history.ts';
import type { AskedCommand } from './landscape.ts';

/** Commands as what is stored of them is judged by. */
export function attemptsOf(commands: readonly AskedCommand[], calls: readonly Call[]): Attempt[] {
  const creates = Map.groupBy(
    calls.filter(({ request }) => request.verb === 'create' && request.resource === 'command'),
    ({ request }) => ('name' in request ? request.name : ''),
  );
  return commands.map(({ mark, must, may, id, body, expiresAtS, isCancelled, isDeleted }) => {
    const outcomes = (creates.get(mark) ?? []).map(({ outcome }) => outcome.type);
    return {
      mark,
      answer: outcomes.includes('ok') ? 'stored' : outcomes.includes('doubt') ? 'none' : 'refused',
      id,
      endings: [
        'completed 0',
        ...(isCancelled ? ['cancelled null', 'cancelled 143'] : []),
        ...(expiresAtS === null ? [] : ['expired null']),
        // Its node was deleted, or its machine lost all that it had and was recovered.
        ...(may.length === 0 ? [] : ['dropped null', 'cancelled 137']),
      ],
      outputOf: (execution) => `${mark} ${execution}\n`,
      targets: { must, may },
      answeredMs: 0,
      overAtS: expiresAtS,
      isTakenBack: isDeleted,
      request: { body },
    };
  });
}
