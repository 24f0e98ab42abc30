/** One peer that says much takes nobody's place, and costs little. */
import test from 'ava';
import { Inbox } from '../../../../../transport/vpn/member/inbox.ts';
import { INBOX_MAX, PEER_MESSAGES } from '../../../../../transport/vpn/member/limits.ts';

const ASKED = { type: 'asked' } as const;
const HEARD = { type: 'heard' } as const;

/** Has a peer ask so often at this time; how often it was heard. */
function ask(inbox: Inbox, publicKey: string, times: number, nowMs: number): number {
  return Array.from({ length: times }, () => inbox.hear(publicKey, ASKED, nowMs)).filter(Boolean).length;
}

test('messages are taken once, in the order in which they came', (t) => {
  const inbox = new Inbox();
  inbox.hear('one', ASKED, 0);
  inbox.put('other', HEARD);

  t.deepEqual(inbox.taken(), [
    { publicKey: 'one', message: ASKED },
    { publicKey: 'other', message: HEARD },
  ]);
  t.deepEqual(inbox.taken(), []);
});

test('a peer is heard as often as tries need, then a few times a second, and again as before after a silence', (t) => {
  const inbox = new Inbox();

  t.is(ask(inbox, 'one', 10_000, 1_000), PEER_MESSAGES.tokensMax);
  t.is(ask(inbox, 'one', 1_000, 2_000), PEER_MESSAGES.tokensPerSecond);
  t.is(ask(inbox, 'one', 10_000, 60_000), PEER_MESSAGES.tokensMax);
});

test('a peer that says too much keeps no other from being heard, nor what is said of its own path elsewhere', (t) => {
  const inbox = new Inbox();
  ask(inbox, 'one', 2 * INBOX_MAX, 0);
  inbox.taken();

  t.true(inbox.put('one', HEARD));
  t.true(inbox.hear('other', ASKED, 0));
  t.is(inbox.taken().length, 2);
});

test('so many messages wait at most, whoever they are of', (t) => {
  const inbox = new Inbox();
  const heard = Array.from({ length: 2 * INBOX_MAX }, (_, index) => inbox.hear(`peer ${index}`, ASKED, 0));

  t.is(heard.filter(Boolean).length, INBOX_MAX);
  t.false(inbox.put('one', HEARD));
  t.is(inbox.taken().length, INBOX_MAX);
  t.true(inbox.put('one', HEARD));
});

test('who said too much is not forgotten before it was silent', (t) => {
  const inbox = new Inbox();
  ask(inbox, 'one', 1_000, 0);

  inbox.sweep(1_000);
  t.is(ask(inbox, 'one', 1_000, 1_000), PEER_MESSAGES.tokensPerSecond);
  inbox.sweep(60_000);
  t.is(ask(inbox, 'one', 1_000, 60_000), PEER_MESSAGES.tokensMax);
});
