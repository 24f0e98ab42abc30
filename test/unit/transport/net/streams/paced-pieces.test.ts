/** What came of a stream and waits for its turn. */
import test from 'ava';
import { AT_ONCE, PacedPieces, type Intake } from '../../../../../transport/net/streams/paced-pieces.ts';

/** Letters, of which `perTurn` go at once and the rest after 10 ms each; what has an x is too much. */
function fixture(perTurn: number) {
  const handedOn: string[] = [];
  const timers: { readonly ms: number; readonly run: () => void }[] = [];
  const intake: Intake = {
    take: (chunk) => (chunk.includes('x') ? null : [...chunk].map((byte) => ({ bytes: Buffer.of(byte), cost: 1 }))),
    pass: (waiting) => ({ count: Math.min(perTurn, waiting.length), waitMs: waiting.length > perTurn ? 10 : 0 }),
  };
  const after = (ms: number, run: () => void) => {
    const timer = { ms, run };
    timers.push(timer);
    return () => void timers.splice(timers.indexOf(timer), 1);
  };
  const pieces = new PacedPieces(intake, (bytes) => void handedOn.push(bytes.toString()), after);
  return {
    pieces,
    timers,
    add: (text: string) => pieces.add(Buffer.from(text)),
    turn: () => timers.shift()?.run(),
    said: () => handedOn.join(''),
  };
}

test('so much is handed on at once as the intake lets pass, and the rest in order, after a wait each', (t) => {
  const { add, said, turn, pieces, timers } = fixture(2);

  add('abc');
  const first = [said(), pieces.bytes, timers.length];
  add('de');
  const second = [said(), pieces.bytes, timers.length];
  turn();
  const third = [said(), pieces.bytes, timers.length];
  turn();

  t.deepEqual(
    [first, second, third, [said(), pieces.bytes, timers.length]],
    [
      ['ab', 1, 1],
      ['ab', 3, 1],
      ['abcd', 1, 1],
      ['abcde', 0, 0],
    ],
  );
});

test('what is too much is not taken, and what came before it still goes', (t) => {
  const { add, said, turn, pieces } = fixture(1);

  add('ab');
  const taken = add('cx');
  turn();

  t.deepEqual([taken, said(), pieces.bytes], [false, 'ab', 0]);
});

test('an end comes after all that waits, and at once where nothing does', (t) => {
  const { add, said, turn, pieces } = fixture(1);
  const ends: string[] = [];
  add('ab');

  pieces.end(() => ends.push(said()));
  const before = [...ends];
  turn();
  pieces.end(() => ends.push('again'));

  t.deepEqual([before, ends], [[], ['ab', 'again']]);
});

test('nothing is handed on once it was stopped, also amid a turn', (t) => {
  const waiting = fixture(1);
  waiting.add('ab');
  waiting.pieces.stop();

  const handedOn: string[] = [];
  const amid: PacedPieces = new PacedPieces(
    { ...AT_ONCE, take: (bytes) => [...bytes].map((byte) => ({ bytes: Buffer.of(byte), cost: 0 })) },
    (bytes) => {
      handedOn.push(bytes.toString());
      if (handedOn.length === 2) amid.stop();
    },
  );
  amid.add(Buffer.from('abc'));

  t.deepEqual(
    [waiting.said(), waiting.timers.length, waiting.pieces.bytes, handedOn.join(''), amid.bytes],
    ['a', 0, 0, 'ab', 0],
  );
});
