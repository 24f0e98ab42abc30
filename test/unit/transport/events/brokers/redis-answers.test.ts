import test from 'ava';
import * as fc from 'fast-check';
import { ANSWER_BYTES_MAX, answerCheck } from '../../../../../transport/events/brokers/redis-answers.ts';

/** Whether all of it passes, in these pieces. */
function passes(said: string, pieces: readonly number[] = []): boolean {
  const bytes = Buffer.from(said, 'latin1');
  const check = answerCheck();
  const cuts = [
    0,
    ...pieces.map((cut) => cut % (bytes.length + 1)).toSorted((one, other) => one - other),
    bytes.length,
  ];
  try {
    for (const [index, cut] of cuts.entries()) check(bytes.subarray(cut, cuts[index + 1]));
    return true;
  } catch (error) {
    if (!(error as Error).message.startsWith('Protocol error')) throw error;
    return false;
  }
}

const HONEST = [
  '+OK\r\n',
  '+\r\n',
  `+${'x'.repeat(200)}\r\n`,
  '-ERR it refuses \n so\r\n',
  ':0\r\n',
  ':-9223372036854775808\r\n',
  '$-1\r\n',
  '$0\r\n\r\n',
  '$5\r\n\r\n$$2\r\n',
  '*-1\r\n',
  '*0\r\n',
  '*2\r\n*1\r\n:7\r\n$1\r\nx\r\n',
];

const HOSTILE = [
  '$$2\r\n',
  '$-2\r\n',
  '$,\r\n',
  '$\r\n',
  '*-7\r\n',
  '*99999999\r\n',
  `$${ANSWER_BYTES_MAX + 1}\r\n`,
  '+OK\rX$$2\r\n',
  ':1x\r\n',
  `:${'1'.repeat(40)}\r\n`,
  '%1\r\n',
  '_\r\n',
  'HTTP/1.1 400 Bad Request\r\n',
  '\n',
];

test('answers of a Redis pass in whatever pieces they come, and what is none does not', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...HONEST), { maxLength: 6 }),
      fc.constantFrom(...HOSTILE),
      fc.array(fc.nat(), { maxLength: 8 }),
      (honest, hostile, pieces) => {
        t.true(passes(honest.join(''), pieces));
        t.false(passes(honest.join('') + hostile, pieces));
      },
    ),
    { numRuns: 500, seed: 20_261_129 },
  );
});
