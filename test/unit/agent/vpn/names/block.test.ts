/** Lines of ours in files of others. */
import test from 'ava';
import * as fc from 'fast-check';
import { withBlock, withoutBlock, type OwnBlock } from '../../../../../agent/vpn/names/block.ts';
import { OTHER, SELF } from '../../../../support/agent/names-fixture.ts';

function block(node: string, lines: readonly string[], place: OwnBlock['place'] = 'last'): OwnBlock {
  return { node, lines, place, isOwn: (line) => line.startsWith('own ') };
}

/** Files as there are, and as there should not be. */
const text = fc
  .array(
    fc.constantFrom(
      '127.0.0.1 localhost',
      '# a comment',
      '',
      '\t',
      '10.0.0.1 printer # new',
      '\u00ff\u0080',
      '\r',
      '# BEGIN edge-agent',
      '# END edge-agent x',
      '# BEGIN other',
      'own-like',
    ),
    { maxLength: 8 },
  )
  .chain((lines) =>
    fc
      .tuple(fc.constantFrom('\n', '\r\n'), fc.boolean())
      .map(([end, isEnded]) => lines.join(end) + (isEnded ? end : '')),
  );

const lines = fc.array(fc.constantFrom('own 1', 'own 2', 'own 3'), { minLength: 1, maxLength: 4 });

test('a block stands between two marks, after whatever is there', (t) => {
  t.is(withBlock('a\n', block(SELF, ['own 1'])), `a\n# BEGIN edge-agent ${SELF}\nown 1\n# END edge-agent ${SELF}\n`);
  t.is(
    withBlock('a\n', block(SELF, ['own 1'], 'first')),
    `# BEGIN edge-agent ${SELF}\nown 1\n# END edge-agent ${SELF}\na\n`,
  );
  t.is(withBlock('', block(SELF, [])), '');
});

test('a file has every byte again when the block goes, whatever was in the block meanwhile', (t) => {
  fc.assert(
    fc.property(text, lines, lines, fc.constantFrom('first', 'last'), (before, one, other, place) => {
      const put = withBlock(before, block(SELF, one, place));
      t.is(withBlock(put, block(SELF, one, place)), put);
      t.is(withoutBlock(withBlock(put, block(SELF, other, place)), block(SELF, [])), before);
    }),
    { numRuns: 1_000 },
  );
});

test('blocks of several agents come and go in any order, and leave nothing', (t) => {
  const nodes = ['a', 'ab', OTHER];
  fc.assert(
    fc.property(
      text,
      fc.array(fc.tuple(fc.constantFrom(...nodes), fc.option(lines)), { maxLength: 12 }),
      (before, steps) => {
        let now = before;
        const wanted = new Map<string, readonly string[]>();
        for (const [node, own] of [...steps, ...nodes.map((node) => [node, null] as const)]) {
          now = own === null ? withoutBlock(now, block(node, [])) : withBlock(now, block(node, own));
          if (own === null) wanted.delete(node);
          else wanted.set(node, own);
          for (const [other, rows] of wanted)
            t.true(
              now.includes(`# BEGIN edge-agent ${other}`) &&
                now.includes(`\n${rows.join('\n')}\n# END edge-agent ${other}\n`),
            );
        }
        t.is(now, before);
      },
    ),
    { numRuns: 1_000 },
  );
});

test('a block whose end was lost goes as far as lines of ours, and what others wrote behind it stays', (t) => {
  const torn = `a\n# BEGIN edge-agent ${SELF}\nown 1\nown 2\nb\nown 3\n`;

  t.is(withoutBlock(torn, block(SELF, [])), 'a\nb\nown 3\n');
  t.is(
    withBlock(torn, block(SELF, ['own 9'])),
    `a\n# BEGIN edge-agent ${SELF}\nown 9\n# END edge-agent ${SELF}\nb\nown 3\n`,
  );
  t.is(withoutBlock(`a\n# BEGIN edge-agent ${SELF}`, block(SELF, [])), 'a\n');
});

test('a block that an editor made CRLF, or that is there twice, is known', (t) => {
  const once = withBlock('a\n', block(SELF, ['own 1']));

  t.is(withoutBlock(once.replaceAll('\n', '\r\n'), block(SELF, [])), 'a\r\n');
  t.is(withoutBlock(once + once, block(SELF, [])), 'a\na\n');
  t.is(
    withBlock(once + once, block(SELF, ['own 2'])),
    `a\n# BEGIN edge-agent ${SELF}\nown 2\n# END edge-agent ${SELF}\na\n`,
  );
});

test('what others put in the block stays outside of it from then on, or goes with it when it looks like ours', (t) => {
  t.is(
    withoutBlock(`# BEGIN edge-agent ${SELF}\nown 1\n10.0.0.1 printer\n# END edge-agent ${SELF}\n`, block(SELF, [])),
    `10.0.0.1 printer\n# END edge-agent ${SELF}\n`,
  );
});
