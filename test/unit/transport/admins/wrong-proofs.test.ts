/** Who does not get in as another admin, and what everybody else is told. */
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { CALL_ROUTE, SEALED_TYPE } from '../../../../transport/admins/call-entrance.ts';
import { CALL_AGE_MS_MAX } from '../../../../transport/admins/limits.ts';
import { CALL_PATH, PEER_HEADER, REACHED_HEADER } from '../../../../transport/admins/protocol/version.ts';
import { KEYS } from '../../../support/api/fakes.ts';
import {
  callOf,
  DONE,
  keysOf,
  linkedAdmins,
  noSignal,
  startLinked,
  type LinkedAdmin,
} from '../../../support/linked-admins.ts';
import { anybodys, plain, post, written } from '../../../support/net/written-calls.ts';

const flipped = (text: string, at: number): string =>
  `${text.slice(0, at)}${text[at] === 'a' ? 'b' : 'a'}${text.slice(at + 1)}`;

/** A body that is told of and never sent. */
const UNSENT_BYTES = 123_456;

/** Each makes a header that is no proof. */
const WRONG: Readonly<Record<string, (a: LinkedAdmin, b: LinkedAdmin, strangers: LinkedAdmin) => string | undefined>> =
  {
    'no header': () => undefined,
    'an empty header': () => '',
    'an API key': () => KEYS.api,
    'the master key as a bearer': () => `Bearer ${KEYS.master}`,
    'another form': (a, b) => written(a, b).header.text.replace(/^1\./u, '2.'),
    'a changed proof': (a, b) => flipped(written(a, b).header.text, written(a, b).header.text.length - 5),
    'a proof that is too short': (a, b) => written(a, b).header.text.slice(0, -1),
    'a changed nonce': (a, b) => {
      const { header } = written(a, b);
      return flipped(header.text, header.unproven.length - 3);
    },
    'a changed time': (a, b) => {
      const { header } = written(a, b);
      return header.text.replace(String(header.said.sentAtMs), String(header.said.sentAtMs + 1));
    },
    'a changed target': (a, b) => written(a, b).header.text.replace(b.instanceId, randomUUID()),
    'a changed sender': (a, b) => written(a, b).header.text.replace(a.instanceId, randomUUID()),
    'another admin under the instance of one': (a, b) => written(a, b).header.text.replace(a.id, b.id),
    'the proof of another route': (a, b) => keysOf(a).header('POST /internal/v1/other', b.instanceId, Date.now()).text,
    'another key': (a, b) => keysOf(a, Buffer.alloc(32, 1)).header(CALL_ROUTE, b.instanceId, Date.now()).text,
    'an admin that is not alive': (_a, b, stranger) => written(stranger, b).header.text,
    'an instance from before a restart': (a, b) => written({ ...a, instanceId: randomUUID() }, b).header.text,
    'one that is too old': (a, b) => written(a, b, Date.now() - CALL_AGE_MS_MAX - 2_000).header.text,
    'one from ahead': (a, b) => written(a, b, Date.now() + CALL_AGE_MS_MAX + 600_000).header.text,
    itself: (_a, b) => written(b, b).header.text,
  };

for (const [what, make] of Object.entries(WRONG)) {
  test(`${what} finds no such route, as anybody does, and nothing of its body is read`, async (t) => {
    const { a, b } = await linkedAdmins(t);
    const stranger = await startLinked(t, 'c');
    const text = make(a, b, stranger);

    // No byte of the body is ever sent: whoever waited for one would not answer.
    const told = await post(
      b.served.url,
      CALL_PATH,
      {
        'content-type': SEALED_TYPE,
        'content-length': String(UNSENT_BYTES),
        ...(text !== undefined && text !== '' && { [PEER_HEADER]: text }),
      },
      null,
    );

    t.deepEqual(plain(told), await anybodys(b));
    t.like(plain(told), { status: 404 });
    t.deepEqual(
      b.offered.filter(({ length }) => length === UNSENT_BYTES),
      [{ length: UNSENT_BYTES, isTaken: false, isRead: false }],
    );
    t.deepEqual(b.calls, []);
  });
}

test('a thousand hostile requests: each finds no such route, none reaches the handler, and the admin goes on', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const random = seeded(20_261_123);

  const statuses: number[] = [];
  for (let round = 0; round < 50; round += 1)
    statuses.push(...(await Promise.all(Array.from({ length: 20 }, () => hostile(t, random, a, b)))));

  t.deepEqual([statuses.length, new Set(statuses)], [1_000, new Set([404])]);
  t.deepEqual(b.calls, []);
  t.deepEqual(await a.links.calls.call(b.id, callOf(), noSignal()), DONE);
});

/** Numbers below 1, always the same. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** One request that is not an admin's: a right one with a few characters changed, cut off, doubled, or made up. */
async function hostile(t: ExecutionContext, random: () => number, a: LinkedAdmin, b: LinkedAdmin): Promise<number> {
  const { header, body } = written(a, b);
  const pick = (max: number): number => Math.floor(random() * max);
  const visible = (): string => String.fromCodePoint(33 + pick(94));
  const made = [
    (): string => {
      const at = pick(header.text.length);
      const other = visible();
      return `${header.text.slice(0, at)}${other === header.text[at] ? '~' : other}${header.text.slice(at + 1)}`;
    },
    (): string => header.text.slice(0, 1 + pick(header.text.length - 1)),
    (): string => `${header.text}${visible()}`,
    (): string => `${header.text}, ${header.text}`,
    (): string => Array.from({ length: 1 + pick(400) }, visible).join(''),
    (): string => header.text.replaceAll(/\d/gu, () => String(pick(10))),
    (): string => `1.${randomUUID()}.${randomUUID()}.${randomUUID()}.${Date.now()}.${'A'.repeat(16)}.${'A'.repeat(22)}`,
  ][pick(7)]?.();
  const sent = [body, Buffer.alloc(pick(2_000), pick(256)), Buffer.from('{"call_id":1}')][pick(3)] ?? body;
  const told = await post(
    b.served.url,
    CALL_PATH,
    { [PEER_HEADER]: (made ?? '').trim() || 'x', 'content-type': ['application/json', SEALED_TYPE][pick(2)] ?? '' },
    sent,
  );
  t.true(told.headers[REACHED_HEADER] === undefined);
  return told.status;
}
