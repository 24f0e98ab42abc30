/** What is cut when a webhook or an admin may not send any more. */
import test from 'ava';
import { createGuard } from '../../../../../transport/net/outbound-guard/guard.ts';
import { until } from '../../../../support/until.ts';
import {
  DELIVERY,
  ENVELOPE,
  webhookSender,
  rawReceiver,
  receiver,
  webhookTo,
} from '../../../../support/webhooks/webhook-receivers.ts';

test('a cut webhook ends its requests at once: those in flight, those in line, those before their event is read', async (t) => {
  let closed = 0;
  const there = await rawReceiver(t, (socket) => {
    socket.resume().on('close', () => {
      closed += 1;
    });
  });
  let read = (_body: Uint8Array): void => {};
  const sender = webhookSender(t, {
    connectionsMax: 2,
    bodyOf: (cursor) =>
      cursor === 'slow'
        ? new Promise((resolve) => {
            read = resolve;
          })
        : Promise.resolve(Buffer.from(ENVELOPE)),
  });
  const webhook = webhookTo(there.url);
  const attempts = [
    ...Array.from({ length: 4 }, () => sender.send(webhook, DELIVERY)),
    sender.send(webhook, { ...DELIVERY, cursor: 'slow' }),
  ];
  await until('two are there', () => there.connections() === 2);

  sender.cut(webhook.id);
  read(Buffer.from(ENVELOPE));

  t.deepEqual(await Promise.all(attempts), [null, null, null, null, null]);
  await until('both connections are closed', () => closed === 2);
  t.is(there.connections(), 2);
  t.is(sender.counters.cut, 5);
});

test('a webhook that is cut while its connection is dialled sends nothing', async (t) => {
  let bytes = 0;
  let closed = 0;
  const there = await rawReceiver(t, (socket) =>
    socket
      .on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
      })
      .on('close', () => {
        closed += 1;
      }),
  );
  const connector = createGuard({ allowPrivate: true }).connector();
  let dial = (): void => {};
  const sender = webhookSender(t, {
    connect: (options, callback) => {
      dial = () => {
        connector(options, callback);
      };
    },
  });

  const attempt = sender.send(webhookTo(there.url), DELIVERY);
  await until('it is about to be dialled', () => sender.counters.requests === 1);
  sender.cut(webhookTo(there.url).id);
  dial();

  t.is(await attempt, null);
  await until('the connection that came too late is closed', () => closed === 1);
  t.is(bytes, 0);
});

test('an admin that may not deliver any more sends nothing, neither at first nor after the event read or the dial', async (t) => {
  const there = await receiver(t, (_request, response) => response.end());
  let asked = 0;
  let lastYes = 0;
  const sender = webhookSender(t, {
    mayDeliver: () => {
      asked += 1;
      return asked <= lastYes;
    },
  });

  const attempts: unknown[] = [];
  for (lastYes of [0, 1, 2, 3]) {
    asked = 0;
    attempts.push(await sender.send(webhookTo(there.url), DELIVERY));
  }

  t.deepEqual(attempts, [null, null, null, null]);
  t.is(asked, 4);
  t.is(there.got.length, 0);
  t.is(sender.counters.cut, 4);
});

test('after the end all that is under way comes to null, and nothing is begun', async (t) => {
  const there = await rawReceiver(t, (socket) => socket.resume());
  const sender = webhookSender(t);
  const attempt = sender.send(webhookTo(there.url), DELIVERY);
  await until('it is there', () => there.connections() === 1);

  await sender.close();

  t.is(await attempt, null);
  t.is(await sender.send(webhookTo(there.url), DELIVERY), null);
  t.is(there.connections(), 1);
});
