/** What PostgreSQL cannot hold is refused on every field of the wire, whoever adds one. */
import test from 'ava';
import { decodeAgentFrame } from '../../../../transport/protocol/codec.ts';
import { Diagnosis } from '../../../../transport/protocol/diagnosis.ts';
import { EnrollAnswer, EnrollmentBlob, EnrollRequest } from '../../../../transport/protocol/enrollment.ts';
import { AdminFrame, AgentFrame } from '../../../../transport/protocol/frames.ts';
import { RecordingDescription } from '../../../../transport/protocol/recording.ts';
import { textFields } from '../../../support/source/text-fields.ts';

/** What processes print and strangers type: whoever stores it replaces what cannot be stored. */
const FOREIGN = [
  '(output-part).text',
  '(result).results[].output',
  '(ssh-unanswered).logins[].username',
  '(tail-output).text',
  '(update-answer).error',
  '(update-outcome).error',
  '(verify-ssh).credential.password',
  '(verify-ssh).username',
];

const takers = (schema: Parameters<typeof textFields>[0]) =>
  textFields(schema)
    .filter(({ taken }) => taken.length > 0)
    .map(({ path }) => path)
    .toSorted();

test("no text of an agent's frame takes a NUL, but what processes print and strangers type", (t) => {
  t.true(textFields(AgentFrame).length > 20);
  t.deepEqual(takers(AgentFrame), FOREIGN);
});

test('no text of any other message takes a NUL', (t) => {
  for (const schema of [AdminFrame, EnrollRequest, EnrollAnswer, EnrollmentBlob, Diagnosis, RecordingDescription])
    t.deepEqual(takers(schema), []);
});

test("half a character in an agent's words becomes a replacement, and costs no session", (t) => {
  const report = { services: [{ name: 'ssh', healthy: false, detail: 'cut here: \uD83D' }] };

  const decoded = decodeAgentFrame(JSON.stringify({ seq: 1, type: 'report', report }));

  t.deepEqual(decoded, {
    ok: true,
    frame: {
      seq: 1,
      type: 'report',
      report: { services: [{ name: 'ssh', healthy: false, detail: 'cut here: \uFFFD' }] },
    },
  });
});
