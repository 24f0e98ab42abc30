/** Questions whether a long packet arrives, and their answers, over real sockets on addresses of the loopback. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { MTU_ECHO_PORT, MtuEcho } from '../../../../../transport/vpn/member/mtu-echo.ts';
import { until } from '../../../../support/until.ts';

const NONCE = '0123456789abcdef';

/** Somebody at an address, and the answers that came to it. */
function member(t: ExecutionContext, cidr: string): { readonly echo: MtuEcho; readonly answers: string[][] } {
  const answers: string[][] = [];
  const echo = new MtuEcho((address, nonce) => void answers.push([address, nonce]));
  echo.listen([cidr]);
  t.teardown(() => echo.listen([]));
  return { echo, answers };
}

/** A socket at an address, and what it got. */
async function stranger(
  t: ExecutionContext,
  address: string,
  port: number,
): Promise<{ socket: Socket; got: Buffer[] }> {
  const got: Buffer[] = [];
  const socket = createSocket('udp4').on('message', (message) => void got.push(message));
  t.teardown(() => socket.close());
  socket.bind({ address, port, exclusive: true });
  await once(socket, 'listening');
  return { socket, got };
}

/** Resolves once it answers. */
async function answering({ echo, answers }: ReturnType<typeof member>, address: string): Promise<void> {
  await until(`an answer of ${address}`, () => {
    echo.ask(address, 100, NONCE);
    return answers.some(([from]) => from === address);
  });
}

test.serial('a member that asks with a long packet is answered with its number, by a short one', async (t) => {
  const one = member(t, '127.31.0.1/24');
  const { socket, got } = await stranger(t, '127.31.0.2', MTU_ECHO_PORT);
  one.echo.ask('127.31.0.2', 1_440, NONCE);
  const [question] = await until('the question', () => (got.length > 0 ? got : null));

  t.is(question?.length, 1_440 - 28);
  socket.send(question ?? '', MTU_ECHO_PORT, '127.31.0.1');
  const [, answer] = await until('the answer', () => (got.length > 1 ? got : null));
  t.is(answer?.length, 17);
  t.is(answer?.toString('hex'), `${Buffer.from('edge-mtu').toString('hex')}02${NONCE}`);
  socket.send(answer ?? '', MTU_ECHO_PORT, '127.31.0.1');
  await until('it is told', () => one.answers.length > 0);
  t.deepEqual(one.answers, [['127.31.0.2', NONCE]]);
});

test.serial(
  'who is in no range of its VPN, or asks from another port, and what is no question, gets no answer',
  async (t) => {
    const one = member(t, '127.31.0.1/24');
    const other = member(t, '127.31.0.2/24');
    await answering(one, '127.31.0.2');
    const outside = await stranger(t, '127.32.0.1', MTU_ECHO_PORT);
    const elsewhere = await stranger(t, '127.31.0.3', 51_000);
    const question = Buffer.from(`${Buffer.from('edge-mtu').toString('hex')}01${NONCE}`, 'hex');
    for (const { socket } of [outside, elsewhere]) socket.send(question, MTU_ECHO_PORT, '127.31.0.2');
    const inside = await stranger(t, '127.31.0.4', MTU_ECHO_PORT);
    for (const message of ['', 'edge-mtu', question.subarray(0, 16), Buffer.from(`edge-mtu\x03${NONCE}`)])
      inside.socket.send(message, MTU_ECHO_PORT, '127.31.0.2');
    inside.socket.send(question, MTU_ECHO_PORT, '127.31.0.2');
    await until('the one that may ask', () => inside.got.length > 0);

    t.deepEqual([outside.got.length, elsewhere.got.length, inside.got.length], [0, 0, 1]);
    t.deepEqual(other.answers, []);
  },
);

test.serial('nobody who floods it is listened to any more, until it is to listen again', async (t) => {
  const one = member(t, '127.31.0.1/24');
  const other = member(t, '127.31.0.2/24');
  await answering(one, '127.31.0.2');
  const { socket } = await stranger(t, '127.31.0.9', MTU_ECHO_PORT);
  await until('it hears nobody', () => {
    for (let sent = 0; sent < 100; sent += 1) socket.send('flood', MTU_ECHO_PORT, '127.31.0.2');
    return !other.echo.canAsk('127.31.0.1');
  });

  other.echo.listen(['127.31.0.2/24']);
  one.answers.length = 0;
  await answering(one, '127.31.0.2');
  t.pass();
});

test.serial('an address that another program has is taken once it is free', async (t) => {
  const holder = createSocket('udp4').bind({ address: '127.31.0.1', port: MTU_ECHO_PORT, exclusive: true });
  await once(holder, 'listening');
  const one = member(t, '127.31.0.1/24');
  member(t, '127.31.0.2/24');
  await until('it is without', () => !one.echo.canAsk('127.31.0.2'));
  holder.close();
  await once(holder, 'close');

  one.echo.listen(['127.31.0.1/24']);
  await answering(one, '127.31.0.2');
  t.true(one.echo.canAsk('127.31.0.2'));
});
