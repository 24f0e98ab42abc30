/**
 * How much of a node's answers is read.
 *
 * Promises: L1, L2.
 */
import test from 'ava';
import { AnswerShares } from '../../../../transport/tunnels/answer-shares.ts';
import {
  NODE_ANSWER_BYTES_AT_ONCE_MAX,
  NODE_ANSWER_BYTES_PER_SECOND_MAX,
} from '../../../../transport/tunnels/limits.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';

const LIAR = 'liar' as NodeId;
const OTHER = 'other' as NodeId;

test('a node has its share, which comes back with time, and no other node’s', (t) => {
  const shares = new AnswerShares();

  t.true(shares.take(LIAR, NODE_ANSWER_BYTES_AT_ONCE_MAX, 0));
  t.false(shares.take(LIAR, 1, 0));
  t.true(shares.take(OTHER, NODE_ANSWER_BYTES_AT_ONCE_MAX, 0));

  t.true(shares.take(LIAR, NODE_ANSWER_BYTES_PER_SECOND_MAX, 1_000));
  t.false(shares.take(LIAR, 1, 1_000));
});

test('nodes whose share is whole again are forgotten, however many answered', (t) => {
  const shares = new AnswerShares();
  for (let index = 0; index < 1_000; index += 1) {
    shares.take(`${index}` as NodeId, 60_000, index * 60);
    shares.forget(index * 60);
  }

  t.true(shares.count <= 2, `${shares.count}`);
  shares.take(LIAR, NODE_ANSWER_BYTES_AT_ONCE_MAX, 60_000);
  shares.forget(61_000);
  t.false(shares.take(LIAR, NODE_ANSWER_BYTES_AT_ONCE_MAX, 61_000));
});
