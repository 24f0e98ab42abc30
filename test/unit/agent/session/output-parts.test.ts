/** The largest output that an agent keeps, as its parts carry it to an admin (C10). */
import test from 'ava';
import { OUTPUT_PARTS_MAX, OUTPUT_PART_BYTES_MAX } from '../../../../transport/protocol/limits.ts';
import { executionId, sessionFixture } from '../../../support/agent/session-fixture.ts';

const LARGEST_BYTES = OUTPUT_PARTS_MAX * OUTPUT_PART_BYTES_MAX;

/** What an admin gets of it. A part that it does not take throws as it is sent. */
function uploaded(text: string) {
  const { journal, link } = sessionFixture();
  journal.finish(executionId(1), text);
  link().welcome();
  for (let part = 0; part < OUTPUT_PARTS_MAX; part += 1)
    link().hear({ type: 'part-stored', execution: executionId(1), part });
  const parts = link().frames.flatMap((frame) => (frame.type === 'output-part' ? [frame.text] : []));
  return { text: parts.join(''), parts: parts.length, last: link().frames.at(-1) };
}

/**
 * The largest, of one byte a letter but for one over each of the first edges of parts, `before` bytes of it before it.
 */
function withLettersOverEdges(letter: string, before: number, edges: number): string {
  const bytes = Buffer.alloc(LARGEST_BYTES, 'x');
  for (let edge = 1; edge <= edges; edge += 1) bytes.write(letter, edge * OUTPUT_PART_BYTES_MAX - before);
  return bytes.toString();
}

for (const letter of ['é', '€', '🚀']) {
  const letterBytes = Buffer.byteLength(letter);

  test(`the largest output comes whole when all of it is ${letter}`, (t) => {
    const text = letter.repeat(LARGEST_BYTES / letterBytes);

    const got = uploaded(text);

    t.true(got.text === text);
    t.like(got.last, { type: 'result', results: [{ parts: got.parts, output_truncated: false }] });
  });

  test(`the largest output comes whole when a ${letter} lies over an edge of its parts, or over all of them`, (t) => {
    for (const edges of [1, OUTPUT_PARTS_MAX - 1])
      for (let before = 1; before < letterBytes; before += 1) {
        const text = withLettersOverEdges(letter, before, edges);

        const got = uploaded(text);

        t.true(got.text === text, `${before} bytes before each of ${edges}`);
        t.like(got.last, { type: 'result', results: [{ parts: OUTPUT_PARTS_MAX }] });
      }
  });
}
